package timeline_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestTheSnapshotsOfADeletedWorkspaceAreRead: each answer says that the directory is missing, whether the daemon had the workspace open
// or was started later.
func TestTheSnapshotsOfADeletedWorkspaceAreRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not delete a directory that is watched")
	}
	w := timelinetest.New(t)
	w.Write("src/a", "one\n")
	first := w.Edit("Write src/a")
	w.Write("src/a", "one\ntwo\n")
	second := w.Edit("Edit src/a")
	session := w.Listed().ID
	if err := os.RemoveAll(w.Dir); err != nil {
		t.Fatal(err)
	}
	where := moments.Where{Session: session}
	agent := &checkpoint.Client{Name: "claude", Scope: checkpoint.Scope{Workspace: w.Dir}}
	missing := func(problem string) {
		t.Helper()
		if problem != "the workspace "+w.Dir+" no longer exists." {
			t.Errorf("it says %q", problem)
		}
	}
	for _, state := range []string{"open", "restarted"} {
		t.Run(state, func(t *testing.T) {
			if state == "restarted" {
				w.Restart()
			}
			a, err := w.List(t.Context(), agent, timeline.ListParams{})
			if err != nil || len(a.FsSnapshots) != 2 || !strings.Contains(a.Problem, "no longer exists") {
				t.Errorf("%+v, %v", a, err)
			}
			shown, err := timeline.Show(t.Context(), w.Timeline, agent, timeline.ShowParams{Moment: second.ID()})
			if err != nil || shown.Diff == nil || !strings.Contains(shown.Diff.Text, "+two") {
				t.Fatalf("%+v, %v", shown, err)
			}
			missing(shown.Problem)
			if shown.Diff.Problem != "" {
				t.Error("it is said twice")
			}
			d, err := w.Diff(t.Context(), agent, timeline.DiffParams{From: first.ID(), Paths: []string{"src"}})
			if err != nil || d.To.FsSnapshot != "s2" || !strings.Contains(d.To.Note, "s2 is the last snapshot") || d.Added != 1 {
				t.Fatalf("%+v, %v", d, err)
			}
			missing(d.Problem)
			b, err := w.Blame(t.Context(), agent, timeline.BlameParams{Path: "src/a", Line: 1, Last: 2})
			if err != nil || len(b.Lines) != 2 || b.Lines[1].Moment != second.ID() {
				t.Fatalf("%+v, %v", b, err)
			}
			missing(b.Problem)
			s, err := w.Seek(t.Context(), agent, timeline.SeekParams{To: first.ID()})
			if err != nil || w.Read(filepath.Join(s.Mount, "src/a")) != "one\n" {
				t.Fatalf("%+v, %v", s, err)
			}
			missing(s.Problem)
			if all, err := (timeline.Requests{Timeline: w.Timeline}).FsSnapshots(t.Context(), agent, timeline.SessionParams{}); err != nil || len(all.FsSnapshots) != 2 {
				t.Errorf("%+v, %v", all, err)
			}
			if c, err := w.Check(t.Context(), agent, timeline.SessionParams{}); err != nil || len(c.Damages) > 0 {
				t.Errorf("%+v, %v", c, err)
			}
			if feed, err := timeline.NewFeed(w.Timeline, timelinetest.User, where, "0.0.0"); err != nil {
				t.Error(err)
			} else if events, err := feed.Next(t.Context()); err != nil || len(events) < 4 {
				t.Errorf("%+v, %v", events, err)
			}
			for _, client := range []*checkpoint.Client{agent, {User: true}} { // the user's programs are in no workspace
				if at, ok, err := (timeline.Moments{Timeline: w.Timeline}).When(client, second.ID()); err != nil || !ok || at.Before(second.At) {
					t.Errorf("changes since %s: %v, %v, %v", second.ID(), at, ok, err)
				}
				if at, ok, err := (timeline.Moments{Timeline: w.Timeline}).When(client, "+0:00:00"); err != nil || !ok || at.IsZero() {
					t.Errorf("changes since a time of the session: %v, %v, %v", at, ok, err)
				}
			}
			if log, err := w.Operations.Log(t.Context(), timelinetest.User, operations.LogParams{Where: where}); err != nil || log.SessionID != session {
				t.Errorf("%+v, %v", log, err)
			}
			_, err = w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: where, To: first.ID(), Confirm: true})
			timelinetest.Wants(t, err, usererr.NotFound, "Create the directory again, then restore")
			timelinetest.Wants(t, err, usererr.NotFound, "tidemark timeline session-branch "+session+" --moment now --name NAME")
			if _, err := os.Lstat(w.Dir); err == nil {
				t.Error("something made the directory again")
			}
		})
	}

	// The directory is there again: the workspace is watched, and is the same one.
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: where, To: second.ID(), Confirm: true})
	if err != nil || !r.Done || w.Read(filepath.Join(w.Dir, "src/a")) != "one\ntwo\n" {
		t.Fatalf("%+v, %v", r, err)
	}
	if s, err := w.Seek(t.Context(), agent, timeline.SeekParams{To: "now"}); err != nil || s.Problem != "" {
		t.Errorf("%+v, %v", s, err)
	}
	if !w.Workspaces.Watched(w.Dir) {
		t.Error("it is not watched")
	}
}

// TestTheSessionOfADeletedWorkspaceEnds: with a last moment that says why it has no snapshot. Nothing makes the directory again.
func TestTheSessionOfADeletedWorkspaceEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not delete a directory that is watched")
	}
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	if err := os.RemoveAll(w.Dir); err != nil {
		t.Fatal(err)
	}
	ended, err := w.EndSession(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
	if err != nil || ended.Ended == nil {
		t.Fatalf("%+v, %v", ended, err)
	}
	a, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Session: ended.ID}})
	if err != nil {
		t.Fatal(err)
	}
	if last := a.Moments[len(a.Moments)-1]; last.Label != "session ended" || !strings.Contains(last.Reason, "no such file or directory") && !strings.Contains(last.Reason, "no longer exists") {
		t.Errorf("%+v", last)
	}
	if _, err := os.Lstat(w.Dir); err == nil {
		t.Error("something made the directory again")
	}
}

// TestTheSnapshotsOfADeletedWorkspaceNeedTheUsersDecision: as those of one that exists do.
func TestTheSnapshotsOfADeletedWorkspaceNeedTheUsersDecision(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not delete a directory that is watched")
	}
	w := timelinetest.New(t)
	w.Write("a", "one")
	m := w.Edit("first")
	where := moments.Where{Session: w.Listed().ID}
	if err := os.RemoveAll(w.Dir); err != nil {
		t.Fatal(err)
	}
	seek := func() error {
		_, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: where, To: m.ID()})
		return err
	}
	if err := seek(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Grants.Forget(t.Context(), w.Dir); err != nil {
		t.Fatal(err)
	}
	timelinetest.Wants(t, seek(), usererr.NotAllowed, "does not allow it")
}
