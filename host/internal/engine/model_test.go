package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// place is a client's cursor in each section: how many events it has received, and when.
type place struct {
	received map[capture.Section]int
	at       map[capture.Section]time.Time
}

// model is what a world is expected to answer: plain counts.
type model struct {
	w      *enginetest.World
	start  time.Time
	limit  int // of every buffer
	events map[capture.Section]int
	agents []*checkpoint.Client
	own    []*place
	calls  []int
	named  map[string]*place
}

// happen sends one event that counts in one section.
func (m *model) happen(s capture.Section) {
	m.events[s]++
	n := m.events[s]
	switch s {
	case capture.ConsoleSection:
		m.w.Log("error", "error "+letters(n))
	case capture.NetworkSection:
		m.w.Request("GET", "/bad/"+letters(n), 500, 1)
	case capture.WebSocketSection:
		m.w.Socket("received", fmt.Sprintf(`{"type":"error","which":%q}`, letters(n)))
	case capture.DOMSection:
		m.w.Element("appeared", n, ".error", "element "+letters(n))
	case capture.ActionsSection:
		m.w.Send("action", fmt.Sprintf(`"action":"click","target":"button %d"`, n))
	case capture.VariablesSection:
		m.w.Inspect(event.Inspection{Op: event.Snapshot, Name: letters(n)})
	case capture.FilesSection:
		m.w.ChangeFile("/srv/shop", event.FileChange{Change: event.FileAdded, Path: "src/" + letters(n)})
	}
}

func (m *model) here() *place {
	p := &place{map[capture.Section]int{}, map[capture.Section]time.Time{}}
	for _, s := range capture.Sections {
		p.received[s], p.at[s] = m.events[s], m.w.Now
	}
	return p
}

// counted is a report's content of a section: all new entries, and those listed or omitted.
func counted(r *report.Report, s capture.Section) (total, listed int, there bool) {
	switch s {
	case capture.ConsoleSection:
		if d := r.Console; d != nil {
			return d.TotalNewEntries, len(d.NewErrors) + d.Omitted, true
		}
	case capture.NetworkSection:
		if d := r.Network; d != nil {
			return d.TotalNewRequests, len(d.Failures) + d.Omitted, true
		}
	case capture.WebSocketSection:
		if d := r.WebSocket; d != nil {
			return d.TotalNewMessages, len(d.ErrorMessages) + d.Omitted, true
		}
	case capture.DOMSection:
		if d := r.DOM; d != nil {
			return len(d.NewErrorElements) + d.Omitted, len(d.NewErrorElements) + d.Omitted, true
		}
	case capture.ActionsSection:
		if d := r.Actions; d != nil {
			return d.TotalNewActions, len(d.NewActions) + d.Omitted, true
		}
	case capture.VariablesSection:
		if d := r.Variables; d != nil {
			return d.TotalNewEvents, len(d.Snapshots) + d.Omitted, true
		}
	case capture.FilesSection:
		if d := r.Files; d != nil {
			listed := d.Omitted
			for _, f := range d.Changed {
				listed += max(1, f.Files)
			}
			return d.TotalChanged, listed, true
		}
	}
	return 0, 0, false
}

// check compares a report with what the model expects of a window.
func (m *model) check(t *rapid.T, r *report.Report, from *place, include []capture.Section) {
	overflow, since := false, time.Time{}
	for _, s := range capture.Sections {
		total, listed, there := counted(r, s)
		want := m.events[s] - from.received[s]
		quiet := (s == capture.VariablesSection || s == capture.FilesSection) && len(include) == len(capture.Sections) && want == 0 // left out
		if there != (slices.Contains(include, s) && !quiet) {
			t.Fatalf("section %s: %v, asked for %v", s, there, include)
		}
		if !there && !quiet {
			continue
		}
		if held := min(m.events[s], m.limit); want > held {
			overflow = true
			if s != capture.DOMSection { // visible elements are reported even when their change was evicted
				want = held
			}
		}
		if total != want || listed != want {
			t.Fatalf("%s: %d new, %d listed or omitted, want %d", s, total, listed, want)
		}
		at, known := from.at[s]
		if !known {
			at = m.start
		}
		if since.IsZero() || at.Before(since) {
			since = at
		}
	}
	if r.BufferOverflow != overflow || (r.Coverage != nil) != overflow {
		t.Fatalf("buffer_overflow is %v, coverage %+v; want %v", r.BufferOverflow, r.Coverage, overflow)
	}
	if !r.From.Equal(since) || !r.To.Equal(m.w.Now) {
		t.Fatalf("from %s to %s, want %s to %s", r.From, r.To, since, m.w.Now)
	}
}

// TestClientsGetEverythingOnce runs random events, looks and checkpoints against plain counting. Each client gets
// each event of each section once, whatever it includes and whichever other clients look. A named checkpoint always
// begins the same window. Evictions are reported as overflow.
func TestClientsGetEverythingOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{limit: rapid.SampledFrom([]int{5, 40, 200}).Draw(rt, "limit"), events: map[capture.Section]int{}, named: map[string]*place{}}
		l := capture.Limit{Count: m.limit, Bytes: 1 << 30}
		m.w = enginetest.New(t, capture.Limits{capture.Console: l, capture.Network: l, capture.WebSocket: l, capture.Actions: l, capture.DOM: l, capture.Variables: l, capture.Files: l})
		m.start = m.w.Now
		for range 3 {
			c, leave := m.w.Engine.Clients.Join("", "agent", checkpoint.Scope{})
			defer leave()
			m.agents, m.own, m.calls = append(m.agents, c), append(m.own, &place{map[capture.Section]int{}, map[capture.Section]time.Time{}}), append(m.calls, 0)
		}
		names := rapid.SampledFrom([]string{"session_start", "before_x", "after_x"})
		rt.Repeat(map[string]func(*rapid.T){
			"happen": func(t *rapid.T) {
				s := rapid.SampledFrom(capture.Sections).Draw(t, "section")
				for range rapid.IntRange(1, 60).Draw(t, "times") {
					m.happen(s)
				}
			},
			"pass": func(t *rapid.T) { m.w.Pass(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond) },
			"look": func(t *rapid.T) {
				who := rapid.IntRange(0, 2).Draw(t, "who")
				p, include := m.draw(t)
				r := m.changes(t, who, p)
				m.check(t, r, m.own[who], include)
				if m.calls[who]++; r.Checkpoint != fmt.Sprintf("auto_%d", m.calls[who]) {
					t.Fatalf("checkpoint %s after %d calls", r.Checkpoint, m.calls[who])
				}
				for _, s := range include {
					m.own[who].received[s], m.own[who].at[s] = m.events[s], m.w.Now
				}
			},
			"look from a checkpoint": func(t *rapid.T) {
				p, include := m.draw(t)
				p.Checkpoint = names.Draw(t, "name")
				from := m.named[p.Checkpoint]
				if from == nil {
					if _, err := m.w.Engine.Observer.Changes(context.Background(), m.agents[0], p); err == nil {
						t.Fatal("a checkpoint that is not there was found")
					}
					return
				}
				m.check(t, m.changes(t, 0, p), from, include)
			},
			"create": func(t *rapid.T) {
				name := names.Draw(t, "name")
				made, err := m.w.Engine.Observer.CheckpointCreate(context.Background(), m.agents[0], observe.CheckpointParams{Name: name})
				if err != nil || (made.Replaced != nil) != (m.named[name] != nil) {
					t.Fatalf("%+v %v", made, err)
				}
				m.named[name] = m.here()
			},
			"delete": func(t *rapid.T) {
				name := names.Draw(t, "name")
				if _, err := m.w.Engine.Observer.CheckpointDelete(context.Background(), m.agents[0], observe.CheckpointDeleteParams{Name: name}); (err == nil) != (m.named[name] != nil) {
					t.Fatal(err)
				}
				delete(m.named, name)
			},
		})
	})
}

// draw generates arguments that hide nothing that is counted.
func (m *model) draw(t *rapid.T) (params, []capture.Section) {
	include := capture.Sections
	p := params{Severity: rapid.SampledFrom([]string{"", "all"}).Draw(t, "severity")}
	if rapid.Bool().Draw(t, "narrow") {
		include = rapid.SliceOfNDistinct(rapid.SampledFrom(capture.Sections), 1, 4, rapid.ID[capture.Section]).Draw(t, "include")
		for _, s := range include {
			p.Include = append(p.Include, string(s))
		}
	}
	return p, include
}

func (m *model) changes(t *rapid.T, who int, p params) *report.Report {
	r, err := m.w.Engine.Observer.Changes(context.Background(), m.agents[who], p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestConcurrentClientsAndWriters: several browsers deliver while several clients look, page through raw entries and
// make checkpoints. Each client gets each event once.
func TestConcurrentClientsAndWriters(t *testing.T) {
	const writers, readers, batches = 4, 4, 60
	w := enginetest.New(t, capture.Limits{})
	ctx := context.Background()
	var writing, reading sync.WaitGroup
	for n := range writers {
		instance := fmt.Sprintf("browser %d", n)
		w.Store.Hello(&protocol.Hello{Instance: instance, Stream: "s", First: 1}, w.Now)
		writing.Go(func() {
			next := int64(1)
			for b := range batches {
				var events []event.Event
				for i := range 1 + b%7 {
					id := fmt.Sprintf("w%c b%s e%c", 'g'+n, letters(b), 'g'+i)
					head := event.Head{At: w.Now.UnixMilli(), Subject: event.InTab(1, "")}
					events = append(events,
						&event.Console{Head: head, Level: event.Error, Via: "console", Text: id},
						&event.Network{Head: head, ID: id, Method: "GET", URL: "http://api.test/" + id, Status: 404},
						&event.Action{Head: head, Type: "click", Target: id})
				}
				var bad *protocol.Error
				if next, bad = w.Store.Apply(instance, "s", next, events, w.Now); bad != nil {
					t.Error(bad)
				}
			}
		})
	}
	each := 0
	for b := range batches {
		each += 1 + b%7
	}
	done := make(chan struct{})
	// until calls a function until the writers are done, and then once more.
	until := func(read func()) {
		for last := false; ; {
			read()
			if last {
				return
			}
			select {
			case <-done:
				last = true
			default:
			}
		}
	}
	for range readers {
		a := w.Agent()
		reading.Go(func() {
			heard := map[string]bool{}
			entries, requests, actions := 0, 0, 0
			until(func() {
				r, err := w.Engine.Observer.Changes(ctx, a, params{})
				if err != nil {
					t.Error(err)
					return
				}
				entries += r.Console.TotalNewEntries
				requests += r.Network.TotalNewRequests
				actions += r.Actions.TotalNewActions
				if r.Console.TotalNewEntries != r.Network.TotalNewRequests || r.Console.TotalNewEntries != r.Actions.TotalNewActions {
					t.Errorf("a batch was torn: %d, %d, %d", r.Console.TotalNewEntries, r.Network.TotalNewRequests, r.Actions.TotalNewActions)
				}
				for _, e := range r.Console.NewErrors {
					if heard[e.Message] || e.Count != 1 {
						t.Errorf("%q was reported again, or %d times", e.Message, e.Count)
					}
					heard[e.Message] = true
				}
			})
			if want := writers * each; entries != want || requests != want || actions != want {
				t.Errorf("heard of %d entries, %d requests and %d actions; want %d", entries, requests, actions, want)
			}
		})
	}
	reading.Go(func() { // pages through the log
		a, after, n := w.Agent(), uint64(0), 0
		until(func() {
			for {
				limit := 17
				p := observe.LogsParams{ReadParams: observe.ReadParams{After: &after, Limit: &limit}}
				page, err := w.Engine.Observer.Logs(t.Context(), a, p)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range page.Entries {
					if after++; e.Position != after {
						t.Errorf("position %d, want %d", e.Position, after)
					}
				}
				if n += len(page.Entries); page.Next == nil {
					return
				}
			}
		})
		if n != writers*each {
			t.Errorf("read %d entries, want %d", n, writers*each)
		}
	})
	reading.Go(func() { // makes one checkpoint and compares with it again and again
		a := w.Agent()
		made, err := w.Engine.Observer.CheckpointCreate(context.Background(), a, observe.CheckpointParams{Name: "session_start"})
		if err != nil {
			t.Error(err)
			return
		}
		before := -1
		until(func() {
			r, err := w.Engine.Observer.Changes(ctx, a, params{Checkpoint: "session_start"})
			if err != nil || !r.From.Equal(made.At.Time) || r.Console.TotalNewEntries < before {
				t.Errorf("%v; from %s with %d entries, before %d", err, r.From, r.Console.TotalNewEntries, before)
				return
			}
			before = r.Console.TotalNewEntries
			_ = w.Engine.Observer.CheckpointList(a)
			_ = w.Engine.Viewer.Status(&checkpoint.Client{})
		})
	})
	writing.Wait()
	close(done)
	reading.Wait()
}
