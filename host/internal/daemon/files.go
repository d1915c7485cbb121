package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// composeFiles makes what observes the files of workspaces. Captured has what was recorded of them. The returned function ends it,
// after the last request.
func (d *daemon) composeFiles(captured *capture.Store, redactor *redact.Redactor) (end func()) {
	d.workspaces = workspace.New(workspace.Options{
		Grants: &grants.Store{File: d.home.Grants(), Lock: d.home.LockGrants, Own: []string{d.home.State, filepath.Dir(d.home.Config)}, Clock: time.Now},
		Dir:    d.home.Workspaces(), Redactor: redactor, Settings: d.config.Snapshots, Clock: time.Now, Age: d.age, Log: d.log,
		Server:   server(d.log),
		Recorded: func(root string) (uint64, time.Time) { return capture.Recorded(captured, root) },
	})
	for _, dir := range []string{d.home.Workspaces(), d.home.Branches()} {
		d.workspaces.Heal(dir)
	}
	t, notice, err := timeline.Open(timeline.Options{
		Uncommit: gitrepo.DeleteBranch, Committed: gitrepo.IsAt, Recommit: gitrepo.CreateBranch,
		Path: d.home.Timeline(), Branches: d.home.Branches(), Workspaces: d.workspaces,
		Terminals: recording.Store{Dir: d.home.Terminals()}, TerminalPolicy: d.config.Terminals.Policy(), Settings: d.config.Timeline, Long: d.config.Branches.Long(), Clock: time.Now, Log: d.log,
		Clean: func(text string) string {
			text, _ = redactor.Text(event.Clean(text))
			return text
		},
	})
	if notice != "" {
		d.journal.notice(notice)
	}
	if err != nil {
		d.log.Error("cannot open the timeline, so nothing of workspaces is recorded", "error", err)
		d.unrecorded = append(d.unrecorded, fmt.Sprintf("Nothing of workspaces is recorded: %v", err))
		t = timeline.Broken(err)
	}
	d.timeline = t
	if d.conversations, err = conversation.Open(conversation.Options{
		Dir: d.home.Recordings(), Root: d.workspaces.Root, Decided: func(path string) grants.Decision { return workspace.Decided(d.workspaces, path) }, Redactor: redactor, Settings: d.config.Recordings,
		Formerly: func(dir string) []string { return timeline.Formerly(t, dir) }, Spool: spool(d.home), Late: d.late, Clock: time.Now, Age: d.age, Log: d.log,
	}); err != nil {
		d.log.Error("cannot open the recordings, so no conversation is recorded", "error", err)
		d.unrecorded = append(d.unrecorded, fmt.Sprintf("No conversations are recorded: cannot open the recordings: %v", err))
		d.conversations = conversation.Broken(err)
	}
	return func() {
		d.conversations.Close()
		if err := t.Close(); err != nil {
			d.log.Warn("the timeline did not close cleanly", "error", err)
		}
	}
}

// late records a moment that a hook reported while no daemon answered.
func (d *daemon) late(moment json.RawMessage, at time.Time) {
	var h timeline.HookMoment
	if err := json.Unmarshal(moment, &h); err != nil {
		d.log.Warn("cannot read a moment in the spool of hooks", "error", err)
		return
	}
	h.Happened = at
	d.timeline.Hook(context.Background(), h)
}

// server is the command line that serves a mounted snapshot: this program.
func server(log *slog.Logger) []string {
	if program := program(log); program != "" {
		return []string{program, workspace.ServeSnapshot}
	}
	return nil
}

// program returns the path of this program, "" where it is not known.
func program(log *slog.Logger) string {
	program, err := os.Executable()
	if err != nil {
		log.Warn("snapshots are copied and not mounted, and agents see branches at their own path: the path of this program is not known", "error", err)
		return ""
	}
	return program
}

// spool is where hooks keep what they report while no daemon runs.
func spool(h home.Home) *conversation.Spool {
	return &conversation.Spool{Path: filepath.Join(h.Recordings(), conversation.SpoolName), Lock: func(ctx context.Context) (func(), error) { return home.LockSpool(ctx, h) }}
}

// Spool keeps an event of an agent for the next daemon. Without the user's grants for its directory, the error has the code
// [usererr.NotAllowed]. Secrets in it are masked by the rules of the settings.
func Spool(ctx context.Context, h home.Home, e conversation.Event) error {
	decisions := &grants.Store{File: h.Grants()}
	dir, err := original(h, decisions, e.Dir)
	if err != nil {
		return err
	}
	for _, grant := range []string{grants.Workspace, grants.Conversation} {
		if _, err := decisions.RequireFormer(dir, grant); err != nil {
			return err
		}
	}
	config, err := ReadConfig(h.Config)
	if err != nil {
		return err
	}
	redactor, err := config.Redactor()
	if err != nil {
		return err
	}
	e.At = time.Now().UnixMilli()
	e.Withhold(func(path string) grants.Decision {
		d := grants.Decision{State: grants.Denied}
		if path, err := original(h, decisions, path); err == nil {
			if found, err := decisions.LookupFormer(path); err == nil {
				d = found
			}
		}
		return d
	})
	return spool(h).Add(ctx, e, redactor)
}

// original returns the path whose decision is that of another one, without asking a daemon. For what is in a branch it is that of the
// original, unless the user decided about the branch: the directory above branches has the name of the workspace that they come from.
func original(h home.Home, decisions *grants.Store, path string) (string, error) {
	path, err := grants.Former(path)
	if err != nil {
		return "", err
	}
	top, err := grants.Former(h.Branches())
	if err != nil {
		return "", err
	}
	top += string(filepath.Separator)
	all, err := decisions.All()
	if err != nil {
		return "", err
	}
	for strings.HasPrefix(path, top) && !slices.ContainsFunc(all, func(d grants.Decision) bool { return strings.HasPrefix(d.Dir, top) && grants.Within(path, d.Dir) }) {
		parts := strings.SplitN(strings.TrimPrefix(path, top), string(filepath.Separator), 3) // the workspace, the branch, what is in it
		origins, err := filepath.Glob(top + "*" + string(filepath.Separator) + "*")           // of branches of branches
		if err != nil {
			return "", err
		}
		for _, d := range all {
			origins = append(origins, d.Dir)
		}
		i := slices.IndexFunc(origins, func(dir string) bool { return workspace.ID(dir) == parts[0] })
		if i < 0 {
			break
		}
		path = filepath.Join(append([]string{origins[i]}, parts[min(2, len(parts)):]...)...)
	}
	return path, nil
}
