package render

import (
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

const (
	// columns is how wide a sheet is where its words can be broken.
	columns = 80
	// nameColumns is how wide its column of names is at most.
	nameColumns = 24
)

// Mark is the sign of how something came out: "ok", "broken", or anything else for neither.
func Mark(state string) string {
	switch state {
	case "ok":
		return green.Render("✔")
	case "broken":
		return red.Render("✘")
	}
	return faint.Render("–")
}

// Sheet writes headings and, below each, lines of a mark, a name and what there is to say of it. It stops
// at the first error, which [Sheet.Err] returns.
type Sheet struct {
	w io.Writer
	// names is how wide the column of names is.
	names int
	begun bool
	err   error
}

// NewSheet makes a sheet for the names that it will hold.
func NewSheet(w io.Writer, names ...string) *Sheet {
	s := &Sheet{w: w}
	for _, n := range names {
		s.names = min(max(s.names, lipgloss.Width(n)), nameColumns)
	}
	return s
}

// Err is the first error of writing.
func (s *Sheet) Err() error { return s.err }

// Line writes a line as it is.
func (s *Sheet) Line(text string) {
	if s.err == nil {
		s.begun = true
		s.err = Line(s.w, "%s", strings.TrimRight(text, " "))
	}
}

// Heading begins a part; an empty line parts it from what is above.
func (s *Sheet) Heading(text string) {
	if s.begun {
		s.Line("")
	}
	s.Line(bold.Render(text))
}

// Item writes one line; what does not fit goes on below its beginning.
func (s *Sheet) Item(state, name, detail string) {
	s.named(Mark(state), name, detail)
}

// Change writes the name of what is to be made, removed or changed: "+", "-" or "±".
func (s *Sheet) Change(sign, name, detail string) {
	s.named(bold.Render(sign), name, detail)
}

// Below writes what belongs to the item above.
func (s *Sheet) Below(sign, text string) {
	s.wrapped(strings.Repeat(" ", s.names+6)+sign+" ", text)
}

// Outcome writes how the change above came out.
func (s *Sheet) Outcome(state, text string) { s.wrapped("    "+Mark(state)+" ", text) }

// named writes a line with a name; below one that is wider than its column goes what there is to say of it.
func (s *Sheet) named(sign, name, detail string) {
	missing := s.names - lipgloss.Width(name)
	begin := "  " + sign + " " + name + strings.Repeat(" ", max(0, missing)+2)
	if missing < 0 {
		s.Line(begin)
		begin = strings.Repeat(" ", s.names+6)
	}
	s.wrapped(begin, detail)
}

// wrapped writes words behind a beginning, and lines that go on below them.
func (s *Sheet) wrapped(begin, text string) {
	indent := strings.Repeat(" ", lipgloss.Width(begin))
	line, empty := begin, true
	for _, word := range strings.Fields(oneLine(text)) {
		if !empty && lipgloss.Width(line)+1+lipgloss.Width(word) > columns {
			s.Line(line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	s.Line(line)
}

// Diff writes a unified diff, additions and removals in their colours. Its header is left out (the item
// above names the file), and so is what is the same in two versions of one long line.
func (s *Sheet) Diff(diff string) {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	whole := len(lines) > 1 && (strings.HasPrefix(lines[0], "--- /dev/null") || strings.HasPrefix(lines[1], "+++ /dev/null"))
	if len(lines) > 1 && strings.HasPrefix(lines[0], "---") && strings.HasPrefix(lines[1], "+++") {
		lines = lines[2:]
	}
	const noNewline = `\ No newline at end of file`
	if n := strings.Count(diff, noNewline); whole || n != 1 { // none of what changes
		lines = slices.DeleteFunc(lines, func(l string) bool { return l == noNewline })
	}
	shorten(lines)
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.HasPrefix(line, "@@"), line == noNewline:
			if whole {
				continue // all of the file is there
			}
			line = faint.Render(line)
		case strings.HasPrefix(line, "+"):
			line = green.TabWidth(lipgloss.NoTabConversion).Render(line)
		case strings.HasPrefix(line, "-"):
			line = red.TabWidth(lipgloss.NoTabConversion).Render(line)
		case len([]rune(line)) > columns-4:
			line = string([]rune(line)[:columns-5]) + "…"
		}
		s.Line("    " + line)
	}
}

// shorten leaves out what one removed line and the added line that follows it have in common, where they
// are long: settings that a program wrote stand in one line.
func shorten(lines []string) {
	const context = 24
	var from int
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "-"):
			from = i
		case strings.HasPrefix(line, "+"):
			old, now := []rune(lines[from]), []rune(line)
			if !strings.HasPrefix(lines[from], "-") || max(len(old), len(now)) <= columns || i-from > 1 {
				continue
			}
			head := 1
			for head < min(len(old), len(now)) && old[head] == now[head] {
				head++
			}
			tail := 0
			for tail < min(len(old), len(now))-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
				tail++
			}
			lines[from], lines[i] = around(old, head, tail, context), around(now, head, tail, context)
		}
	}
}

func around(line []rune, head, tail, context int) string {
	begin, end := string(line[1:head]), string(line[len(line)-tail:])
	if head > context+2 {
		begin = "…" + string(line[head-context:head])
	}
	if tail > context+1 {
		end = string(line[len(line)-tail:len(line)-tail+context]) + "…"
	}
	return string(line[0]) + begin + string(line[head:len(line)-tail]) + end
}
