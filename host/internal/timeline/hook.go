package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// hookPatience bounds how long an agent waits until its moment is recorded. The recording continues after that.
const hookPatience = 50 * time.Millisecond

// maxTranscriptPath bounds the path of a transcript in bytes.
const maxTranscriptPath = 4096

// HookMoment is what an agent's hook reports.
type HookMoment struct {
	// Dir is the agent's working directory.
	Dir string `json:"dir"`
	// Source is what happened: [records.FromStart], [records.FromPrompt], [records.FromEdit], [records.FromCommand], [records.FromStop] or a milestone.
	Source string         `json:"source"`
	Label  string         `json:"label"`
	Anchor answers.Anchor `json:"anchor"`
	// Exit is the exit status of a command, nil where the agent does not report one.
	Exit *int `json:"exit,omitempty"`
	// Happened is when that was, if no daemon recorded it then. The moment is that of the report, because its snapshot is.
	Happened time.Time `json:"-"`
}

// hookSources are the sources that a hook may report.
var hookSources = append([]string{records.FromStart, records.FromPrompt, records.FromEdit, records.FromCommand, records.FromStop}, records.Milestones()...)

// Hook records a moment of an agent, and returns what became of it. It never fails: an agent must not notice what prevents
// the recording.
func (t *Timeline) Hook(ctx context.Context, h HookMoment) string {
	switch {
	case t.lines.Failed() != nil:
		return "no moment was recorded: " + t.lines.Failed().Error()
	case h.Dir == "" || !slices.Contains(hookSources, h.Source):
		return "no moment was recorded: the agent sent no directory, or an unknown event"
	}
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	anchor := h.Anchor
	if len(anchor.Transcript) > maxTranscriptPath {
		anchor.Transcript = ""
	}
	for _, text := range []*string{&anchor.Agent, &anchor.Session, &anchor.Message, &anchor.Turn} {
		*text = t.lines.Label(*text)
	}
	moment := records.Moment{Label: h.Label, Source: h.Source, Anchor: (*records.Anchor)(&anchor), Exit: h.Exit}
	if !h.Happened.IsZero() {
		moment.Notes = fmt.Sprintf("it was at %s, when no daemon recorded it", h.Happened.Local().Format(time.DateTime))
	}
	m, err := t.Record(ctx, h.Dir, moment)
	switch {
	case err == nil:
		return "moment " + m.ID() + " of " + m.Session + " was recorded"
	case ctx.Err() != nil:
		return err.Error()
	case usererr.CodeOf(err) != usererr.NotAllowed:
		t.o.Log.Warn("cannot record an agent's moment", "directory", h.Dir, "error", err)
	}
	return "no moment was recorded: " + err.Error()
}

// Root returns the workspace that a directory is in, "" for none and where the user does not allow it.
func (t *Timeline) Root(dir string) string {
	if t.lines.Failed() != nil || dir == "" {
		return ""
	}
	root, err := t.o.Workspaces.Root(dir)
	if err != nil {
		return ""
	}
	return root
}

// Allows reports whether the user allows what was recorded in a workspace. It still does for one that was deleted.
func (t *Timeline) Allows(root string) bool {
	if t.lines.Failed() != nil {
		return true // nothing is recorded, and what was before is not this timeline's
	}
	_, err := t.o.Workspaces.Root(root)
	return err == nil || usererr.CodeOf(err) != usererr.NotAllowed
}

// Others returns the other workspaces that the user allows.
func Others(t *Timeline, root string) []string {
	if t.lines.Failed() != nil {
		return nil
	}
	return t.o.Workspaces.Others(root)
}

// Sync returns when the changes that were made in a workspace before the call are recorded: in a snapshot with a moment of
// its own, and as changes of files. It implements [observe.Workspaces]. A directory that the user does not allow is not
// recorded, which is an error only where the user allowed it a short time ago.
func (t *Timeline) Sync(ctx context.Context, dir string) (recorded bool, err error) {
	if t.lines.Failed() != nil {
		return false, nil
	}
	root, err := t.o.Workspaces.Root(dir)
	if err != nil {
		return false, revoked(t, dir, err) // nothing is recorded there, or it no longer exists
	}
	if !t.o.Workspaces.Watched(root) {
		t.BeginSoon(root)
		return false, errors.New("the files of the workspace are being read for the first time")
	}
	return true, recordFiles(ctx, t, root)
}

// recordFiles records what has changed in a workspace, with a moment of its own.
func recordFiles(ctx context.Context, t *Timeline, root string) error {
	if _, err := t.Record(ctx, root, records.Moment{Label: "files changed", Source: records.FromFiles}); err != nil {
		return err
	}
	return t.o.Workspaces.Flush(ctx)
}

// revoked returns an error where the user no longer allows a directory in which something was recorded lately: what changes
// there from then on is not seen.
func revoked(t *Timeline, dir string, err error) error {
	if usererr.CodeOf(err) != usererr.NotAllowed {
		return nil
	}
	resolved, err := grants.Resolve(dir)
	if err != nil {
		return nil
	}
	s := t.sessions.Last(func(s *records.Session) bool { return s.Ended.IsZero() && grants.Within(resolved, s.Workspace) })
	if s == nil {
		return nil
	}
	l, err := t.lines.Line(s.Workspace)
	if err != nil {
		return nil
	}
	if all := l.All(); len(all) == 0 || t.o.Clock().Sub(all[len(all)-1].At) > moments.SessionGap {
		return nil
	}
	return errors.New("the user no longer allows Tidemark to watch " + grants.Printable(s.Workspace))
}
