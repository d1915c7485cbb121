package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tidemark.dev/tidemark/protocol"
)

const (
	// defaultStall is how long a client may read nothing before its stream is closed.
	defaultStall = 10 * time.Second
	// eventsPause gathers entries that arrive close together into one event.
	eventsPause = 50 * time.Millisecond
	// eventsSilence is how long a stream stays silent before it sends a keep-alive line.
	eventsSilence = 15 * time.Second
	// eventsLimit bounds the entries of one event, so that a client can keep up.
	eventsLimit = 10_000
)

// cursor is the id of an event: the place to resume from. It is opaque to clients.
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
		return c, huma.Error400BadRequest("Last-Event-ID is not an event id of this stream; omit it to start over")
	}
	return c, nil
}

// skipped counts, for each lane, the entries between a client's positions and the oldest in memory. A client at the
// beginning has skipped nothing.
func skipped(after, first protocol.ViewPositions) map[string]uint64 {
	missing := map[string]uint64{}
	for lane, oldest := range first {
		if at := after[lane]; at > 0 && at < oldest {
			missing[lane] = oldest - at
		}
	}
	return missing
}

const eventsDescription = `Server-sent events. Each has an id. To resume, reconnect with the id in Last-Event-ID, or in the query
parameter after.

- timeline: entries and changes since the previous event, in the form of /api/timeline.
- skipped: per lane, the number of entries that left the buffers before this client reconnected.
- reset: positions restart, because the store was replaced. Discard earlier positions.
- behind: the client was too slow and entries left the buffers. The stream ends with this event. Resume with the
  same id; skipped then reports the missing entries.

A client that reads nothing for ten seconds is disconnected. A slow client delays no one.`

// eventsQuery selects a stream and the place to start from.
type eventsQuery struct {
	Tab         int    `query:"tab" minimum:"0" doc:"Only this tab and the checkpoints of its scope; 0: all tabs"`
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event received"`
	After       string `query:"after" doc:"The same, for clients that cannot send headers"`
	AfterPositions
	Store string `query:"store" doc:"Without an id: the store of the positions, as given by the timeline"`
	Marks string `query:"marks" doc:"Without an id: marks of the last timeline answer"`
}

func (r *rest) events() {
	o := streaming(operation("GET", "/events", "events", "timeline", "Stream new entries"), eventsDescription)
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
		// Check the tab before the answer begins: later, the status can no longer be an error.
		t, err := r.Engine.Viewer.Timeline(ctx, protocol.ViewTimelineParams{Tab: in.Tab, Limit: 1})
		if err != nil {
			return nil, problemOf(err)
		}
		return &huma.StreamResponse{Body: func(h huma.Context) {
			out, ctx := r.sse(h)
			defer out.end()
			(&eventStream{rest: r, tab: in.Tab, sse: out, at: c}).run(ctx, t.Store)
		}}, nil
	})
}

// eventStream is the stream of one client. It queues nothing: unread entries stay in the store's buffers.
type eventStream struct {
	*rest
	*sse
	tab int
	at  cursor
}

// run writes events until the client disconnects, falls behind or stops reading.
func (s *eventStream) run(ctx context.Context, store string) {
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
			return // the client disconnected, or its tab was closed
		}
		if s.at.Store != "" && t.Store != s.at.Store {
			s.at = cursor{}
			if !s.send("reset", struct{}{}) {
				return
			}
			continue
		}
		if missing := skipped(s.at.After, t.First); len(missing) > 0 {
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

// wait returns how long to wait for new entries, in milliseconds. The first event is sent at once.
func (s *eventStream) wait(first bool) int {
	if first {
		return 0
	}
	return int(eventsSilence.Milliseconds())
}

// send writes one event and reports whether that succeeded.
func (s *eventStream) send(name string, v any) bool {
	id := ""
	if s.at.Store != "" {
		id = s.at.String()
	}
	return s.event(id, name, v)
}
