package viewer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Limits on one read: entries, and bytes of JSON. An answer must fit into one message to the extension.
const (
	defaultEntries = 500
	maxEntries     = 5000
	maxEntryBytes  = 640 << 10
	maxBodyShown   = 128 << 10
)

// Entries returns the entries at positions of a lane, or the newest that match.
func (v *Viewer) Entries(ctx context.Context, p protocol.ViewEntriesParams) (*protocol.ViewEntries, error) {
	if p.Limit == 0 {
		p.Limit = defaultEntries
	}
	if p.Limit < 1 || p.Limit > maxEntries {
		return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", p.Limit, maxEntries)
	}
	for _, name := range slices.Concat(p.Lanes, []string{cmp.Or(p.Lane, protocol.LaneConsole)}) {
		if sectionCalled(name) == nil {
			return nil, usererr.New(usererr.NotFound, "unknown lane %q; lanes are %s", name, capture.SectionNames())
		}
	}
	switch p.Severity {
	case "", string(report.All), string(report.Warnings), string(report.ErrorsOnly):
	default:
		return nil, usererr.Invalid("severity is %q; it must be all, warnings or errors_only", p.Severity)
	}
	if p.Lane != "" {
		return observe.WithPlaces(ctx, observe.PlacesWait, func(bool) (*protocol.ViewEntries, *observe.Places, error) {
			out, places := v.entriesAt(ctx, p)
			return out, places, nil
		})
	}
	from, to := p.From, p.To
	if from == "" {
		from = checkpoint.Start
	}
	w, err := v.between(ctx, p.Tab, from, to)
	if err != nil {
		return nil, err
	}
	s := &entrySearch{p: p, rules: v.rules.In("", v.clock()).Rules, places: v.observer.OriginalsIn(w.v), text: strings.ToLower(p.Text)}
	s.level = map[string]byte{string(report.Warnings): protocol.MarkWarning, string(report.ErrorsOnly): protocol.MarkError}[p.Severity]
	view := w.v.Until(w.to)
	for _, name := range capture.Sections {
		if len(p.Lanes) == 0 || slices.Contains(p.Lanes, string(name)) {
			sectionCalled(string(name)).search(s, view, w.from)
		}
	}
	slices.Reverse(s.found)                                                               // among simultaneous entries, too, the last is the newest
	slices.SortStableFunc(s.found, func(a, b hit) int { return cmp.Compare(b.at, a.at) }) // newest first
	out := &protocol.ViewEntries{Entries: []protocol.ViewEntry{}, Total: len(s.found)}
	bytes := 0
	for _, h := range s.found[:min(len(s.found), p.Limit)] {
		entry := h.show()
		if bytes += sizeOf(&entry); bytes > maxEntryBytes && len(out.Entries) > 0 {
			break
		}
		out.Entries = append(out.Entries, entry)
	}
	slices.Reverse(out.Entries)
	return out, nil
}

// entriesAt returns the entries at positions, as many as fit into one answer.
func (v *Viewer) entriesAt(ctx context.Context, p protocol.ViewEntriesParams) (*protocol.ViewEntries, *observe.Places) {
	view := v.store.View(v.clock())
	s := &entrySearch{p: p, rules: v.rules.In("", v.clock()).Rules, places: v.observer.OriginalsIn(view)}
	deep, lane := view, sectionCalled(p.Lane)
	for _, pos := range p.Positions {
		if pos < lane.first(view) {
			behind, past := v.observer.Behind(ctx, view)
			defer past.Close()
			deep = behind
			break
		}
	}
	out := &protocol.ViewEntries{Entries: []protocol.ViewEntry{}, Total: len(p.Positions)}
	bytes := 0
	for _, pos := range p.Positions {
		entry := lane.at(s, deep, pos)
		if entry.Lane == "" {
			out.Missing++
			continue
		}
		if bytes += sizeOf(&entry); bytes > maxEntryBytes && len(out.Entries) > 0 {
			break
		}
		out.Entries = append(out.Entries, entry)
	}
	return out, s.places
}

func sizeOf(entry *protocol.ViewEntry) int {
	data, err := json.Marshal(entry)
	if err != nil {
		return 0 // plain values always marshal
	}
	return len(data)
}

// entrySearch finds entries.
type entrySearch struct {
	p      protocol.ViewEntriesParams
	rules  *noise.Rules
	places *observe.Places
	text   string
	level  byte // the lowest mark, 0 for any
	found  []hit
}

// hit is an entry that matched. It is rendered only if the answer includes it.
type hit struct {
	at   int64
	show func() protocol.ViewEntry
}

func search[E event.Event](s *entrySearch, view entries[E], from uint64, show func(*entrySearch, E) protocol.ViewEntry) {
	for pos, entry := range view.From(from) {
		h := entry.Header()
		if s.p.Tab != 0 && h.Tab() != s.p.Tab {
			continue
		}
		if s.text != "" || s.level != 0 {
			brief := show(s, entry)
			if s.level != 0 && (brief.Mark[0] < s.level || brief.Mark[0] == protocol.MarkHidden) || s.text != "" && !contains(&brief, s.text) {
				continue
			}
		}
		s.found = append(s.found, hit{h.At, func() protocol.ViewEntry { return withHead(pos, h, show(s, entry)) }})
	}
}

func at[E event.Event](s *entrySearch, view entries[E], pos uint64, show func(*entrySearch, E) protocol.ViewEntry) protocol.ViewEntry {
	for found, entry := range view.From(pos) {
		if found == pos {
			return withHead(pos, entry.Header(), show(s, entry))
		}
		break
	}
	return protocol.ViewEntry{}
}

func withHead(pos uint64, h *event.Head, e protocol.ViewEntry) protocol.ViewEntry {
	e.Position, e.At, e.Tab, e.Masked = pos, h.At, h.Tab(), h.Masked
	return e
}

func contains(e *protocol.ViewEntry, text string) bool {
	for _, s := range []string{e.Text, e.URL, e.Error, e.Selector, e.Value, e.Method, e.Reason, e.From, e.Via} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}

// maxBrief bounds each text of a brief entry, in bytes.
const maxBrief = 500

func (s *entrySearch) textOf(text string) string {
	if s.p.Brief {
		return cutTo(text, maxBrief)
	}
	return cutTo(text, maxBodyShown)
}

func (s *entrySearch) console(c *event.Console) protocol.ViewEntry {
	out := protocol.ViewEntry{
		Lane: protocol.LaneConsole, Mark: string(markOfConsole(c, s.rules)), Text: s.textOf(c.Text), Kind: c.Level.String(), Via: c.Via, Length: c.Length, Source: placeOf(s.places, c),
	}
	if !s.p.Brief {
		out.Stack = s.places.Stack(c)
	}
	return out
}

func (s *entrySearch) network(n *event.Network) protocol.ViewEntry {
	out := protocol.ViewEntry{
		Lane: protocol.LaneNetwork, Mark: string(markOfNetwork(n, s.rules)), Kind: n.Resource, Method: n.Method, URL: n.URL, Status: n.Status, Error: n.Error,
		Started: n.Started, DurationMs: n.Duration, Mime: n.Mime, Size: n.Size, Cached: n.Cached, BodyNote: n.BodyNote,
	}
	if !s.p.Brief {
		out.RequestHeaders, out.ResponseHeaders = n.RequestHeaders, n.ResponseHeaders
		out.RequestBody, out.ResponseBody = s.textOf(n.RequestBody), s.textOf(n.ResponseBody)
	}
	return out
}

func (s *entrySearch) socket(w *event.WebSocket) protocol.ViewEntry {
	return protocol.ViewEntry{
		Lane: protocol.LaneWebSocket, Mark: string(markOfSocket(w, s.rules)), Kind: w.Op, URL: w.URL, Text: s.textOf(w.Text), Size: int64(w.Size), Code: w.Code, Reason: w.Reason,
	}
}

func (s *entrySearch) change(c *capture.Change) protocol.ViewEntry {
	return protocol.ViewEntry{
		Lane: protocol.LaneDOM, Mark: string(markOfChange(c, s.rules)), Kind: c.Op, Text: s.textOf(c.Element.Text), Selector: c.Element.Selector, From: c.From, URL: c.URL, Via: c.How,
	}
}

func (s *entrySearch) inspection(e *event.Inspection) protocol.ViewEntry {
	text := e.Location
	if e.Op == event.Snapshot && e.Label != "" {
		text = e.Label + " (" + e.Location + ")"
	}
	var values []string
	for i := 0; i+1 < len(e.Values); i += 2 {
		values = append(values, e.Values[i]+" = "+e.Values[i+1])
	}
	return protocol.ViewEntry{
		Lane: protocol.LaneVariables, Mark: string(markOfInspection(e, s.rules)), Kind: e.Op, Text: s.textOf(text), Via: e.By, Reason: e.Reason,
		Value: s.textOf(strings.Join(values, ", ")),
	}
}

func (s *entrySearch) file(e *event.FileChange) protocol.ViewEntry {
	out := protocol.ViewEntry{
		Lane: protocol.LaneFiles, Mark: string(markOfFile(e, s.rules)), Kind: e.Change, Text: s.textOf(e.Path), From: e.From, Via: e.By, Size: e.Size,
		Workspace: event.OneLine(e.Workspace()), Snapshot: e.Snapshot,
	}
	if e.Binary {
		out.Value = "binary"
	} else if e.Counted {
		out.Value = fmt.Sprintf("+%d -%d", e.Added, e.Removed)
	}
	return out
}

func (s *entrySearch) action(a *event.Action) protocol.ViewEntry {
	return protocol.ViewEntry{Lane: protocol.LaneActions, Mark: string(markOfAction(a, s.rules)), Kind: a.Type, Text: a.Target, Selector: a.Selector, Value: a.Value}
}
