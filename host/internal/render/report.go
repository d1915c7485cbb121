// Package render formats reports for terminals and as Markdown, and the answers of actions for agents.
//
// It guarantees:
//   - The text includes everything in the report.
//   - Tidemark's own words never make a line wider than the terminal.
//   - Color only repeats what words and signs say.
package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"tidemark.dev/tidemark/host/internal/report"
)

// Styles use the sixteen colors of terminals, which follow the user's theme.
var (
	bold    = lipgloss.NewStyle().Bold(true)
	faint   = lipgloss.NewStyle().Faint(true)
	red     = lipgloss.NewStyle().Foreground(lipgloss.Red)
	yellow  = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	green   = lipgloss.NewStyle().Foreground(lipgloss.Green)
	blue    = lipgloss.NewStyle().Foreground(lipgloss.Blue)
	badSign = red.Render("✖")
	badish  = yellow.Render("▲")
	good    = green.Render("✔")
	newSign = blue.Render("+")
)

// standing returns a sign and a word for the severity of a span, and the summary. A clean span with gaps in coverage is not
// called clean.
func standing(s report.Severity, summary string) (mark sign, how, what string) {
	if found, unseen := report.SplitSummary(summary); s == report.Clean && unseen != "" {
		return unknown, "not fully observed", found + "; " + unseen
	}
	switch s {
	case report.Error:
		return failed, string(s), summary
	case report.Warning:
		return warned, string(s), summary
	}
	return mended, string(s), summary
}

// Standing returns a word with its sign for the severity of a span, and the summary.
func Standing(s report.Severity, summary string) (how, what string) {
	mark, how, what := standing(s, summary)
	color := map[sign]lipgloss.Style{failed: red, warned: yellow, mended: green, unknown: faint}[mark]
	return mark.colored() + " " + color.Bold(mark != unknown).Render(how), what
}

// Sign returns the sign of a warning or an error, "" for what is better.
func Sign(s report.Severity) string {
	switch s {
	case report.Error:
		return badSign
	case report.Warning:
		return badish
	}
	return ""
}

// Report writes a report for a terminal of the given width, 0 where the output is none. It breaks lines only on a terminal. It
// writes through [lipgloss.Fprint], which omits colors if w does not support them.
func Report(w io.Writer, r *report.Report, width int) error {
	p := printer{width: defaultWidth}
	if width > 0 {
		p = printer{width: max(width, 40), breaks: true}
	}
	how, what := Standing(r.Severity, r.Summary)
	p.line("%s  %s", how, bold.Render(what))
	p.line("%s", faint.Render(fmt.Sprintf("   %s to %s (%s)%s", clock(r.From), clock(r.To), Duration(r.DurationMs), name(r.Checkpoint))))
	for _, s := range sections(r, clock) {
		p.section(s)
	}
	p.remarks(remarks(r, clock))
	_, err := lipgloss.Fprint(w, p.b.String())
	return err
}

func clock(t report.Time) string { return t.Local().Format("15:04:05") }

func name(checkpoint string) string {
	if checkpoint == "" {
		return ""
	}
	return ", " + checkpoint
}

// Duration formats a number of milliseconds for users.
func Duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// defaultWidth is how wide columns become where the output is no terminal.
const defaultWidth = 120

// continued begins the rest of a line that was broken. It has a sign where entries have theirs, so that no text of a page looks
// like an entry.
const continued = "  ⋮  "

type printer struct {
	b      strings.Builder
	width  int
	breaks bool
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// section prints a heading and its rows with aligned tails.
func (p *printer) section(s section) {
	p.line("")
	if s.count == "" {
		p.line("%s", bold.Render(s.title))
	} else {
		p.line("%s  %s", bold.Render(s.title), faint.Render(s.count))
	}
	tails, tail := make([]string, len(s.rows)), 0
	for i, r := range s.rows {
		tails[i] = toned(r.tail, "  ")
		tail = max(tail, lipgloss.Width(tails[i]))
	}
	tail = min(tail, p.width/3)
	room := p.width - tail - 7
	column := 0
	for _, r := range s.rows {
		column = max(column, min(room, lipgloss.Width(oneLine(r.text()))))
	}
	for i, r := range s.rows {
		begin, text, end := "  "+r.sign.colored()+"  ", oneLine(r.text()), "  "+tails[i]
		if p.breaks && column+lipgloss.Width(tails[i]) > p.width-7 { // the terminal would break it, without a sign
			p.put(begin, text+end, p.width-5, 0, "")
		} else {
			p.put(begin, text, room, column, end)
		}
	}
	if s.omitted > 0 {
		p.line("     %s", faint.Render(fmt.Sprintf("and %d more", s.omitted)))
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Flat returns text on one line and keeps its spaces.
func Flat(s string) string { return strings.Join(strings.FieldsFunc(s, isLineEnd), " ") }

func isLineEnd(r rune) bool {
	return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029
}

// put prints a text behind a beginning, and an end behind the text's first line, from a column on. On a terminal, the lines of the
// text are at most width columns wide and break at spaces if possible.
func (p *printer) put(begin, text string, width, column int, end string) {
	lines := []string{text}
	if p.breaks {
		// Wrap leaves some lines one column too wide, at a hyphen.
		lines = strings.Split(ansi.Hardwrap(lipgloss.Wrap(text, width, ""), width, false), "\n")
	}
	pad := strings.Repeat(" ", max(0, column-lipgloss.Width(lines[0])))
	p.line("%s", strings.TrimRight(begin+lines[0]+pad+end, " "))
	for _, more := range lines[1:] {
		p.line("%s%s", faint.Render(continued), more)
	}
}

// remarks prints the remarks on the report.
func (p *printer) remarks(list []remark) {
	if len(list) > 0 {
		p.line("")
	}
	room := p.width - lipgloss.Width(continued)
	for _, r := range list {
		switch {
		case r.grave:
			p.put(badish+" ", toned(r.words, ""), room, 0, "")
		default:
			p.put("  ", faint.Render(toned(r.words, "")), room, 0, "")
		}
		for _, below := range r.below {
			p.put("    ", faint.Render(toned(below, "  ")), room, 0, "")
		}
	}
}

// toned joins words, each in its color.
func toned(words []word, by string) string {
	var said []string
	for _, w := range words {
		if w.text != "" {
			said = append(said, w.tone.render(Flat(w.before+w.text+w.mark)))
		}
	}
	return strings.Join(said, by)
}

func (t tone) render(s string) string {
	switch t {
	case muted:
		return faint.Render(s)
	case bad:
		return red.Render(s)
	case doubtful:
		return yellow.Render(s)
	case well:
		return green.Render(s)
	}
	return s
}

// colored returns a sign in its color.
func (s sign) colored() string {
	switch s {
	case failed:
		return badSign
	case warned:
		return badish
	case mended:
		return good
	case added:
		return newSign
	}
	return faint.Render(string(s))
}
