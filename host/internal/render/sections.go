package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
)

// Reports use the same words everywhere: [sections] and [remarks] choose them, terminal and Markdown show them.

// tone is the meaning that a word's color shows.
type tone int

const (
	plain tone = iota
	muted
	bad
	doubtful
	well
)

// word is a piece of text. A quoted word comes from the page.
type word struct {
	text   string
	tone   tone
	quoted bool
	// before and mark surround the text and are not quoted.
	before, mark string
}

func said(text string) word    { return word{text: text} }
func quote(text string) word   { return word{text: text, quoted: true} }
func (w word) as(t tone) word  { w.tone = t; return w }
func saidTimes(n int) word     { return said(times(n)) }
func saidTab(id int) word      { return said(tab(id)) }
func saidTabs(ids []int) word  { return said(tabs(ids)) }
func mutedQuote(s string) word { return quote(s).as(muted) }

// source returns the place of a message, marked if it is in generated code, and that of the call that logged it.
func source(m *report.Message) word {
	if m.LoggedAt != "" {
		return mutedQuote(report.Marked(m.Source, m.Generated) + ", logged at " + event.Named(m.LoggedAt))
	}
	w := mutedQuote(m.Source)
	if m.Generated {
		w.mark = " (generated)"
	}
	return w
}

// initiator returns the code that made a request or opened a connection.
func initiator(source string, generated bool) word {
	if source == "" {
		return word{}
	}
	w := mutedQuote(source)
	w.before = "from "
	if generated {
		w.mark = " (generated)"
	}
	return w
}

// called returns the code that called the initiator of a request.
func called(source string) word {
	if source == "" {
		return word{}
	}
	w := mutedQuote(source)
	w.before = "called at "
	return w
}

// introduced returns the change of a file after which an entry first appeared.
func introduced(by *report.Introduced) word {
	if by == nil {
		return word{}
	}
	return mutedQuote(by.String())
}

// also returns what else said what an entry says.
func also(text string) word {
	if text == "" {
		return word{}
	}
	w := mutedQuote(text)
	w.before = "also "
	return w
}

// sign shows the kind of a row at a glance.
type sign string

const (
	failed sign = "✖"
	warned sign = "▲"
	mended sign = "✔"
	added  sign = "+"
	done   sign = "·"
	// unknown is neither good nor bad.
	unknown sign = "–"
)

// row is one entry: its subject, and details at the end of the line.
type row struct {
	sign sign
	head []word
	tail []word
}

// text returns the subject of the row as one string.
func (r row) text() string {
	var b strings.Builder
	for _, w := range r.head {
		b.WriteString(w.text)
	}
	return b.String()
}

// section is a heading and its rows. It is never empty.
type section struct {
	title, count string
	rows         []row
	omitted      int
}

// remark qualifies a report. A grave one means that the report may be incomplete.
type remark struct {
	grave bool
	words []word
	below [][]word
}

// sections returns the sections that are not empty. clock formats times.
func sections(r *report.Report, clock func(report.Time) string) []section {
	var out []section
	add := func(s section) {
		if len(s.rows) > 0 || s.omitted > 0 {
			out = append(out, s)
		}
	}
	add(storms(r.Storms))
	add(repeatedSection(r.Repeated))
	add(locatedSection(r.Located))
	for d := range r.Sections {
		switch d := d.(type) {
		case *report.ConsoleDiff:
			add(console(d))
		case *report.NetworkDiff:
			add(network(d))
		case *report.WebSocketDiff:
			add(websocket(d))
		case *report.DOMDiff:
			add(dom(d, clock))
		case *report.ActionsDiff:
			add(actions(d, clock))
		case *report.VariablesDiff:
			add(variables(d, clock))
		case *report.FilesDiff:
			add(files(d))
		case report.Lined:
			add(lined(d))
		}
	}
	return out
}

// counted returns a number with its noun: "1 frame", "2 frames".
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

func tabs(ids []int) string {
	if len(ids) == 0 {
		return ""
	}
	numbers := make([]string, len(ids))
	for i, id := range ids {
		numbers[i] = strconv.Itoa(id)
	}
	return "tabs " + strings.Join(numbers, ", ")
}

func console(d *report.ConsoleDiff) section {
	var rows []row
	add := func(s sign, list []report.Message) {
		for _, m := range list {
			text := quote(m.Message)
			if m.Message == "" {
				text = said("(no text)")
			}
			rows = append(rows, row{s, []word{text}, []word{source(&m), saidTimes(m.Count), also(m.Also), introduced(m.IntroducedBy), saidTab(m.Tab)}})
		}
	}
	add(failed, d.NewErrors)
	add(warned, d.NewWarnings)
	return section{"Console", counted(d.TotalNewEntries, "new entry", "new entries"), rows, d.Omitted}
}

// status returns how a request failed. For a response that broke off, that is the reason, not the status.
func status(n int, reason string) string {
	if n < 400 && reason != "" {
		return reason
	}
	return fmt.Sprint(n)
}

// repeatedSection lists what the reader was already given.
func repeatedSection(list []report.Repeated) section {
	var rows []row
	for _, e := range list {
		rows = append(rows, row{unknown, []word{quote(e.Message)}, []word{saidTimes(e.Count), initiator(e.Initiator, e.Generated)}})
	}
	return section{title: "Repeated", count: "reported before", rows: rows}
}

// locatedSection lists errors that were shown before, with their places.
func locatedSection(list []report.Located) section {
	var rows []row
	for _, e := range list {
		rows = append(rows, row{unknown, []word{quote(e.Message)}, []word{quote(e.Source)}})
	}
	return section{title: "Located", count: "reported before", rows: rows}
}

// storms lists what repeats without end.
func storms(list []report.Storm) section {
	var rows []row
	for _, s := range list {
		head := []word{quote(s.What)}
		if s.Error != "" {
			head = append(head, said(": "), quote(s.Error))
		}
		var refused word
		if s.Status > 0 {
			refused = said(fmt.Sprint(s.Status)).as(bad)
		}
		rows = append(rows, row{warned, head, []word{refused, saidTimes(s.Count), said("in " + Duration(s.SpanMs)), initiator(s.Initiator, s.Generated), called(s.CalledAt), also(s.Also), saidTab(s.Tab)}})
	}
	return section{title: "Storms", count: "repeated without end", rows: rows}
}

func network(d *report.NetworkDiff) section {
	var rows []row
	add := func(s sign, method, url string, r *report.Request, tab int, tail ...word) {
		head := []word{quote(strings.TrimSpace(event.Method(method) + " " + url + " " + r.Operation))}
		rows = append(rows, row{s, head, append(tail, initiator(r.Initiator, r.Generated), called(r.CalledAt), saidTab(tab))})
	}
	failures := func(list []report.Failure, s sign, before word) {
		for _, f := range list {
			was, now := before, word{}
			if f.PreviousStatus > 0 {
				was = said(fmt.Sprintf("was %d", f.PreviousStatus)).as(muted)
			}
			if f.NowStatus > 0 {
				now = said(fmt.Sprintf("now %d", f.NowStatus)).as(well)
			}
			add(s, f.Method, f.URL, &f.Request, f.Tab, said(status(f.Status, f.Error)).as(bad), was, now, saidTimes(f.Count), also(f.Also), introduced(f.IntroducedBy))
			if f.Detail != "" {
				last := &rows[len(rows)-1]
				last.head = append(last.head, said(" "), quote(fmt.Sprintf("%q", f.Detail)))
			}
		}
	}
	failures(d.Failures, failed, word{})
	failures(d.KnownFailures, warned, said("as before").as(muted))
	for _, e := range d.Degraded {
		add(warned, e.Method, e.URL, &e.Request, e.Tab, said(fmt.Sprintf("%d ms", e.AvgMs)).as(doubtful), said(fmt.Sprintf("was %d ms", e.PreviousAvgMs)).as(muted))
	}
	for _, e := range d.Recovered {
		was := "was " + status(e.PreviousStatus, cmp.Or(e.PreviousError, "no answer"))
		add(mended, e.Method, e.URL, &e.Request, e.Tab, said(fmt.Sprintf("%d again", e.Status)).as(well), said(was).as(muted), saidTimes(e.Count))
	}
	for _, e := range d.NewEndpoints {
		add(added, e.Method, e.URL, &e.Request, e.Tab, said(fmt.Sprint(e.Status)), saidTimes(e.Count))
	}
	for _, e := range d.Late {
		add(done, e.Method, e.URL, &e.Request, e.Tab, said(fmt.Sprint(e.Status)), said("late").as(muted), overtaken(e.Overtaken), saidTimes(e.Count))
	}
	count := counted(d.TotalNewRequests, "request", "requests")
	if still := report.CountStillFailing(d.StillFailing); still != "" {
		count += ", " + still
	}
	return section{"Network", count, rows, d.Omitted}
}

// overtaken marks a request that was answered after a later one.
func overtaken(is bool) word {
	if !is {
		return word{}
	}
	return said("answered after a later one").as(doubtful)
}

func websocket(d *report.WebSocketDiff) section {
	var rows []row
	for _, e := range d.Disconnections {
		var code word
		if e.Code > 0 {
			code = said(fmt.Sprint(e.Code))
		}
		rows = append(rows, row{warned, []word{quote(e.URL)}, []word{said("closed"), code, quote(e.Reason), saidTimes(e.Count), initiator(e.Initiator, e.Generated), saidTab(e.Tab)}})
	}
	for _, e := range d.ErrorMessages {
		var refused word
		if e.Status > 0 {
			refused = said(fmt.Sprint(e.Status)).as(bad)
		}
		rows = append(rows, row{warned, []word{quote(e.URL), said(" "), quote(e.Message)}, []word{refused, saidTimes(e.Count), initiator(e.Initiator, e.Generated), also(e.Also), introduced(e.IntroducedBy), saidTab(e.Tab)}})
	}
	for _, e := range d.NewConnections {
		rows = append(rows, row{added, []word{quote(e.URL)}, []word{said("opened"), saidTimes(e.Count), saidTab(e.Tab)}})
	}
	return section{"WebSocket", counted(d.TotalNewMessages, "frame", "frames"), rows, d.Omitted}
}

func dom(d *report.DOMDiff, clock func(report.Time) string) section {
	var rows []row
	for _, e := range d.Crashed {
		rows = append(rows, row{failed, []word{said("the page crashed: "), quote(e.URL)}, []word{said(clock(e.At)), saidTab(e.Tab)}})
	}
	if d.PageEmptySince != nil {
		rows = append(rows, row{failed, []word{said("the page is empty")}, []word{said("since " + clock(*d.PageEmptySince)), saidTab(d.PageEmptyTab)}})
	}
	for _, f := range d.EmptiedFields {
		rows = append(rows, row{warned, []word{quote(f.Element)}, []word{said("emptied by the page"), saidTab(f.Tab)}})
	}
	elements := func(list []report.NewElement, s sign, how string) {
		for _, e := range list {
			var gone word
			if e.GoneAt != nil {
				gone = said(how + " after " + Duration(e.GoneAt.Sub(e.AppearedAt.Time).Milliseconds()))
			}
			rows = append(rows, row{s, []word{quote(e.Text)}, []word{mutedQuote(e.Selector), initiator(e.Source(), e.Generated), gone, introduced(e.IntroducedBy), saidTab(e.Tab)}})
		}
	}
	elements(d.NewErrorElements, warned, "removed")
	elements(d.Flashes, done, "flash, removed")
	for _, e := range d.DisappearedElements {
		rows = append(rows, row{mended, []word{quote(e.Text)}, []word{mutedQuote(e.Selector), said("removed"), saidTab(e.Tab)}})
	}
	if c := d.URLChanged; c != nil {
		rows = append(rows, row{added, []word{quote(c.From), said(" → "), quote(c.To)}, []word{said("address"), saidTab(c.Tab)}})
	}
	return section{"Page", "", rows, d.Omitted}
}

func actions(d *report.ActionsDiff, clock func(report.Time) string) section {
	var rows []row
	for _, a := range d.NewActions {
		head := []word{said(a.Type + " "), quote(a.Target)}
		if a.Value != "" {
			head = append(head, said(" = "), quote(fmt.Sprintf("%q", a.Value)))
		}
		rows = append(rows, row{done, head, []word{said(clock(a.At)).as(muted), saidTab(a.Tab)}})
	}
	return section{"Actions", fmt.Sprint(d.TotalNewActions), rows, d.Omitted}
}

func variables(d *report.VariablesDiff, clock func(report.Time) string) section {
	var rows []row
	add := func(by string, tab int, head []word, tail ...word) {
		if by != "" {
			tail = append(tail, said("by "), quote(by))
		}
		rows = append(rows, row{done, head, append(tail, saidTab(tab))})
	}
	for _, p := range d.Pauses {
		how := "paused at "
		if p.Paused {
			how = "still paused at "
		}
		add(p.By, p.Tab, []word{said(how), quote(p.Place)}, said(strings.ReplaceAll(p.Reason, "_", " ")).as(muted), said(clock(p.At)).as(muted), saidTimes(p.Count))
	}
	for _, t := range d.Hits {
		head := []word{said(t.ID + " at "), quote(t.Place)}
		for _, name := range slices.Sorted(maps.Keys(t.Last)) {
			head = append(head, said(" "), quote(name+" = "+t.Last[name]))
		}
		add(t.By, t.Tab, head, said(counted(t.Count, "hit", "hits")))
	}
	for _, s := range d.Snapshots {
		add(s.By, s.Tab, []word{said("snapshot "), quote(cmp.Or(s.Label, s.ID)), said(" at "), quote(s.Place)}, said(clock(s.At)).as(muted))
	}
	return section{"Variables", fmt.Sprint(d.TotalNewEvents), rows, d.Omitted}
}

func files(d *report.FilesDiff) section {
	var rows []row
	for _, f := range d.Changed {
		how, head := done, []word{quote(f.Path)}
		if f.Change == event.FileAdded {
			how = added
		}
		if f.From != "" {
			head = []word{quote(f.From), said(" → "), quote(f.Path)}
		}
		tail := []word{said(f.Change)}
		if f.Files > 0 {
			tail = append(tail, said(counted(f.Files, "file", "files")))
		}
		switch {
		case f.Binary:
			tail = append(tail, said("binary").as(muted))
		case f.Added != nil && f.Removed != nil:
			tail = append(tail, said(fmt.Sprintf("+%d", *f.Added)).as(well), said(fmt.Sprintf("-%d", *f.Removed)).as(bad))
		}
		if f.Count > 1 {
			tail = append(tail, said(fmt.Sprintf("in %d changes", f.Count)).as(muted))
		}
		by := quote(f.By)
		if f.By != "" {
			by.before = "by "
		}
		rows = append(rows, row{how, head, append(tail, by, mutedQuote(f.Prompt), mutedQuote(f.Workspace))})
	}
	return section{"Files", counted(d.TotalChanged, "file changed", "files changed"), rows, d.Omitted}
}

// lined shows a section that has no words of its own here. What it lists may come from the page.
func lined(d report.Lined) section {
	title, total, lines := d.Lines()
	out := section{title: title, count: fmt.Sprint(total), omitted: total - len(lines)}
	for _, line := range lines {
		out.rows = append(out.rows, row{sign: done, head: []word{quote(line)}})
	}
	return out
}

// remarks returns the remarks on the report.
func remarks(r *report.Report, clock func(report.Time) string) []remark {
	var out []remark
	grave := func(words ...word) { out = append(out, remark{grave: true, words: words}) }
	light := func(text string) { out = append(out, remark{words: []word{said(text)}}) }
	if r.Settled != nil && !*r.Settled {
		grave(said("not settled: "), said(r.UnsettledBecause))
	}
	if c := r.Coverage; c != nil {
		grave(said("not fully observed: " + c.Note))
		last := &out[len(out)-1]
		for _, g := range c.Gaps {
			to := "now"
			if g.To != nil {
				to = clock(*g.To)
			}
			last.below = append(last.below, []word{said(clock(g.From) + " to " + to), said(strings.ReplaceAll(g.Reason, "_", " ")), saidTab(g.Tab), saidTabs(g.Tabs)})
		}
	}
	if r.DOMUnavailable {
		grave(said("error elements could not be read"))
	}
	if r.NoiseHidden > 0 {
		light(counted(r.NoiseHidden, "entry", "entries") + " hidden as noise")
	}
	for _, problem := range r.NoiseProblems {
		grave(said(problem))
	}
	if r.SeverityHidden > 0 {
		light(counted(r.SeverityHidden, "entry", "entries") + " hidden by the severity filter")
	}
	return out
}
