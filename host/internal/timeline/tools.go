package timeline

import (
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// Tools are those of agents.
var Tools = []*tool.Tool[*Timeline]{
	tool.New(tool.Definition{
		Name: "timeline_list", Title: "List moments", Effect: tool.Reads,
		Description: "List the moments of this session with their file snapshots: prompts, edits, commands, checkpoints.",
		Arguments: `"session":{"type":"string"},
			"kinds":{"type":"array","items":{"type":"string"},"description":"edit, prompt, command, checkpoint, stop, user"},
			"after":{"type":"string","description":"moment"},
			"limit":{"type":"integer"}`,
	}, (*Timeline).List),
	tool.New(tool.Definition{
		Name: "moment_add", Title: "Add a moment", Effect: tool.Adds,
		Description: "Mark this moment and take a file snapshot.",
		Arguments: `"label":{"type":"string"},
			"session":{"type":"string"}`,
		Required: []string{"label"},
	}, (*Timeline).Add),
	tool.New(tool.Definition{
		Name: "timeline_seek", Title: "View files of a moment", Effect: tool.Adds,
		Description: "Get a read-only directory with all files of a moment. It exists for an hour.",
		Arguments:   `"to":{"type":"string","description":"` + moments.Argument + `"}`,
		Required:    []string{"to"},
	}, (*Timeline).Seek),
	tool.New(tool.Definition{
		Name: "timeline_diff", Title: "Compare moments", Effect: tool.Adds,
		Description: "Show how files changed between two moments, as a unified diff.",
		Arguments: `"from":{"type":"string","description":"` + moments.Argument + `"},
			"to":{"type":"string","description":"default now"},
			"paths":{"type":"array","items":{"type":"string"}}`,
		Required: []string{"from"},
	}, (*Timeline).Diff),
	tool.New(tool.Definition{
		Name: "timeline_blame", Title: "Blame a line", Effect: tool.Adds,
		Description: "Find the moment that last changed a line.",
		Arguments: `"path":{"type":"string"},
			"line":{"type":"integer"}`,
		Required: []string{"path", "line"},
	}, (*Timeline).Blame),
}

// UserTools are those of the user's own programs, beside those of agents.
var UserTools = []*tool.Tool[*Timeline]{
	tool.New(tool.Definition{Name: "session_list"}, (*Timeline).Sessions),
	tool.New(tool.Definition{Name: "session_start"}, (*Timeline).StartSession),
	tool.New(tool.Definition{Name: "session_show"}, (*Timeline).Session),
	tool.New(tool.Definition{Name: "session_end"}, (*Timeline).EndSession),
	tool.New(tool.Definition{Name: "fs_snapshot_add"}, func(t *Timeline, ctx context.Context, client *checkpoint.Client, p AddParams) (*answers.AddedSnapshot, error) {
		return Requests{t}.AddSnapshot(ctx, client, p)
	}),
	tool.New(tool.Definition{Name: "moment_show"}, func(t *Timeline, ctx context.Context, client *checkpoint.Client, p ShowParams) (*Shown, error) {
		return Show(ctx, t, client, p)
	}),
	tool.New(tool.Definition{Name: "terminal_command"}, func(t *Timeline, ctx context.Context, client *checkpoint.Client, p CommandParams) (*Commanded, error) {
		return command(ctx, t, client, p)
	}),
	tool.New(tool.Definition{Name: "timeline_check"}, (*Timeline).Check),
	tool.New(tool.Definition{Name: "timeline_providers"}, func(t *Timeline, ctx context.Context, client *checkpoint.Client, p SessionParams) (*workspace.Matrix, error) {
		return providers(ctx, t, client, p)
	}),
	tool.New(tool.Definition{Name: "timeline_prune"}, (*Timeline).Prune),
	tool.New(tool.Definition{Name: "timeline_usage"}, (*Timeline).Usage),
	tool.New(tool.Definition{Name: "workspace_origin"}, func(t *Timeline, _ context.Context, _ *checkpoint.Client, p DirParams) (*Origin, error) {
		return originOf(t, p.Dir)
	}),
	tool.New(tool.Definition{Name: "workspace_deny"}, func(t *Timeline, _ context.Context, _ *checkpoint.Client, p DirParams) (*struct{}, error) {
		if t.lines.Failed() != nil {
			return nil, t.lines.Failed()
		}
		return &struct{}{}, t.o.Workspaces.DenyUnsaved(p.Dir)
	}),
	tool.New(tool.Definition{Name: "workspace_move"}, func(t *Timeline, ctx context.Context, _ *checkpoint.Client, p MoveParams) (*Moved, error) {
		return move(ctx, t, p)
	}),
}

// SessionsParams are the parameters of session_list. Without a directory all sessions are listed.
type SessionsParams struct {
	Dir string `json:"dir"`
}

// Sessions lists the sessions of a workspace, or all.
func (t *Timeline) Sessions(_ context.Context, client *checkpoint.Client, p SessionsParams) (*answers.Sessions, error) {
	if t.lines.Failed() != nil {
		return nil, t.lines.Failed()
	}
	root := ""
	if p.Dir != "" {
		var err error
		if root, err = moments.RecordedIn(t.lines, client, moments.Where{Dir: p.Dir}); err != nil {
			return nil, err
		}
	}
	a := &answers.Sessions{Sessions: []answers.About{}}
	for _, s := range slices.Backward(t.sessions.All()) {
		if root == "" || s.Workspace == root {
			about := t.lines.About(s)
			about.Latest = moments.Latest(t.lines, s)
			a.Sessions = append(a.Sessions, about)
		}
	}
	return a, nil
}

// SessionParams are the parameters of calls about one session.
type SessionParams struct{ moments.Where }

// Session describes a session.
func (t *Timeline) Session(_ context.Context, client *checkpoint.Client, p SessionParams) (*answers.About, error) {
	s, _, err := t.lines.Recorded(client, p.Where)
	if err != nil {
		return nil, err
	}
	a := t.lines.About(s)
	return &a, nil
}

// StartSession returns the open session of a workspace, and begins one if there is none.
func (t *Timeline) StartSession(ctx context.Context, client *checkpoint.Client, p SessionParams) (*answers.About, error) {
	if t.lines.Failed() != nil {
		return nil, t.lines.Failed()
	}
	root, err := t.lines.RootOf(client, p.Where)
	if err != nil {
		return nil, err
	}
	s := t.sessions.Open(root)
	if s == nil {
		if err := t.Begin(ctx, root); err != nil {
			return nil, err
		}
		s = t.sessions.Open(root)
	}
	a := t.lines.About(s)
	return &a, nil
}

// Begin begins a session in the workspace of a directory. Where one is open, it goes on: changes are watched again.
func (t *Timeline) Begin(ctx context.Context, dir string) error {
	if t.lines.Failed() != nil {
		return t.lines.Failed()
	}
	root, err := t.lines.RootAt(dir)
	if err != nil {
		return err
	}
	if t.sessions.Open(root) != nil {
		if t.o.Workspaces.Watched(root) {
			return nil
		}
		return recordFiles(ctx, t, root)
	}
	_, err = t.Record(ctx, root, records.Moment{Label: "session started", Source: records.FromStart})
	return err
}

// BeginSoon is [Timeline.Begin] that does not wait, for an agent that connects. Without a directory it does nothing.
func (t *Timeline) BeginSoon(dir string) {
	if t.lines.Failed() != nil || dir == "" {
		return
	}
	_ = t.lines.Start(func() { // otherwise the daemon is stopping
		if err := t.Begin(t.lines.Life(), dir); err != nil && usererr.CodeOf(err) != usererr.NotAllowed && t.lines.Life().Err() == nil {
			t.o.Log.Warn("cannot begin a session", "workspace", dir, "error", err)
		}
	})
}

// EndSession ends a session, with a last snapshot where its workspace still exists.
func (t *Timeline) EndSession(ctx context.Context, client *checkpoint.Client, p SessionParams) (*answers.About, error) {
	s, l, err := t.lines.Recorded(client, p.Where)
	if err != nil {
		return nil, err
	}
	if !s.Ended.IsZero() {
		return nil, usererr.New(usererr.NotFound, "session %s has ended already, at %s", s.ID, report.Time{Time: s.Ended})
	}
	if err := t.lines.End(ctx, s, l); err != nil {
		return nil, err
	}
	s, err = t.sessions.Find(s.ID)
	if err != nil {
		return nil, err
	}
	a := t.lines.About(s)
	return &a, nil
}

// Checked is what a check of the snapshots found.
type Checked struct {
	Workspace string `json:"workspace"`
	// Damages are one line each; none means that everything is whole.
	Damages []string `json:"damages"`
}

// Check reads everything that the snapshots of a workspace need.
func (t *Timeline) Check(ctx context.Context, client *checkpoint.Client, p SessionParams) (*Checked, error) {
	s, l, err := t.lines.Recorded(client, p.Where)
	if err != nil {
		return nil, err
	}
	w, err := t.lines.OpenRecorded(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	damages, err := w.Check()
	if err != nil {
		return nil, err
	}
	known, err := t.lines.Snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	a := &Checked{Workspace: s.Workspace, Damages: append([]string{}, damages...)}
	for _, m := range l.All() {
		if m.Snapshot != 0 && !m.Pruned && moments.Lost(m, known) != "" {
			a.Damages = append(a.Damages, m.ID()+": "+moments.Lost(m, known))
		}
	}
	return a, nil
}

// providers returns the ways to take snapshots of a workspace, in which nothing need be recorded yet.
func providers(ctx context.Context, t *Timeline, client *checkpoint.Client, p SessionParams) (*workspace.Matrix, error) {
	root, err := moments.WorkspaceOf(t.lines, client, p.Where)
	if err != nil {
		return nil, err
	}
	if _, err := t.lines.Open(ctx, root); err != nil {
		return nil, err
	}
	workspace.Renew(t.o.Workspaces, root)
	w, err := t.lines.Open(ctx, root)
	if err != nil {
		return nil, err
	}
	return w.Providers(ctx)
}
