package compare

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Text returns the difference as unified text in the form of Git.
func (d *Diff) Text() string {
	var b strings.Builder
	_ = d.WriteText(&b) // a builder takes everything
	return b.String()
}

// WriteText writes the difference as unified text in the form of Git. What is not shown is a line that begins with "# ":
// "git apply" and "patch" skip those lines.
func (d *Diff) WriteText(w io.Writer) error {
	p := &printer{w: bufio.NewWriter(w)}
	beyond := map[Kind]int{}
	for i := range d.Files {
		if f := &d.Files[i]; f.Content == Beyond {
			beyond[f.Change]++
		} else {
			p.file(f)
		}
	}
	for _, kind := range []Kind{Added, Modified, Removed, Renamed, Mode, Xattrs, Retyped} {
		if n := beyond[kind]; n > 0 {
			p.line(fmt.Sprintf("# %d more %s files are not shown: the limit is reached", n, kind))
		}
	}
	if d.RenamesLimited {
		p.line("# too many files changed to find every renamed one: some are shown as removed and added")
	}
	return p.w.Flush()
}

type printer struct{ w *bufio.Writer }

func (p *printer) line(parts ...string) {
	for _, s := range parts {
		_, _ = p.w.WriteString(s) // Flush returns the error
	}
	_ = p.w.WriteByte('\n')
}

func (p *printer) note(f *File, what string) { p.line("# ", Quote(f.Path), ": ", what) }

func (p *printer) file(f *File) {
	switch {
	case f.Content == Directory:
		if f.Change != Xattrs {
			p.note(f, "directory "+modes(f))
		}
		p.xattrs(f, "directory ")
		return
	case f.contentChanged() && f.Content != Text && f.binary == nil:
		p.note(f, withheld(f))
		return
	case f.contentChanged() && len(f.Hunks) == 0 && f.LeftOut > 0:
		p.note(f, withheld(f)+": the limit is reached")
		return
	}
	if f.Change == Retyped {
		p.retyped(f)
	} else {
		p.patch(f, f.Before, f.After, f.Hunks)
	}
	if f.Before != nil && f.After != nil && f.Before.Kind == f.After.Kind && f.Before.Mode != f.After.Mode && gitMode(f.Before) == gitMode(f.After) {
		p.note(f, modes(f))
	}
	p.xattrs(f, "")
	if f.LeftOut > 0 {
		p.note(f, fmt.Sprintf("%d more changed lines are left out: the limit is reached", f.LeftOut))
	}
}

// xattrs names the extended attributes that changed. Their values are not shown.
func (p *printer) xattrs(f *File, what string) {
	var names []string
	for _, name := range f.xattrs() {
		names = append(names, Quote(name))
	}
	if len(names) > 0 {
		p.note(f, what+"xattrs "+strings.Join(names, ", "))
	}
}

// withheld says what happened to a file that is not shown.
func withheld(f *File) string {
	what := string(f.Change)
	if f.OldPath != "" {
		what += " from " + Quote(f.OldPath)
	}
	if f.Counted {
		what += fmt.Sprintf(", +%d -%d", f.Added, f.Removed)
	}
	what += "; not shown"
	switch f.Content {
	case Text:
	case Secret:
		what += ", it looks like a secret"
	default:
		what += ", " + string(f.Content)
	}
	if f.Why != "" {
		why, _ := Escape(strings.ReplaceAll(f.Why, "\n", " "))
		what += ": " + why
	}
	return what
}

// WhyHidden says why a file is not in the text, "" for one that is.
func WhyHidden(f *File) string {
	switch {
	case f.binary != nil || !f.contentChanged():
		return ""
	case f.Content == Secret:
		return "it looks like a secret: " + f.Why
	case f.Why == "" && f.Content == Beyond:
		return "the limit is reached"
	}
	return f.Why
}

func modes(f *File) string {
	switch {
	case f.Before == nil:
		return fmt.Sprintf("%s, mode %o", f.Change, f.After.Mode)
	case f.After == nil:
		return string(f.Change)
	}
	return fmt.Sprintf("mode %o → %o", f.Before.Mode, f.After.Mode)
}

// gitMode is the mode of an entry as Git knows it.
func gitMode(e *tree.Entry) string {
	switch {
	case e.Kind == tree.Link:
		return "120000"
	case e.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// retyped shows a path whose kind changed as Git does: removed and added.
func (p *printer) retyped(f *File) {
	var removed, added Hunk
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Op == "-" {
				removed.Lines = append(removed.Lines, l)
			} else {
				added.Lines = append(added.Lines, l)
			}
		}
	}
	removed.OldLines, removed.OldStart = len(removed.Lines), min(1, len(removed.Lines))
	added.NewLines, added.NewStart = len(added.Lines), min(1, len(added.Lines))
	if f.Before.Kind != tree.Dir {
		p.patch(&File{Path: f.Path, Change: Removed, binary: f.binary.of(true)}, f.Before, nil, []Hunk{removed})
	}
	if f.After.Kind != tree.Dir {
		p.patch(&File{Path: f.Path, Change: Added, binary: f.binary.of(false)}, nil, f.After, []Hunk{added})
	}
}

func (p *printer) patch(f *File, before, after *tree.Entry, hunks []Hunk) {
	old := f.Path
	if f.OldPath != "" {
		old = f.OldPath
	}
	from, to := Quote("a/"+old), Quote("b/"+f.Path)
	if before != nil && after != nil && f.OldPath == "" && len(hunks) == 0 && f.binary == nil && gitMode(before) == gitMode(after) {
		return // there is nothing that Git knows
	}
	p.line("diff --git ", from, " ", to)
	switch {
	case before == nil:
		p.line("new file mode ", gitMode(after))
		from = "/dev/null"
	case after == nil:
		p.line("deleted file mode ", gitMode(before))
		to = "/dev/null"
	case gitMode(before) != gitMode(after):
		p.line("old mode ", gitMode(before))
		p.line("new mode ", gitMode(after))
	}
	if f.OldPath != "" {
		p.line("similarity index ", fmt.Sprint(f.Similarity), "%")
		p.line("rename from ", Quote(f.OldPath))
		p.line("rename to ", Quote(f.Path))
	}
	if f.binary != nil {
		p.binary(f.binary, before, after)
		return
	}
	if len(hunks) == 0 || len(hunks[0].Lines) == 0 {
		return
	}
	p.line("--- ", from, tab(from))
	p.line("+++ ", to, tab(to))
	for _, h := range hunks {
		p.line("@@ -", place(h.OldStart, h.OldLines), " +", place(h.NewStart, h.NewLines), " @@")
		for _, l := range h.Lines {
			p.line(l.Op, l.Text)
			if l.Unended {
				p.line(`\ No newline at end of file`)
			}
		}
	}
}

// tab ends a name with a space in it, so that patch finds its end.
func tab(name string) string {
	if strings.Contains(name, " ") && name[0] != '"' {
		return "\t"
	}
	return ""
}

func place(start, lines int) string {
	if lines == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, lines)
}
