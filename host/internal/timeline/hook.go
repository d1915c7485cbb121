package timeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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

// maxEvent bounds what tells an event from others, in bytes.
const maxEvent = 64

// HookMoment is what an agent's hook reports.
type HookMoment struct {
	// Dir is the agent's working directory.
	Dir string `json:"dir"`
	// Source is what happened: [records.FromStart], [records.FromPrompt], [records.FromEdit], [records.FromCommand], [records.FromStop] or a milestone.
	Source string `json:"source"`
	Label  string `json:"label"`
	// Files are those that the label names, with commas between, relative to Dir if they are in it.
	Files  []string       `json:"files,omitempty"`
	Anchor answers.Anchor `json:"anchor"`
	// Exit is the exit status of a command, nil where the agent does not report one.
	Exit *int `json:"exit,omitempty"`
	// Event tells the hook's event from others, "" where the hook does not send that. One that arrives twice is one moment.
	Event string `json:"event,omitempty"`
	// Inside is the recording of a terminal in which the hook says that it runs.
	Inside Inside `json:"-"`
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
	now := placeNow()
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	anchor := h.Anchor
	if len(anchor.Transcript) > maxTranscriptPath {
		anchor.Transcript = ""
	}
	for _, text := range []*string{&anchor.Agent, &anchor.Session, &anchor.Message, &anchor.Turn} {
		*text = t.lines.Label(*text)
	}
	moment := records.Moment{Label: labelOf(t, &h), Source: h.Source, Anchor: (*records.Anchor)(&anchor), Exit: h.Exit, Event: h.Event}
	if len(moment.Event) > maxEvent {
		moment.Event = ""
	}
	if !h.Happened.IsZero() {
		moment.Notes = fmt.Sprintf("it was at %s, when no daemon recorded it", h.Happened.Local().Format(time.DateTime))
	}
	then, inside := placer(t, &h, now)
	moment.Placing = inside
	m, err := moments.RecordThen(ctx, t.lines, h.Dir, moment, then)
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

// labelOf returns the label of an agent's moment, with its files as their workspace names them. Others keep the names that they have.
func labelOf(t *Timeline, h *HookMoment) string {
	root := t.Root(h.Dir)
	dir, err := grants.Resolve(h.Dir)
	if root == "" || err != nil || len(h.Files) == 0 {
		return h.Label
	}
	files := slices.Clone(h.Files)
	for i, file := range files {
		if file = filepath.FromSlash(file); !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		for _, name := range []string{file, withoutLinks(file)} {
			if path, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(path) {
				files[i] = filepath.ToSlash(path)
				break
			}
		}
	}
	return strings.Replace(h.Label, strings.Join(h.Files, ", "), strings.Join(files, ", "), 1)
}

// withoutLinks returns the path of a file, which need not exist, through none of the links on the way to it.
func withoutLinks(file string) string {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if at, err := grants.Resolve(dir); err == nil {
			return filepath.Join(at, strings.TrimPrefix(file, dir))
		}
		if dir == filepath.Dir(dir) {
			return file
		}
	}
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
	for _, inner := range t.o.Workspaces.Dirs() { // a report on a workspace is on those in it too
		if inner != root && grants.Within(inner, root) {
			if err := recordFiles(ctx, t, inner); err != nil && t.Root(inner) == inner {
				return true, err
			}
		}
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
