package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/rawcost"
	"tidemark.dev/tidemark/host/internal/rawtext"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/internal/variables"
)

// Raw reads in lines. Each entry begins a line with its position, and continues in lines that begin with two blanks. Lines
// of Tidemark begin with "#". Text of a page is in quotes, or without line ends, so that it can begin no line.

// around is about how many tokens the lines around the entries need.
const around = 40

// rawEntry is an entry of a raw read.
type rawEntry[E any] interface {
	*E
	head() *EntryHead
	// at is when the entry began.
	at() time.Time
	// same is what equal entries have in common; "" if the entry equals no other.
	same() string
	// ordered reports whether only equal entries that follow each other are folded, because their order is what counts.
	ordered() bool
	// shrink cuts texts of the page so that the entry needs at most about so many tokens.
	shrink(most int)
	// topic is what the entry is about, and outcome what became of that; see [rawtext.Traits]. The topic is "" where that does not
	// count. load numbers the page's load.
	topic() (load int, topic, outcome string)
	// listed reports whether a line of several entries names their positions, by which other tools take them.
	listed() bool
	// duration is how long it took, in milliseconds.
	duration() float64
	// numbers are those that follow the entry's time, of entries whose durations are in a range, and legend describes both:
	// milliseconds after the time in the first line.
	numbers(least, most float64) string
	legend() string
	// lines returns the entry's first line after its position, and the lines below it.
	lines(when string) (first string, more []string)
}

func (h *EntryHead) head() *EntryHead           { return h }
func (h *EntryHead) at() time.Time              { return h.At.Time }
func (*EntryHead) ordered() bool                { return false }
func (*EntryHead) topic() (int, string, string) { return 0, "", "" }
func (*EntryHead) listed() bool                 { return false }
func (*EntryHead) duration() float64            { return 0 }
func (*EntryHead) numbers(_, _ float64) string  { return "" }
func (*EntryHead) legend() string               { return "+ms" }

// Group is one or several equal entries of a raw read.
type Group[E any] struct {
	First, Last *E
	// Positions are those of its entries.
	Positions []uint64
	// Least and Most are how long its entries took, in milliseconds.
	Least, Most float64
}

// written is what entries have in common whose lines are equal but for time and position; "" if the entry equals no other, or
// counts only by its order.
func written[E any, R rawEntry[E]](e *E) string {
	if R(e).same() == "" || R(e).ordered() {
		return ""
	}
	first, more := R(e).lines("")
	return fmt.Sprintf("%d %q %q %q", R(e).head().Tab, first, more, R(e).head().Cut)
}

// traits returns what decides whether an entry is folded with others.
func traits[E any, R rawEntry[E]](e *E) rawtext.Traits {
	load, topic, outcome := R(e).topic()
	return rawtext.Traits{
		Same: cmp.Or(R(e).head().key, R(e).same()), Written: func() string { return written[E, R](e) }, Ordered: R(e).ordered(),
		Load: load, Topic: topic, Outcome: outcome, Duration: R(e).duration(),
	}
}

// Folded groups equal entries, and those with equal lines, in the order of the first of each. Those on both sides of another
// outcome are not in one group, nor are those whose durations differ much.
func Folded[E any, R rawEntry[E]](entries []E) []Group[E] {
	var groups []Group[E]
	var f rawtext.Folder
	for i := range entries {
		e := &entries[i]
		at := f.Add(traits[E, R](e))
		if at == len(groups) {
			groups = append(groups, Group[E]{First: e})
		}
		g := &groups[at]
		g.Last, g.Positions = e, append(g.Positions, R(e).head().Position)
		g.Least, g.Most = f.Durations(at)
	}
	return groups
}

// write returns a group as lines, with times in milliseconds after base.
func write[E any, R rawEntry[E]](g Group[E], base time.Time) string {
	first, last := R(g.First), R(g.Last)
	position, when := rawtext.Positions(g.Positions, first.listed()), fmt.Sprintf("+%d", first.at().Sub(base).Milliseconds())
	if len(g.Positions) > 1 {
		when += fmt.Sprintf("…%d", last.at().Sub(base).Milliseconds())
	}
	when += first.numbers(g.Least, g.Most)
	if n := len(g.Positions); n > 1 {
		when += fmt.Sprintf(" ×%d", n)
	}
	line, more := first.lines(when)
	if cut := first.head().Cut; len(cut) > 0 {
		line += " (cut: " + strings.Join(cut, ", ") + ")"
	}
	var b strings.Builder
	b.WriteString(position + " " + line + "\n")
	for _, l := range more {
		b.WriteString("  " + l + "\n")
	}
	return b.String()
}

// cost is about how many tokens an entry needs.
func cost[E any, R rawEntry[E]](e *E, asJSON bool) int {
	if !asJSON {
		return tokens.Estimate(write[E, R](Group[E]{First: e, Last: e, Positions: []uint64{R(e).head().Position}, Least: R(e).duration(), Most: R(e).duration()}, R(e).at().Add(-time.Minute))) + 2 // it may be one of several
	}
	data, err := report.Encode(e)
	if err != nil {
		return 0 // an entry of plain values always marshals
	}
	return tokens.Estimate(data) + 1
}

// text returns a page of a raw read in lines.
func text[E any, R rawEntry[E]](l *Listing[E], what string, newest bool) string {
	var b strings.Builder
	files := func(before string) string {
		if l.Files == 0 {
			return ""
		}
		return fmt.Sprintf("%s%d files omitted", before, l.Files)
	}
	if len(l.Entries) > 0 {
		base := R(&l.Entries[0]).at()
		several := 0
		for i := range l.Entries {
			if at := R(&l.Entries[i]).at(); at.Before(base) {
				base = at
			}
			if R(&l.Entries[i]).head().Tab != R(&l.Entries[0]).head().Tab {
				several++
			}
		}
		base = base.UTC().Truncate(time.Second)
		fmt.Fprintf(&b, "# %s %s%s\n", base.Format("15:04:05Z"), R(&l.Entries[0]).legend(), files(", "))
		tab := 0
		for _, g := range Folded[E, R](l.Entries) {
			if now := R(g.First).head().Tab; several > 0 && now != tab {
				fmt.Fprintf(&b, "# tab %d\n", now)
				tab = now
			}
			b.WriteString(write[E, R](g, base))
		}
	} else if l.Total == 0 {
		ended := ""
		if l.OpenTotal > 0 {
			ended = "ended "
		}
		fmt.Fprintf(&b, "# no %s%s%s\n", ended, what, files(", "))
	}
	for i := range l.Open {
		b.WriteString(l.Open[i].Line() + "\n")
	}
	if more := l.OpenTotal - len(l.Open); more > 0 {
		fmt.Fprintf(&b, "# %d more open\n", more)
	}
	switch {
	case l.Left > 0 && newest:
		fmt.Fprintf(&b, "# %d older left out to fit max_tokens", l.Left)
		if l.beyond > 0 {
			fmt.Fprintf(&b, ", %d by limit", l.beyond)
		}
		b.WriteByte('\n')
	case l.Left > 0:
		fmt.Fprintf(&b, "# %d left out to fit max_tokens\n", l.Left)
	case l.beyond > 0 && l.Total == len(l.Entries)+l.beyond:
		fmt.Fprintf(&b, "# newest %d of %d\n", len(l.Entries), l.Total)
	case l.beyond > 0:
		fmt.Fprintf(&b, "# %d older left out by limit\n", l.beyond)
	}
	if len(l.Missing) > 0 {
		fmt.Fprintf(&b, "# no longer kept or not in scope: %s\n", strings.Trim(fmt.Sprint(l.Missing), "[]"))
	}
	if l.Evicted > 0 {
		fmt.Fprintf(&b, "# %d oldest evicted\n", l.Evicted)
	}
	if l.Next != nil {
		fmt.Fprintf(&b, "# next: %d\n", *l.Next)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// clipped cuts a text of an entry in place and notes it.
func (h *EntryHead) clipped(name string, s *string, most int) {
	cut, note := rawtext.Clip(name, *s, most)
	if *s = cut; note != "" {
		h.Cut = append(slices.Clip(h.Cut), note)
	}
}

// same leaves out what addresses have against caching: each attempt of a page to load or to connect has another one.
func (e *LogEntry) same() string {
	return alike.WithoutBusters(fmt.Sprintf("%s %s %q %q %v %d %q", e.Level, e.Via, e.Message, e.Source, e.Joined, e.Tab, e.Stack))
}

func (e *LogEntry) shrink(most int) {
	e.clipped("message", &e.Message, most*2/3)
	left := most / 3
	for i, line := range e.Stack {
		if left -= tokens.Estimate(line); left < 0 {
			e.Cut = append(e.Cut, fmt.Sprintf("stack %d of %d frames", i, len(e.Stack)))
			e.Stack = e.Stack[:i:i]
			return
		}
	}
}

func (e *LogEntry) lines(when string) (first string, more []string) {
	how := e.Level
	if e.Via == "exception" {
		how = "uncaught"
	}
	first = when + " " + how + " " + variables.Quote(e.Message)
	if e.Source != "" {
		first += " " + report.Marked(rawtext.Phrase(strings.TrimPrefix(e.Source, e.page)), e.Generated)
	}
	if e.Target != "" {
		first += " in " + rawtext.Word(e.Target)
	}
	if e.Joined {
		first += " (repeats another entry)"
	}
	if e.Level != "error" && e.Level != "warning" || len(e.Stack) < 2 {
		return first, nil
	}
	for i, line := range e.Stack {
		if i == rawcost.Frames {
			more = append(more, fmt.Sprintf("(%d more frames)", len(e.Stack)-i))
			break
		}
		more = append(more, rawtext.Phrase(strings.Replace(line, "("+e.page+"/", "(/", 1)))
	}
	return first, more
}

func (e *RequestEntry) at() time.Time { return e.sent }
func (*RequestEntry) legend() string  { return "+start/ms/bytes" }

func (e *RequestEntry) duration() float64 { return e.DurationMs }

func (*RequestEntry) listed() bool { return true }

func (e *RequestEntry) topic() (load int, topic, outcome string) {
	origin, path := capture.SplitURL(e.URL)
	return e.load, fmt.Sprintf("%s %s%s %s %d", e.Method, origin, capture.TemplatePath(path), e.Operation, e.Tab),
		fmt.Sprintf("%d %q %v %q", e.Status, e.Error, e.Canceled, e.Detail)
}

// numbers are the durations in milliseconds, and the size.
func (e *RequestEntry) numbers(least, most float64) string {
	text := "/" + rawtext.Range(least, most)
	if e.Size > 0 {
		text += fmt.Sprintf("/%d", e.Size)
	}
	return text
}

func (e *RequestEntry) same() string {
	return fmt.Sprintf("%q %q %q %d %q %v %q %v %q %q %d", e.Method, alike.WithoutBusters(e.URL), e.Operation, e.Status, e.Error, e.Canceled, e.Initiator, e.Generated, e.Caller(), e.Detail, e.Tab)
}

// Caller is the code that a line names behind the initiator: that of a failed request.
func (e *RequestEntry) Caller() string {
	if e.CalledAt == "" || e.Status < 400 && e.Error == "" && e.Detail == "" {
		return ""
	}
	return "called at " + e.CalledAt
}

func (e *RequestEntry) shrink(most int) { e.clipped("url", &e.URL, most/2) }

func (e *RequestEntry) lines(when string) (first string, more []string) {
	parts := []string{event.Method(e.Method), rawtext.Address(e.URL, e.page)}
	if e.Operation != "" {
		parts = append(parts, rawtext.Word(e.Operation))
	}
	if e.Status > 0 {
		parts = append(parts, fmt.Sprint(e.Status))
	}
	if e.Canceled {
		parts = append(parts, "canceled")
	} else if e.Error != "" {
		parts = append(parts, event.Named(rawtext.Phrase(e.Error)))
	}
	parts = append(parts, when)
	if e.Cached {
		parts = append(parts, "cached")
	}
	if e.Stream {
		parts = append(parts, "stream")
	}
	if e.Initiator != "" && !e.library {
		parts = append(parts, report.Marked(rawtext.Phrase(e.Initiator), e.Generated))
	}
	if caller := e.Caller(); caller != "" {
		parts = append(parts, rawtext.Phrase(caller))
	}
	if e.Detail != "" {
		parts = append(parts, variables.Quote(e.Detail))
	}
	return strings.Join(parts, " "), nil
}

func (e *BodiesEntry) same() string { return "" }

// leastAddress is how many tokens an address keeps: without it, bodies are of no request.
const leastAddress = 30

func (e *BodiesEntry) shrink(most int) {
	e.clipped("url", &e.URL, max(most/16, leastAddress))
	e.clipped("detail", &e.Detail, most/3)
	e.RequestHeaders, e.ResponseHeaders = e.headers("request_headers", e.RequestHeaders, most/8), e.headers("response_headers", e.ResponseHeaders, most/8)
	e.clipped("request_body", &e.RequestBody, most/4)
	e.clipped("response_body", &e.ResponseBody, most/2)
}

// headers leaves out the longest headers until the others fit.
func (h *EntryHead) headers(name string, all map[string]string, most int) map[string]string {
	size := 0
	for key, value := range all {
		size += tokens.Estimate(key+": "+value) + 1
	}
	if size <= most {
		return all
	}
	kept := map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(all[a]), len(all[b])), strings.Compare(a, b))
	}) {
		if most -= tokens.Estimate(key+": "+all[key]) + 1; most < 0 {
			break
		}
		kept[key] = all[key]
	}
	h.Cut = append(slices.Clip(h.Cut), fmt.Sprintf("%s %d of %d", name, len(kept), len(all)))
	return kept
}

func (e *BodiesEntry) lines(when string) (first string, more []string) {
	first, _ = e.RequestEntry.lines(when)
	return first, e.Sent()
}

// Sent returns what was sent, in lines that begin with ">", and what was received, in lines that begin with "<".
func (e *BodiesEntry) Sent() []string {
	lines := rawtext.Exchange(nil, ">", e.RequestHeaders, e.RequestBody)
	lines = rawtext.Exchange(lines, "<", e.ResponseHeaders, e.ResponseBody)
	if e.BodyNote != "" {
		lines = append(lines, "< ("+rawtext.Phrase(e.BodyNote)+")")
	}
	return lines
}

func (e *SocketEntry) same() string {
	return fmt.Sprintf("%s %q %q %d %q %v %d %d %q", e.Event, e.Connection, e.URL, e.Code, e.Text, e.Binary, e.Size, e.Tab, e.Reason)
}

func (e *SocketEntry) shrink(most int) {
	e.clipped("url", &e.URL, most/4)
	e.clipped("text", &e.Text, most*3/4)
}

func (e *SocketEntry) lines(when string) (first string, more []string) {
	parts := []string{when, rawtext.Word(e.Event), rawtext.Address(e.URL, strings.Replace(e.page, "http", "ws", 1))}
	if e.Status > 0 {
		parts = append(parts, fmt.Sprint(e.Status))
	}
	if e.Code > 0 {
		parts = append(parts, fmt.Sprint(e.Code))
	}
	if e.Binary {
		parts = append(parts, fmt.Sprintf("(binary, %d bytes)", e.Size))
	}
	for _, s := range []string{e.Text, e.Reason} {
		if s != "" {
			parts = append(parts, variables.Quote(s))
		}
	}
	if e.Initiator != "" {
		parts = append(parts, report.Marked(rawtext.Phrase(e.Initiator), e.Generated))
	}
	return strings.Join(parts, " "), nil
}

func (*ActionEntry) ordered() bool { return true }

func (e *ActionEntry) same() string {
	return fmt.Sprintf("%s %q %q %q %q %d", e.Type, e.Target, e.Selector, e.Value, e.By, e.Tab)
}

func (e *ActionEntry) shrink(most int) {
	e.clipped("target", &e.Target, most/3)
	e.clipped("selector", &e.Selector, most/3)
	e.clipped("value", &e.Value, most/3)
}

func (e *ActionEntry) lines(when string) (first string, more []string) {
	first = when + " " + rawtext.Word(e.Type) + " " + event.Apart(rawtext.Phrase(e.Target), " = ", " by ")
	if e.Value != "" {
		first += " = " + variables.Quote(e.Value)
	}
	if e.By != "" {
		first += " by " + e.By
	}
	return first, nil
}
