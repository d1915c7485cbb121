package api

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
)

const sessionEventsDescription = `Server-sent events. Each has an id. To resume, reconnect with the id in Last-Event-ID, or in the query
parameter after. To continue from a timeline without a gap, pass its cursor as after. Without an id, only later events follow.

- timeline.sessionMoment: a moment, in the form of the timeline. A moment whose snapshot is still being taken has fsSnapshot
  false. It is sent again when its snapshot is there, or has failed. So is an agent's moment when its place in the recording
  of a terminal is known.
- timeline.fsSnapshot.created: a file snapshot, in the form of the timeline.
- timeline.sessionBranch.created: the session of a branch, with sessionBranchOf.

A client that reads nothing for ten seconds is disconnected. A slow client delays no one.`

// sessionEventsQuery selects a session and the place to start from.
type sessionEventsQuery struct {
	ID          string `path:"id"`
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event received"`
	After       string `query:"after" doc:"The same, for clients that cannot send headers"`
}

// sessionEvents registers the stream of a session's events.
func (r *rest) sessionEvents() {
	o := operation("GET", "/v1/sessions/{id}/events", "session-events", "sessions", "Stream the moments, file snapshots and branches of a session", http.StatusNotFound)
	huma.Register(r.API, streaming(o, sessionEventsDescription), func(_ context.Context, in *sessionEventsQuery) (*huma.StreamResponse, error) {
		user := clients.Viewer(checkpoint.Scope{})
		feed, err := timeline.NewFeed(r.Engine.Timeline, user, moments.Where{Session: in.ID}, cmp.Or(in.LastEventID, in.After))
		if err != nil {
			return nil, problemOf(err)
		}
		return &huma.StreamResponse{Body: func(h huma.Context) {
			out, ctx := r.sse(h)
			defer out.end()
			if out.write(": connected\n\n") { // the client knows that nothing is missed from here
				out.follow(ctx, feed)
			}
		}}, nil
	})
}

// recordingQuery selects a recording of a session.
type recordingQuery struct {
	ID        string `path:"id"`
	Recording string `path:"recording"`
}

// castQuery selects a recording of a session, and its form.
type castQuery struct {
	ID        string  `path:"id"`
	Recording string  `path:"recording"`
	Version   int     `query:"version" minimum:"2" maximum:"3" default:"2" doc:"Version of asciicast"`
	IdleLimit float64 `query:"idle_limit" minimum:"0" maximum:"1000000" doc:"Longest pause in seconds, 0 for all"`
}

// Resolve implements [huma.Resolver]: not a number is within every range.
func (q *castQuery) Resolve(huma.Context) []error {
	if math.IsNaN(q.IdleLimit) {
		return []error{&huma.ErrorDetail{Location: "query.idle_limit", Message: "expected a number of seconds", Value: "NaN"}}
	}
	return nil
}

// recordings registers the recordings of a session's terminals.
func (r *rest) recordings() {
	user := clients.Viewer(checkpoint.Scope{})
	o := operation("GET", "/v1/sessions/{id}/recordings/{recording}/cast", "session-recording", "sessions", "A recording of a terminal, as asciicast", http.StatusNotFound)
	o.Responses = map[string]*huma.Response{"200": {Description: "The recording", Content: map[string]*huma.MediaType{"application/x-asciicast": {Schema: &huma.Schema{Type: "string"}}}}}
	huma.Register(r.API, o, func(ctx context.Context, in *castQuery) (*huma.StreamResponse, error) {
		rec, err := timeline.OpenRecording(ctx, r.Engine.Timeline, user, moments.Where{Session: in.ID}, in.Recording)
		if err != nil {
			return nil, problemOf(err)
		}
		return &huma.StreamResponse{Body: func(h huma.Context) {
			defer func() { _ = rec.Close() }()
			h.SetHeader("Content-Type", "application/x-asciicast")
			h.SetHeader("Cache-Control", "no-store")
			_ = recording.WriteCast(h.BodyWriter(), rec, recording.CastOptions{Version: in.Version, IdleLimit: time.Duration(in.IdleLimit * float64(time.Second))}) // the client may have disconnected
		}}, nil
	})
	o = operation("GET", "/v1/sessions/{id}/recordings/{recording}/live", "session-recording-live", "sessions", "Stream what a terminal shows", http.StatusNotFound)
	huma.Register(r.API, streaming(o, liveDescription), func(ctx context.Context, in *recordingQuery) (*huma.StreamResponse, error) {
		rec, err := timeline.OpenRecording(ctx, r.Engine.Timeline, user, moments.Where{Session: in.ID}, in.Recording)
		if err != nil {
			return nil, problemOf(err)
		}
		return &huma.StreamResponse{Body: func(h huma.Context) {
			defer func() { _ = rec.Close() }()
			out, ctx := r.sse(h)
			defer out.end()
			allowed := func() bool {
				again, err := timeline.OpenRecording(ctx, r.Engine.Timeline, user, moments.Where{Session: in.ID}, in.Recording)
				return err == nil && again.Close() == nil
			}
			out.play(ctx, recording.NewLive(rec), allowed)
		}}, nil
	})
}

const liveDescription = `Server-sent events, as asciinema-player reads them: create({ driver: "eventsource", url }, element). The first message
has the terminal's size, the time in seconds, and init, output that shows the terminal as it is. Each message after that is an
array: time, code and data of an event. The event done ends the stream: the recording has ended.

A client that reads nothing for ten seconds is disconnected.`

// liveEach is how often a live recording is read again.
const liveEach = 100 * time.Millisecond

// play writes a live recording until that ends, or the client disconnects or does not read.
func (s *sse) play(ctx context.Context, live *recording.Live, allowed func() bool) {
	again := time.NewTicker(liveEach)
	defer again.Stop()
	alive := time.NewTicker(eventsSilence)
	defer alive.Stop()
	for {
		ended, err := live.Next(func(message any) bool { return s.event("", "message", message) })
		if err != nil {
			return
		}
		if ended {
			s.event("", "done", struct{}{})
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		case <-alive.C:
			if !allowed() || !s.write(": still here\n\n") {
				return
			}
		}
	}
}

// follow writes a session's events until the client disconnects or does not read, or the user withdraws the decision for
// the workspace.
func (s *sse) follow(ctx context.Context, feed *timeline.Feed) {
	alive := time.NewTicker(eventsSilence)
	defer alive.Stop()
	for {
		changed := feed.Changed()
		events, err := feed.Next(ctx)
		if err != nil {
			return
		}
		for _, e := range events {
			if !s.event(e.ID, e.Name, e.Data) {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-alive.C:
			if !s.write(": still here\n\n") {
				return
			}
		}
	}
}
