package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tidemark.dev/tidemark/protocol"
)

const (
	// defaultStall is how long a reader of events may take none until it is cut off.
	defaultStall = 10 * time.Second
	// eventsPause gathers what comes close together into one event.
	eventsPause = 50 * time.Millisecond
	// eventsSilence is after how long without news a line says that the stream is alive.
	eventsSilence = 15 * time.Second
	// eventsLimit bounds the entries of one event, so that a reader can keep up with what it is told.
	eventsLimit = 10_000
)

// cursor is an event's id: where to read on. It means nothing to whoever reads it.
type cursor struct {
	Store string                 `json:"s"`
	After protocol.ViewPositions `json:"p"`
	Marks string                 `json:"m"`
}

func (c cursor) String() string {
	data, err := json.Marshal(c)
	if err != nil {
		return "" // plain values always marshal
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func parseCursor(s string) (c cursor, err error) {
	if s == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		return c, huma.Error400BadRequest("Last-Event-ID is no id of an event of this stream; leave it out to begin anew")
	}
	return c, nil
}

// Skipped counts the entries of each lane that had left the buffers before a reader got them.
type Skipped struct {
	Console   uint64 `json:"console,omitempty"`
	Network   uint64 `json:"network,omitempty"`
	WebSocket uint64 `json:"websocket,omitempty"`
	DOM       uint64 `json:"dom,omitempty"`
	Actions   uint64 `json:"actions,omitempty"`
	Calls     uint64 `json:"calls,omitempty"`
}

// skipped are the entries between where a reader stands and the oldest that are held. Who stands at the beginning
// has skipped nothing: it reads what there is.
func skipped(after, first protocol.ViewPositions) Skipped {
	of := func(after, first uint64) uint64 {
		if after == 0 || after >= first {
			return 0
		}
		return first - after
	}
	return Skipped{
		Console: of(after.Console, first.Console), Network: of(after.Network, first.Network), WebSocket: of(after.WebSocket, first.WebSocket),
		DOM: of(after.DOM, first.DOM), Actions: of(after.Actions, first.Actions), Calls: of(after.Calls, first.Calls),
	}
}

const eventsDescription = `Server-sent events. Each has an id; a reader that comes back with it in Last-Event-ID (or in the query
parameter after) goes on where it was.

- timeline: entries and changes since the event before, as /api/timeline answers with.
- skipped: how many entries of each lane had left the buffers before this reader came back for them.
- reset: positions begin anew (another store); what is known of earlier ones is to be forgotten.
- behind: the reader was too slow and entries have left the buffers; the stream ends with this. It is resumed
  with the same id, and skipped says then what is missing.

A reader that takes nothing for ten seconds is cut off. Nobody who reads slowly holds anything up.`

// eventsQuery says which stream, and from where on.
type eventsQuery struct {
	InTab
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that was read"`
	After       string `query:"after" doc:"The same, for readers that can send no headers"`
	AfterPositions
	Store string `query:"store" doc:"Without an id: the store that the positions are of, as the timeline named it"`
	Marks string `query:"marks" doc:"Without an id: marks of the timeline that was read"`
}

func (r *rest) events() {
	o := operation("GET", "/events", "events", "timeline", "What happens, as it happens")
	o.Description = eventsDescription
	o.Responses = map[string]*huma.Response{"200": {
		Description: "The stream", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}}},
	}}
	huma.Register(r.API, o, func(ctx context.Context, in *eventsQuery) (*huma.StreamResponse, error) {
		at := in.LastEventID
		if at == "" {
			at = in.After
		}
		c, err := parseCursor(at)
		if err != nil {
			return nil, err
		}
		if at == "" {
			c = cursor{Store: in.Store, After: in.positions(), Marks: in.Marks}
		}
		// Where it begins has to be right before anything is answered.
		t, err := r.Engine.Viewer.Timeline(ctx, protocol.ViewTimelineParams{Tab: in.Tab, Limit: 1})
		if err != nil {
			return nil, problemOf(err)
		}
		return &huma.StreamResponse{Body: func(h huma.Context) {
			req, w := humago.Unwrap(h)
			s := &eventStream{rest: r, tab: in.Tab, w: w, control: http.NewResponseController(w), at: c}
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
			s.run(req.Context(), t.Store)
		}}, nil
	})
}

// eventStream is one reader's stream. It keeps nothing of what the reader has not taken: that is in the buffers.
type eventStream struct {
	*rest
	tab     int
	w       http.ResponseWriter
	control *http.ResponseController
	at      cursor
}

// run writes events until the reader goes, falls behind or takes nothing.
func (s *eventStream) run(ctx context.Context, store string) {
	defer func() { _ = s.control.SetWriteDeadline(time.Time{}) }() // the connection may serve other requests
	if s.at.Store != "" && s.at.Store != store {
		s.at = cursor{}
		if !s.send("reset", struct{}{}) {
			return
		}
	}
	for first := true; ; first = false {
		t, err := s.Engine.Viewer.Timeline(ctx, protocol.ViewTimelineParams{
			Tab: s.tab, After: s.at.After, Marks: s.at.Marks, Limit: eventsLimit, WaitMs: s.wait(first),
		})
		if err != nil {
			return // the reader has gone, or the tab that it reads of
		}
		if s.at.Store != "" && t.Store != s.at.Store {
			s.at = cursor{}
			if !s.send("reset", struct{}{}) {
				return
			}
			continue
		}
		if missing := skipped(s.at.After, t.First); missing != (Skipped{}) {
			if !first {
				s.send("behind", missing)
				return
			}
			if !s.send("skipped", missing) {
				return
			}
		}
		if !first && len(t.Lanes) == 0 && t.Marks == s.at.Marks {
			if !s.write(": still here\n\n") {
				return
			}
			continue
		}
		s.at = cursor{Store: t.Store, After: t.Next, Marks: t.Marks}
		if !s.send("timeline", t) {
			return
		}
		if t.More {
			continue
		}
		pause := time.NewTimer(eventsPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// wait is how long to wait for news, in milliseconds: the first event says how it stands.
func (s *eventStream) wait(first bool) int {
	if first {
		return 0
	}
	return int(eventsSilence.Milliseconds())
}

// send writes one event, and says whether the reader took it.
func (s *eventStream) send(name string, v any) bool {
	data, err := json.Marshal(v)
	if err != nil {
		return false // plain values always marshal
	}
	var b strings.Builder
	if s.at.Store != "" {
		fmt.Fprintf(&b, "id: %s\n", s.at)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
	return s.write(b.String())
}

func (s *eventStream) write(text string) bool {
	stall := s.StallTimeout
	if stall == 0 {
		stall = defaultStall
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(stall)); err != nil {
		return false
	}
	_, err := s.w.Write([]byte(text))
	return err == nil && s.control.Flush() == nil
}
