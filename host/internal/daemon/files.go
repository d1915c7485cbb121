package daemon

import (
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// composeFiles makes what observes the files of workspaces. The returned function ends it, after the last request.
func (d *daemon) composeFiles(redactor *redact.Redactor) (end func()) {
	d.workspaces = workspace.New(workspace.Options{
		Grants: &grants.Store{File: d.home.Grants(), Lock: d.home.LockGrants, Own: []string{d.home.State, filepath.Dir(d.home.Config)}, Clock: time.Now},
		Dir:    d.home.Workspaces(), Redactor: redactor, Settings: d.config.Snapshots, Clock: time.Now, Log: d.log,
	})
	t, notice, err := timeline.Open(timeline.Options{
		Path: d.home.Timeline(), Branches: d.home.Branches(), Workspaces: d.workspaces, Settings: d.config.Timeline, Clock: time.Now, Log: d.log,
		Clean: func(text string) string {
			text, _ = redactor.Text(event.Clean(text))
			return text
		},
	})
	if notice != "" {
		d.log.Error(notice)
	}
	if err != nil {
		d.log.Error("cannot open the timeline, so nothing of workspaces is recorded", "error", err)
		t = timeline.Broken(err)
	}
	d.timeline = t
	if d.conversations, err = conversation.Open(conversation.Options{
		Dir: d.home.Recordings(), Root: d.workspaces.Root, Redactor: redactor, Settings: d.config.Recordings,
		Spool: &conversation.Spool{Path: d.home.Spool(), Lock: d.home.LockSpool}, Clock: time.Now, Log: d.log,
	}); err != nil {
		d.log.Error("cannot open the recordings, so no conversation is recorded", "error", err)
		d.conversations = conversation.Broken(err)
	}
	return func() {
		d.conversations.Close()
		if err := t.Close(); err != nil {
			d.log.Warn("the timeline did not close cleanly", "error", err)
		}
	}
}
