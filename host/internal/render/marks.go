package render

import (
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

const (
	// columns is the width of a sheet, except for words that are longer.
	columns = 80
	// nameColumns is the maximum width of its column of names.
	nameColumns = 24
)

// Mark returns the sign of an outcome: "ok", "broken", or anything else for neither.
func Mark(state string) string {
	switch state {
	case "ok":
		return green.Render("✔")
	case "broken":
		return red.Render("✘")
	}
	return faint.Render("–")
}

// Sheet writes headings and, below each, lines with a mark, a name and details. It stops at the first error, which
// [Sheet.Err] returns.
type Sheet struct {
	w io.Writer
	// names is the width of the column of names.
	names int
	begun bool
	err   error
}

// NewSheet returns a sheet whose column of names fits the given names.
func NewSheet(w io.Writer, names ...string) *Sheet {
	s := &Sheet{w: w}
	for _, n := range names {
		s.names = min(max(s.names, lipgloss.Width(n)), nameColumns)
	}
	return s
}

// Err returns the first write error.
func (s *Sheet) Err() error { return s.err }

// Line writes a line without changes, except for trailing spaces.
func (s *Sheet) Line(text string) {
	if s.err == nil {
		s.begun = true
		s.err = Line(s.w, "%s", strings.TrimRight(text, " "))
	}
}

// Heading writes a heading, after an empty line unless it is the first line.
func (s *Sheet) Heading(text string) {
	if s.begun {
		s.Line("")
	}
	s.Line(bold.Render(text))
}

// Item writes one item and wraps its detail.
func (s *Sheet) Item(state, name, detail string) {
	s.named(Mark(state), name, detail)
}

// Change writes an item to create, remove or change, with the sign "+", "-" or "±".
func (s *Sheet) Change(sign, name, detail string) {
	s.named(bold.Render(sign), name, detail)
}

// Below writes a line that belongs to the item above.
func (s *Sheet) Below(sign, text string) {
	s.wrapped(strings.Repeat(" ", s.names+6)+sign+" ", text)
}

// Outcome writes the outcome of the change above.
func (s *Sheet) Outcome(state, text string) { s.wrapped("    "+Mark(state)+" ", text) }

// named writes a line with a name. If the name is wider than its column, the detail begins on the next line.
func (s *Sheet) named(sign, name, detail string) {
	missing := s.names - lipgloss.Width(name)
	begin := "  " + sign + " " + name + strings.Repeat(" ", max(0, missing)+2)
	if missing < 0 {
		s.Line(begin)
		begin = strings.Repeat(" ", s.names+6)
	}
	s.wrapped(begin, detail)
}

// wrapped writes text behind a beginning and indents its further lines.
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

// Diff writes a unified diff with colored additions and removals. It omits the header, because the item above names the
// file, and the common parts of two versions of one long line.
func (s *Sheet) Diff(diff string) {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	whole := len(lines) > 1 && (strings.HasPrefix(lines[0], "--- /dev/null") || strings.HasPrefix(lines[1], "+++ /dev/null"))
	if len(lines) > 1 && strings.HasPrefix(lines[0], "---") && strings.HasPrefix(lines[1], "+++") {
		lines = lines[2:]
	}
	const noNewline = `\ No newline at end of file`
	if n := strings.Count(diff, noNewline); whole || n != 1 { // not part of the change
		lines = slices.DeleteFunc(lines, func(l string) bool { return l == noNewline })
	}
	shorten(lines)
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.HasPrefix(line, "@@"), line == noNewline:
			if whole {
				continue // the diff shows the whole file
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

// shorten omits the common parts of a long removed line and the added line after it, because programs often write
// settings on one line.
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
