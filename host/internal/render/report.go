// Package render turns reports into text for a person at a terminal. It gathers nothing itself.
//
// It guarantees: the text says all that the report holds; a line is never wider than the terminal
// because of Tidemark's own words; colour only repeats what words and signs say already.
package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"tidemark.dev/tidemark/host/internal/diff"
)

// Styles of the terminal: the sixteen colours, which follow the person's own theme.
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

// Severity is a severity as a word with its sign.
func Severity(s diff.Severity) string {
	switch s {
	case diff.Error:
		return badSign + " " + red.Bold(true).Render("error")
	case diff.Warning:
		return badish + " " + yellow.Bold(true).Render("warning")
	default:
		return good + " " + green.Bold(true).Render("clean")
	}
}

// Report writes a report for a person, in lines of at most width columns where it can. It writes
// through [lipgloss.Fprint], which leaves colours out where w shows none.
func Report(w io.Writer, r *diff.Report, width int) error {
	p := printer{width: max(width, 40)}
	p.line("%s  %s", Severity(r.Severity), bold.Render(r.Summary))
	p.line("%s", faint.Render(fmt.Sprintf("   %s to %s (%s)%s", clock(r.From), clock(r.To), Duration(r.DurationMs), name(r.Checkpoint))))
	p.console(r.Console)
	p.network(r.Network)
	p.websocket(r.WebSocket)
	p.dom(r.DOM)
	p.actions(r.Actions)
	p.remarks(r)
	_, err := lipgloss.Fprint(w, p.b.String())
	return err
}

func clock(t diff.Time) string { return t.Local().Format("15:04:05") }

func name(checkpoint string) string {
	if checkpoint == "" {
		return ""
	}
	return ", " + checkpoint
}

// Duration is a number of milliseconds as a person says it.
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

type printer struct {
	b     strings.Builder
	width int
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// row is one entry: a sign, what it is about, and what is said of it at the end.
type row struct{ sign, text, tail string }

// section prints a heading and its rows, their tails aligned.
func (p *printer) section(title, count string, rows []row, omitted int) {
	if len(rows) == 0 && omitted == 0 {
		return
	}
	p.line("")
	if count == "" {
		p.line("%s", bold.Render(title))
	} else {
		p.line("%s  %s", bold.Render(title), faint.Render(count))
	}
	tail := 0
	for _, r := range rows {
		tail = max(tail, lipgloss.Width(r.tail))
	}
	tail = min(tail, p.width/3)
	room := p.width - tail - 7
	column := 0
	for _, r := range rows {
		column = max(column, min(room, lipgloss.Width(oneLine(r.text))))
	}
	for _, r := range rows {
		lines := wrap(oneLine(r.text), room)
		pad := strings.Repeat(" ", max(0, column-lipgloss.Width(lines[0])))
		p.line("%s", strings.TrimRight(fmt.Sprintf("  %s  %s%s  %s", r.sign, lines[0], pad, r.tail), " "))
		for _, more := range lines[1:] {
			p.line("     %s", more)
		}
	}
	if omitted > 0 {
		p.line("     %s", faint.Render(fmt.Sprintf("and %d more", omitted)))
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// wrap breaks text into lines of at most width columns, at spaces where there are any.
func wrap(s string, width int) []string {
	return strings.Split(lipgloss.Wrap(s, width, ""), "\n")
}

// counted is a number with its noun: "1 frame", "2 frames".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func times(n int) string {
	if n > 1 {
		return fmt.Sprintf("×%d", n)
	}
	return ""
}

func tab(id int) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("tab %d", id)
}

// tail joins what is said at the end of a row.
func tail(parts ...string) string {
	var said []string
	for _, s := range parts {
		if s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, "  ")
}

func (p *printer) console(d *diff.ConsoleDiff) {
	if d == nil {
		return
	}
	var rows []row
	for _, m := range d.NewErrors {
		rows = append(rows, row{badSign, m.Message, tail(faint.Render(m.Source), times(m.Count), tab(m.Tab))})
	}
	for _, m := range d.NewWarnings {
		rows = append(rows, row{badish, m.Message, tail(faint.Render(m.Source), times(m.Count), tab(m.Tab))})
	}
	p.section("Console", counted(d.TotalNewEntries, "new entry", "new entries"), rows, d.Omitted)
}

// status is how a request failed: an answer that broke off had a status that says nothing of it.
func status(n int, reason string) string {
	if n < 400 && reason != "" {
		return reason
	}
	return fmt.Sprint(n)
}

func (p *printer) network(d *diff.NetworkDiff) {
	if d == nil {
		return
	}
	var rows []row
	for _, f := range d.Failures {
		was, now := "", ""
		if f.PreviousStatus > 0 {
			was = faint.Render(fmt.Sprintf("was %d", f.PreviousStatus))
		}
		if f.NowStatus > 0 {
			now = green.Render(fmt.Sprintf("now %d", f.NowStatus))
		}
		rows = append(rows, row{badSign, f.Method + " " + f.URL, tail(red.Render(status(f.Status, f.Error)), was, now, times(f.Count), tab(f.Tab))})
	}
	for _, e := range d.Degraded {
		rows = append(rows, row{badish, e.Method + " " + e.URL, tail(yellow.Render(fmt.Sprintf("%d ms", e.AvgMs)), faint.Render(fmt.Sprintf("was %d ms", e.PreviousAvgMs)), tab(e.Tab))})
	}
	for _, e := range d.Recovered {
		was := "no answer"
		if e.PreviousStatus > 0 {
			was = fmt.Sprint(e.PreviousStatus)
		}
		rows = append(rows, row{good, e.Method + " " + e.URL, tail(green.Render(fmt.Sprintf("%d again", e.Status)), faint.Render("was "+was), tab(e.Tab))})
	}
	for _, e := range d.NewEndpoints {
		rows = append(rows, row{newSign, e.Method + " " + e.URL, tail(fmt.Sprint(e.Status), tab(e.Tab))})
	}
	count := counted(d.TotalNewRequests, "request", "requests")
	if d.StillFailing > 0 {
		count += ", " + counted(d.StillFailing, "endpoint fails", "endpoints fail") + " as before"
	}
	p.section("Network", count, rows, d.Omitted)
}

func (p *printer) websocket(d *diff.WebSocketDiff) {
	if d == nil {
		return
	}
	var rows []row
	for _, e := range d.Disconnections {
		code := ""
		if e.Code > 0 {
			code = fmt.Sprint(e.Code)
		}
		rows = append(rows, row{badish, e.URL, tail("closed", code, e.Reason, times(e.Count), tab(e.Tab))})
	}
	for _, e := range d.ErrorMessages {
		rows = append(rows, row{badish, e.URL + "  " + e.Message, tail(times(e.Count), tab(e.Tab))})
	}
	for _, e := range d.NewConnections {
		rows = append(rows, row{newSign, e.URL, tail("opened", times(e.Count), tab(e.Tab))})
	}
	p.section("WebSocket", counted(d.TotalNewMessages, "frame", "frames"), rows, d.Omitted)
}

func (p *printer) dom(d *diff.DOMDiff) {
	if d == nil {
		return
	}
	var rows []row
	for _, e := range d.Crashed {
		rows = append(rows, row{badSign, "the page crashed: " + e.URL, tail(clock(e.At), tab(e.Tab))})
	}
	for _, e := range d.NewErrorElements {
		gone := ""
		if e.GoneAt != nil {
			gone = "gone after " + Duration(e.GoneAt.Sub(e.AppearedAt.Time).Milliseconds())
		}
		rows = append(rows, row{badish, e.Text, tail(faint.Render(e.Selector), gone, tab(e.Tab))})
	}
	for _, e := range d.DisappearedElements {
		rows = append(rows, row{good, e.Text, tail(faint.Render(e.Selector), "gone", tab(e.Tab))})
	}
	if c := d.URLChanged; c != nil {
		rows = append(rows, row{newSign, c.From + " → " + c.To, tail("address", tab(c.Tab))})
	}
	p.section("Page", "", rows, d.Omitted)
}

func (p *printer) actions(d *diff.ActionsDiff) {
	if d == nil {
		return
	}
	var rows []row
	for _, a := range d.NewActions {
		text := a.Type + " " + a.Target
		if a.Value != "" {
			text += fmt.Sprintf(" = %q", a.Value)
		}
		rows = append(rows, row{faint.Render("·"), text, tail(faint.Render(clock(a.At)), tab(a.Tab))})
	}
	p.section("Actions", fmt.Sprint(d.TotalNewActions), rows, d.Omitted)
}

// remarks prints what qualifies the report.
func (p *printer) remarks(r *diff.Report) {
	var lines []string
	if r.Settled != nil && !*r.Settled {
		lines = append(lines, badish+" not settled: "+r.UnsettledBecause)
	}
	if c := r.Coverage; c != nil {
		lines = append(lines, badish+" not fully observed: "+c.Note)
		for _, g := range c.Gaps {
			to := "now"
			if g.To != nil {
				to = clock(*g.To)
			}
			lines = append(lines, faint.Render(fmt.Sprintf("    %s to %s  %s", clock(g.From), to, tail(strings.ReplaceAll(g.Reason, "_", " "), tab(g.Tab)))))
		}
	}
	if r.DOMUnavailable {
		lines = append(lines, badish+" error elements could not be read")
	}
	if r.NoiseHidden > 0 {
		lines = append(lines, faint.Render("  "+counted(r.NoiseHidden, "entry", "entries")+" hidden as noise"))
	}
	for _, problem := range r.NoiseProblems {
		lines = append(lines, badish+" "+problem)
	}
	if r.SeverityHidden > 0 {
		lines = append(lines, faint.Render("  "+counted(r.SeverityHidden, "entry", "entries")+" hidden by the severity filter"))
	}
	if len(lines) > 0 {
		p.line("")
		for _, l := range lines {
			p.line("%s", l)
		}
	}
}
