package viewer

import (
	"context"
	"net/http"
	"strconv"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/sessiontree"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// session returns a method about a session, which the user's own programs may call.
func session[P, A any](m Method, call func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p P) (*A, error)) *Method {
	m.Tag = "sessions"
	m.Statuses = append(m.Statuses, http.StatusNotFound)
	return method(m, func(v *Viewer, ctx context.Context, p P) (*A, error) {
		return call(timeline.Requests{Timeline: v.moments}, ctx, clients.Viewer(checkpoint.Scope{}), p)
	})
}

// sessionMethods are the specification's requests about sessions.
var sessionMethods = []*Method{
	session(Method{
		Name: "view_sessions", Route: "GET /v1/sessions", Operation: "sessions",
		Summary: "Sessions, the newest first",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.SessionsParams) (*answers.Sessions, error) {
		return t.Sessions(ctx, user, timeline.SessionsParams{Dir: p.Workspace})
	}),
	session(Method{
		Name: "view_session", Route: "GET /v1/sessions/{id}", Operation: "session",
		Summary: "A session with the newest part of its timeline",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.SessionParams) (*answers.SessionDetail, error) {
		return t.Detail(ctx, user, timeline.SessionParams{Where: moments.Where{Session: p.ID}})
	}),
	session(Method{
		Name: "view_session_timeline", Route: "GET /v1/sessions/{id}/timeline", Operation: "session-timeline",
		Summary: "Moments of a session and their file snapshots, by time",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.SessionTimelineParams) (*answers.List, error) {
		return t.ListFrom(ctx, user, timeline.ListParams{Where: moments.Where{Session: p.ID}, Kinds: p.Kinds, After: p.After, Before: p.Before, Limit: p.Limit})
	}),
	session(Method{
		Name: "view_snapshots", Route: "GET /v1/sessions/{id}/fs-snapshots", Operation: "fs-snapshots",
		Summary: "All file snapshots of a session's workspace, with what refers to them",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.SessionParams) (*answers.SnapshotList, error) {
		return t.FsSnapshots(ctx, user, timeline.SessionParams{Where: moments.Where{Session: p.ID}})
	}),
	session(Method{
		Name: "view_snapshot_add", Route: "POST /v1/sessions/{id}/fs-snapshots", Operation: "add-fs-snapshot", Created: true, Statuses: []int{http.StatusConflict},
		Summary: "Take a file snapshot near a time, with a moment",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.MomentAddParams) (*answers.AddedSnapshot, error) {
		return t.AddSnapshot(ctx, user, added(p))
	}),
	session(Method{
		Name: "view_moment_add", Route: "POST /v1/sessions/{id}/moments", Operation: "add-moment", Created: true, Statuses: []int{http.StatusConflict},
		Summary: "Add a moment at or near a time",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.MomentAddParams) (*answers.Added, error) {
		a := added(p)
		if a.Label == "" {
			a.Label = "moment"
		}
		return t.Add(ctx, user, a)
	}),
	session(Method{
		Name: "view_seek", Route: "POST /v1/sessions/{id}/seek", Operation: "seek",
		Summary: "Make a read-only directory with all files of a moment; it exists for an hour",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.SeekParams) (*answers.Sought, error) {
		to, err := oneOf("ts", p.TS, p.FsSnapshot, p.Moment)
		if err != nil {
			return nil, err
		}
		return t.Seek(ctx, user, timeline.SeekParams{Where: moments.Where{Session: p.ID}, To: to})
	}),
	method(Method{
		Name: "view_session_branch", Route: "POST /v1/sessions/{id}/session-branch", Operation: "session-branch", Tag: "sessions", Created: true,
		Statuses: []int{http.StatusConflict, http.StatusNotFound},
		Summary:  "Create a session with a writable copy of a moment's files; with a message, start its agent with the conversation as of the moment. A long copy answers 200 with its plan, unless confirm is true.",
	}, func(v *Viewer, ctx context.Context, p protocol.SessionBranchParams) (*answers.Branched, error) {
		from, err := oneOf("fromTs", p.FromTS, p.FsSnapshot, p.Moment)
		if err != nil {
			return nil, err
		}
		return v.branches.Start(ctx, clients.Viewer(checkpoint.Scope{}), branches.Params{Where: moments.Where{Session: p.ID}, From: from, Name: p.Name, Message: p.Message, Agent: p.Agent, Confirm: p.Confirm})
	}),
	method(Method{
		Name: "view_session_compare", Route: "GET /v1/sessions/{id}/compare", Operation: "session-compare", Tag: "sessions", Statuses: notFound,
		Summary: "What became of a branch beside its original or another branch: the browser, files, tests, calls, tokens and time",
	}, func(v *Viewer, ctx context.Context, p protocol.SessionCompareParams) (*branches.Comparison, error) {
		return v.branches.Compare(ctx, clients.Viewer(checkpoint.Scope{}), branches.CompareParams{Where: moments.Where{Session: p.ID}, A: p.ID, B: p.With})
	}),
	session(Method{
		Name: "view_session_diff", Route: "GET /v1/sessions/{id}/diff", Operation: "session-diff",
		Summary: "What changed in the files between two moments, secrets masked",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.SessionDiffParams) (*answers.Difference, error) {
		return t.Diff(ctx, user, timeline.DiffParams{Where: moments.Where{Session: p.ID}, From: p.From, To: p.To, Paths: given(p.Path)})
	}),
	session(Method{
		Name: "view_session_blame", Route: "GET /v1/sessions/{id}/blame", Operation: "session-blame",
		Summary: "Find the moment, the agent's call and the prompt that last changed each line of a file",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.SessionBlameParams) (*answers.Blamed, error) {
		return t.Blame(ctx, user, timeline.BlameParams{Where: moments.Where{Session: p.ID}, Path: p.Path, Line: p.Line, Last: p.Last, At: p.At})
	}),
	method(Method{
		Name: "view_session_tree", Route: "GET /v1/sessions/{id}/tree", Operation: "session-tree", Tag: "sessions", Statuses: notFound,
		Summary: "Prompts of a session, the newest calls that followed, the files that each changed, and the browser's report after it",
	}, func(v *Viewer, ctx context.Context, p protocol.SessionParams) (*sessiontree.Tree, error) {
		return v.trees.View(ctx, clients.Viewer(checkpoint.Scope{}), p.ID)
	}),
	method(Method{
		Name: "view_recorded_call", Route: "GET /v1/recordings/{recording}/call", Operation: "recorded-call", Tag: "sessions", Statuses: notFound,
		Summary: "Input and output of a recorded call, secrets masked",
	}, func(v *Viewer, ctx context.Context, p protocol.SessionCallParams) (*sessiontree.Content, error) {
		return v.trees.Content(ctx, clients.Viewer(checkpoint.Scope{}), p.Recording, p.Call)
	}),
	method(Method{
		Name: "view_session_regression", Route: "GET /v1/sessions/{id}/regression", Operation: "session-regression", Tag: "sessions", Statuses: notFound,
		Summary: "Find the first moment after which the browser reported errors, from what was recorded",
	}, func(v *Viewer, ctx context.Context, p protocol.SessionRegressionParams) (*regression.Regression, error) {
		return v.regressions.Find(ctx, clients.Viewer(checkpoint.Scope{}), regression.Params{Where: moments.Where{Session: p.ID}, From: p.From, To: p.To})
	}),
	session(Method{
		Name: "view_session_restore", Route: "POST /v1/sessions/{id}/restore", Operation: "session-restore",
		Statuses: []int{http.StatusConflict},
		Summary:  "Set the files back to a moment, after a safety snapshot; without confirm, the plan",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.SessionRestoreParams) (*answers.Restored, error) {
		return t.Operations.Restore(ctx, user, operations.RestoreParams{Where: moments.Where{Session: p.ID}, To: p.Moment, Paths: p.Paths, Confirm: p.Confirm, Plan: p.Plan, Leave: p.Leave})
	}),
	session(Method{
		Name: "view_session_undo", Route: "POST /v1/sessions/{id}/undo", Operation: "session-undo",
		Statuses: []int{http.StatusConflict},
		Summary:  "Undo a restore, or remove a branch",
	}, func(t timeline.Requests, ctx context.Context, user *checkpoint.Client, p protocol.SessionUndoParams) (*answers.Restored, error) {
		return t.Operations.Undo(ctx, user, operations.UndoParams{Where: moments.Where{Session: p.ID}, Operation: p.Operation, Confirm: true, Leave: p.Leave})
	}),
}

func added(p protocol.MomentAddParams) timeline.AddParams {
	return timeline.AddParams{Where: moments.Where{Session: p.ID}, Label: p.Label, TS: p.TS, Kind: p.Kind, WaitFence: p.WaitFence}
}

// given returns a list of a path, nil for "".
func given(path string) []string {
	if path == "" {
		return nil
	}
	return []string{path}
}

// oneOf returns the moment that one of three parameters names. Name is that of the first.
func oneOf(name string, ts *float64, snapshot, moment string) (string, error) {
	var given []string
	if ts != nil {
		given = append(given, strconv.FormatFloat(min(*ts, records.MaxSeconds), 'f', -1, 64))
	}
	for _, s := range []string{snapshot, moment} {
		if s != "" {
			given = append(given, s)
		}
	}
	if len(given) != 1 {
		return "", usererr.Invalid("name one of %s, fsSnapshotId and moment", name)
	}
	return given[0], nil
}

// PopupMoment adds a moment in all open workspaces.
func (v *Viewer) PopupMoment(ctx context.Context, p protocol.PopupMomentParams) (*protocol.PopupMomentResult, error) {
	return timeline.Requests{Timeline: v.moments}.AddEverywhere(ctx, clients.Viewer(checkpoint.Scope{}), p.Label)
}
