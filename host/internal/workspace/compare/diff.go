package compare

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Options select what a comparison has in it. A limit of 0 is the default, a negative one is no limit.
type Options struct {
	// Paths are files and directories of the workspace, "/" as separator. Without any, everything is compared. A renamed
	// file is within them if either of its paths is.
	Paths []string
	// Known refuses paths that neither snapshot has or leaves out.
	Known bool
	// Context is how many unchanged lines surround a change. 0 is 3.
	Context int
	// MaxFiles bounds the files that are read and shown. 0 is 500. The others are listed without line counts.
	MaxFiles int
	// MaxLines and MaxBytes bound the lines of all files and their bytes. 0 is 2,000 and 256 KiB.
	MaxLines, MaxBytes int
	// MaxFileLines bounds the lines of one file. 0 is 500.
	MaxFileLines int
	// MaxLineBytes bounds one line in bytes. 0 is 2,000.
	MaxLineBytes int
	// Secrets shows files that look like secrets. What is known to be a secret in them is still masked, unless Exact is set.
	Secrets bool
	// Exact neither masks nor escapes text, for a patch that is to be applied. It is not safe to show.
	Exact bool
	// MaskPaths masks secrets in the names of files too, unless Exact is set: such a name finds no file.
	MaskPaths bool
	// Binary adds files that are not text to the patch, as Git's binary patches: binary files, and those too large to
	// compare by line. Their contents have at most 64 MiB together.
	Binary bool
}

func limit(n, otherwise int) int {
	switch {
	case n == 0:
		return otherwise
	case n < 0:
		return int(^uint(0) >> 1)
	}
	return n
}

// Kind is what happened to a file.
type Kind string

// What happened to a file.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Removed  Kind = "removed"
	// Renamed files may have changed too.
	Renamed Kind = "renamed"
	// Mode means that only the permissions changed.
	Mode Kind = "mode"
	// Xattrs means that only extended attributes changed.
	Xattrs Kind = "xattrs"
	// Retyped means that a file became a link or a directory, or the reverse.
	Retyped Kind = "retyped"
)

// Diff is what changed from one snapshot to another one.
type Diff struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// Files are the changed files, sorted by path. Directories are among them where they are empty, or their permissions
	// or extended attributes changed.
	Files []File `json:"files"`
	// Added and Removed count the lines of the files that are counted.
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Uncounted counts the files whose lines are not counted: binary, large, unread, or more than [Options.MaxFiles].
	Uncounted int `json:"uncounted,omitempty"`
	// Touched counts the paths of which only times, extended attributes or hard links changed. They are not in Files.
	Touched int `json:"touched,omitempty"`
	// LeftOut counts the changed lines that are in no hunk because of a limit.
	LeftOut int `json:"left_out,omitempty"`
	// Masked counts secrets that were masked, Escaped characters that were escaped, Shortened lines that were shortened.
	Masked    int `json:"masked,omitempty"`
	Escaped   int `json:"escaped,omitempty"`
	Shortened int `json:"shortened,omitempty"`
	// RenamesLimited is true where too many files changed to compare all of them. Some renamed files are then shown as
	// removed and added.
	RenamesLimited bool `json:"renames_limited,omitempty"`
	// Applies is true where the text is a patch that makes the second snapshot's files from the first one's, with the
	// permissions that Git knows, and without empty directories.
	Applies bool `json:"applies"`
}

// File is a changed file.
type File struct {
	// Path is the path after the change, or of what was removed. It can have any bytes; see [Quote].
	Path string `json:"path"`
	// OldPath is the path before, of a renamed file.
	OldPath string `json:"old_path,omitempty"`
	Change  Kind   `json:"change"`
	// Similarity is what a renamed file has in common with the one before, in percent.
	Similarity int         `json:"similarity,omitempty"`
	Before     *tree.Entry `json:"-"`
	After      *tree.Entry `json:"-"`
	// Added and Removed count lines.
	Added   int     `json:"added"`
	Removed int     `json:"removed"`
	Content Content `json:"content"`
	// Counted is true where Added and Removed are known.
	Counted bool `json:"counted"`
	// Why says why the file is not shown as text.
	Why   string `json:"why,omitempty"`
	Hunks []Hunk `json:"hunks,omitempty"`
	// LeftOut counts its changed lines that are in no hunk because of a limit.
	LeftOut int `json:"left_out,omitempty"`
	// Runs are the runs of lines that were replaced, whatever the limits of hunks. They are known where lines are counted.
	Runs []Run `json:"-"`
	// cut is true where a limit left out a line of any kind.
	cut bool
	// binary is the content of a file that is not text, with [Options.Binary].
	binary *binary
}

// Run is a run of replaced lines. Old lines became New lines, which begin at the line At, counted from 1. Where New is 0,
// the old ones were before that line. Where one line replaced one, From and To are the columns between which they differ, as in
// [event.Columns].
type Run struct{ At, Old, New, From, To int }

// Hunk is a run of changed lines with the lines around them. Lines are numbered from 1.
type Hunk struct {
	OldStart int    `json:"old_start"`
	OldLines int    `json:"old_lines"`
	NewStart int    `json:"new_start"`
	NewLines int    `json:"new_lines"`
	Lines    []Line `json:"lines"`
}

// Line is a line of a hunk.
type Line struct {
	// Op is " ", "-" or "+".
	Op   string `json:"op"`
	Text string `json:"text"`
	// Unended is true for a last line without a line feed.
	Unended bool `json:"unended,omitempty"`
}

// Diff compares two snapshots. To may be older than from.
func (c *Comparer) Diff(ctx context.Context, from, to uint64, o Options) (*Diff, error) {
	paths := make([]string, len(o.Paths))
	for i, p := range o.Paths {
		var err error
		if paths[i], err = clean(p); err != nil {
			return nil, err
		}
	}
	if o.Known {
		if err := c.known(paths, from, to); err != nil {
			return nil, err
		}
	}
	changes, err := c.changes(from, to)
	if err != nil {
		return nil, err
	}
	d := &Diff{From: from, To: to, Files: []File{}, Applies: true}
	if err := c.list(ctx, d, changes, paths); err != nil {
		return nil, err
	}
	b := &budget{
		files: limit(o.MaxFiles, 500), lines: limit(o.MaxLines, 2000), bytes: limit(o.MaxBytes, 256<<10),
		fileLines: limit(o.MaxFileLines, 500), context: limit(o.Context, 3), patched: maxPatched,
	}
	b.options = o
	b.options.MaxLineBytes = limit(o.MaxLineBytes, 2000)
	for i := range d.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := &d.Files[i]
		c.fill(d, f, b)
		d.Added += f.Added
		d.Removed += f.Removed
		d.LeftOut += f.LeftOut
		if !f.Counted {
			d.Uncounted++
		}
		// A file that was only renamed, or has only other permissions, needs no text.
		shown := f.Content == Text || f.Content == Directory || f.binary != nil || f.Content != Beyond && !f.contentChanged()
		d.Applies = d.Applies && shown && !f.cut
		if o.MaskPaths && !o.Exact {
			for _, path := range []*string{&f.Path, &f.OldPath} {
				masked := 0
				*path, masked = c.MaskPath(*path)
				d.Masked += masked
			}
		}
	}
	d.Applies = d.Applies && d.Masked == 0 && d.Escaped == 0 && d.Shortened == 0
	return d, nil
}

// list makes the list of changed files, without their lines.
func (c *Comparer) list(ctx context.Context, d *Diff, changes []tree.Change, paths []string) error {
	pairs, limited, err := c.renames(ctx, changes)
	if err != nil {
		return err
	}
	d.RenamesLimited = limited
	renamed := map[int]pair{}
	gone := map[int]bool{}
	for _, p := range pairs {
		renamed[p.to], gone[p.from] = p, true
	}
	for i, ch := range changes {
		if gone[i] {
			continue
		}
		f := File{Path: ch.Path, Before: ch.Before, After: ch.After}
		if p, ok := renamed[i]; ok {
			f.Before, f.OldPath, f.Similarity = changes[p.from].Before, changes[p.from].Path, p.similarity
		}
		if !within(f.Path, paths) && (f.OldPath == "" || !within(f.OldPath, paths)) {
			continue
		}
		if f.Change = kind(&f); f.Change == "" {
			d.Touched++
			continue
		}
		if f.isDir() && f.Change != Mode && f.Change != Xattrs && implied(changes, i) {
			continue
		}
		d.Files = append(d.Files, f)
	}
	return nil
}

// clean returns a path of the caller as snapshots have it.
func clean(p string) (string, error) {
	cleaned := path.Clean(p)
	if cleaned == ".." || strings.HasPrefix(cleaned, "../") || path.IsAbs(p) || strings.ContainsRune(p, 0) {
		return "", usererr.Invalid("%q is not a path in the workspace. Use one that is relative to it, with / as separator.", p)
	}
	if cleaned == "." {
		return "", nil
	}
	return cleaned, nil
}

// known returns an error for a path that neither of two snapshots has or leaves out.
func (c *Comparer) known(paths []string, from, to uint64) error {
	for _, p := range paths {
		found := p == ""
		for _, number := range []uint64{from, to} {
			e, err := c.source.Entry(number, p)
			if err != nil {
				return err
			}
			found = found || e != nil || c.skipped(number)(p)
		}
		if !found {
			return usererr.New(usererr.NotFound, "there is no %q in s%d, and none in s%d", p, from, to)
		}
	}
	return nil
}

func within(path string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(dir string) bool { return tree.Within(path, dir) })
}

// isDir reports whether a file was and is a directory, as far as it was and is.
func (f *File) isDir() bool {
	return (f.Before == nil || f.Before.Kind == tree.Dir) && (f.After == nil || f.After.Kind == tree.Dir)
}

// kind returns what happened to a file, "" where nothing did that a reader sees.
func kind(f *File) Kind {
	switch {
	case f.OldPath != "":
		return Renamed
	case f.Before == nil:
		return Added
	case f.After == nil:
		return Removed
	case f.Before.Kind != f.After.Kind:
		return Retyped
	case f.Before.Kind != tree.Dir && f.contentChanged():
		return Modified
	case f.Before.Mode != f.After.Mode:
		return Mode
	case len(f.xattrs()) > 0:
		return Xattrs
	}
	return ""
}

// xattrs returns the names of the extended attributes that a file got, lost or has with another value.
func (f *File) xattrs() (names []string) {
	if f.Before == nil || f.After == nil || f.Before.Kind != f.After.Kind {
		return nil
	}
	for _, sides := range [][2][]tree.Xattr{{f.Before.Xattrs, f.After.Xattrs}, {f.After.Xattrs, f.Before.Xattrs}} {
		for _, x := range sides[0] {
			if !slices.ContainsFunc(sides[1], func(o tree.Xattr) bool { return o.Name == x.Name && string(o.Value) == string(x.Value) }) {
				names = append(names, x.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// contentChanged reports whether the bytes of a file or the target of a link differ. Those of a file that was not read may.
func (f *File) contentChanged() bool {
	return f.Before == nil || f.After == nil || !f.Before.SameContent(f.After) || f.After.Unread != ""
}

// implied reports whether a directory that came or went shows in a change of what is in it.
func implied(changes []tree.Change, i int) bool {
	return i+1 < len(changes) && tree.Within(changes[i+1].Path, changes[i].Path) &&
		(changes[i].Before == nil) == (changes[i+1].Before == nil) && (changes[i].After == nil) == (changes[i+1].After == nil)
}

// budget is what is left of the limits of a comparison.
type budget struct {
	files, lines, bytes, fileLines, context, patched int
	options                                          Options
}

// fill adds the lines of a file.
func (c *Comparer) fill(d *Diff, f *File, b *budget) {
	if b.files <= 0 {
		f.Content, f.Counted = Beyond, f.isDir() || !f.contentChanged()
		return
	}
	b.files--
	if f.isDir() {
		f.Content, f.Counted = Directory, true
		return
	}
	reason := SecretPath(f.Path)
	if reason == "" && f.OldPath != "" {
		reason = SecretPath(f.OldPath)
	}
	f.Content = Text
	if !f.contentChanged() { // renamed, or with other permissions
		f.Counted = true
		if reason != "" {
			f.Content = Secret
		}
		return
	}
	before, after := c.read(f.Before), c.read(f.After)
	for _, side := range []file{before, after} {
		if side.is != Text && (f.Content == Text || side.is == Unread) {
			f.Content, f.Why = side.is, side.why
		}
	}
	if f.Content == Binary {
		f.Why = sizes(f)
	}
	if b.options.Binary && (f.Content == Binary || f.Content == Large) {
		c.binary(f, b, reason)
	}
	if f.Content != Text {
		return
	}
	var same []block
	if f.Change != Retyped { // a link's target is no line of a file
		same = match(before.text, after.text)
	}
	f.Added, f.Removed = counted(before.text, after.text, same)
	f.Counted, f.Runs = true, runs(before.text, after.text, same)
	if reason == "" {
		reason = secretContent(before.text.s)
	}
	if reason == "" {
		reason = secretContent(after.text.s)
	}
	if reason != "" && !b.options.Secrets {
		f.Content, f.Why = Secret, reason
		return
	}
	c.show(d, f, b, before.text, after.text, same, reason != "")
}

func sizes(f *File) string {
	size := func(e *tree.Entry) int64 {
		if e == nil {
			return 0
		}
		return e.Size
	}
	return fmt.Sprintf("%d → %d bytes", size(f.Before), size(f.After))
}

// show adds the hunks of a file, as far as the limits allow.
func (c *Comparer) show(d *Diff, f *File, b *budget, before, after text, same []block, secret bool) {
	old := &shown{c: c, text: before, exact: b.options.Exact, limit: b.options.MaxLineBytes, strict: secret || structured(before.s)}
	now := &shown{c: c, text: after, exact: b.options.Exact, limit: b.options.MaxLineBytes, strict: secret || structured(after.s)}
	left := min(b.fileLines, b.lines)
	shown := 0
	for _, s := range spans(before, after, same, b.context) {
		if left <= 0 || b.bytes <= 0 {
			f.cut = true
			break
		}
		h := Hunk{}
		olds, news := old.lines(s.x, min(s.xs, left), b.bytes), now.lines(s.y, min(s.ys, left), b.bytes)
		changed := 0
		for _, e := range s.edits {
			side, lines, i, begin := now, news, e.y, s.y
			if e.op == '-' {
				side, lines, i, begin = old, olds, e.x, s.x
			}
			if f.cut = left <= 0 || b.bytes <= 0 || i-begin >= len(lines); f.cut {
				break
			}
			raw := side.text.line(i)
			line := lines[i-begin]
			h.Lines = append(h.Lines, Line{Op: string(e.op), Text: line.text, Unended: raw[len(raw)-1] != '\n'})
			d.Masked += line.masked
			d.Escaped += line.escaped
			if line.cut {
				d.Shortened++
			}
			left--
			b.lines--
			b.bytes -= len(line.text) + 2
			if e.op != '+' {
				h.OldLines++
			}
			if e.op != '-' {
				h.NewLines++
			}
			if e.op != ' ' {
				changed++
			}
		}
		if changed > 0 {
			h.OldStart, h.NewStart = first(s.x, h.OldLines), first(s.y, h.NewLines)
			f.Hunks = append(f.Hunks, h)
			shown += changed
		}
		if f.cut {
			break
		}
	}
	f.LeftOut = f.Added + f.Removed - shown
}

// first is the number of the first line of a hunk. Where the hunk has no line of a side, it is that of the line before.
func first(at, lines int) int {
	if lines == 0 {
		return at
	}
	return at + 1
}
