// Package edited finds the workspace whose changes of files a report is about.
//
// It guarantees: a report between moments of one session is about that session's workspace, whoever asks.
package edited

import (
	"cmp"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
)

// Moments is the timeline of workspaces.
type Moments interface {
	// Workspace returns the workspace of a moment by its ID, "" for what is no such ID.
	Workspace(client *checkpoint.Client, id string) string
}

// Workspace returns the workspace of the moments of a report, if they are of one, else that of the client. It reports whether the
// client is in it.
func Workspace(moments Moments, client *checkpoint.Client, names ...string) (workspace string, inside bool) {
	scope := client.Scope
	for _, name := range names {
		if name == "" {
			continue
		}
		of := moments.Workspace(client, name)
		if of != "" && workspace != "" && of != workspace {
			return scope.Workspace, scope.Workspace != ""
		}
		workspace = cmp.Or(workspace, of)
	}
	return cmp.Or(workspace, scope.Workspace), scope.Workspace != "" && event.Within(workspace, scope.Workspace)
}

// Last returns when a file was changed last, in milliseconds since the Unix epoch, or the time before which that was not. It is 0
// for never. What programs make does not count: a development server writes files of its own after an update.
func Last(v *capture.View, covers func(event.Subject) bool) (at int64) {
	for _, e := range v.Files().From(0) {
		if covers(e.Subject) && cause.IsWritten(e) {
			at = max(at, cmp.Or(e.Edited, e.Since))
		}
	}
	return at
}
