package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/timeline"
)

const sessionEventsDescription = `Server-sent events. Each has an id. To resume, reconnect with the id in Last-Event-ID, or in the query
parameter after. To continue from a timeline without a gap, pass its cursor as after. Without an id, only later events follow.

- timeline.sessionMoment: a moment, in the form of the timeline. A moment whose snapshot is still being taken has fsSnapshot
  false. It is sent again when its snapshot is there, or has failed.
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
		feed, err := timeline.NewFeed(r.Engine.Timeline, user, timeline.Where{Session: in.ID}, cmp.Or(in.LastEventID, in.After))
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
