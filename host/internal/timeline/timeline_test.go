package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/timelinetest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// Who observes files is told when the user takes the permission back, for as long as a session would last.
func TestARevokedPermissionIsReported(t *testing.T) {
	w := timelinetest.New(t)
	sub := filepath.Join(w.Dir, "src")
	sync := func(want string) {
		t.Helper()
		if _, err := w.Sync(t.Context(), sub); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	w.Write("src/a", "one")
	if _, err := w.Grants.Forget(t.Context(), w.Dir); err != nil {
		t.Fatal(err)
	}
	sync("") // it was never allowed
	w.Allow(w.Dir)
	w.Edit("first")
	sync("")
	for _, take := range []func(context.Context, string) error{
		func(ctx context.Context, dir string) error { _, err := w.Grants.Deny(ctx, dir); return err },
		func(ctx context.Context, dir string) error { _, err := w.Grants.Forget(ctx, dir); return err },
		func(ctx context.Context, dir string) error {
			_, err := w.Grants.Allow(ctx, dir, nil, []string{grants.Workspace})
			return err
		},
	} {
		if err := take(t.Context(), w.Dir); err != nil {
			t.Fatal(err)
		}
		sync("the user no longer allows Tidemark to watch " + w.Dir)
	}
	w.Pass(13 * time.Hour)
	sync("")
	w.Pass(-13 * time.Hour)
	w.Allow(w.Dir)
	sync("")
}

// A workspace that was moved is found by what the directory is. Its new place is allowed, and has its moments, only when the
// user says so.
func TestAMovedWorkspaceKeepsItsMoments(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("src/a", "one")
	first := w.Edit("first")
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: first.ID(), Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	w.Write("src/a", "two")
	w.Edit("second")
	w.Stop() // Windows moves no directory that is open
	old, place := w.Dir, filepath.Join(w.Top, "elsewhere", "store")
	if err := errors.Join(os.Mkdir(filepath.Dir(place), 0o755), os.Rename(old, place)); err != nil {
		t.Fatal(err)
	}
	w.Start()
	_, err = w.Record(t.Context(), filepath.Join(place, "src"), records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, place+" is not allowed: it is "+old+", which was moved. The user can allow it and keep its snapshots: run `tidemark project allow --moved-from "+old+" "+place+"`.")
	_, err = w.Record(t.Context(), filepath.Dir(place), records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "nobody has allowed it yet")

	call := func(name, args string) (any, error) {
		for _, tool := range timeline.UserTools {
			if tool.Name == name {
				return tool.Call(t.Context(), w.Timeline, timelinetest.User, []byte(args))
			}
		}
		t.Fatal(name)
		return nil, nil
	}
	quote := func(path string) string { return strings.ReplaceAll(path, `\`, `\\`) }
	o, err := call("workspace_origin", `{"dir":"`+quote(place)+`"}`)
	if err != nil || *o.(*timeline.Origin) != (timeline.Origin{Moved: place, MovedFrom: old}) {
		t.Fatal(o, err)
	}
	move := func(from string) (any, error) {
		return call("workspace_move", `{"from":"`+quote(from)+`","to":"`+quote(place)+`"}`)
	}
	_, err = move(b.Workspace)
	timelinetest.Wants(t, err, usererr.AlreadyExists, "still exists")
	_, err = move(old + "x")
	timelinetest.Wants(t, err, usererr.NotFound, "there are no snapshots of "+old+"x")
	a, err := move(old)
	if err != nil || a.(*timeline.Moved).Sessions != 1 {
		t.Fatal(a, err)
	}
	if _, err = w.Record(t.Context(), place, records.Moment{Label: "x"}); usererr.CodeOf(err) != usererr.NotAllowed {
		t.Errorf("a move allowed the directory: %v", err)
	}
	if err := w.Grants.Move(t.Context(), old, place); err != nil {
		t.Fatal(err)
	}
	w.Dir = place
	for range 2 {
		third := w.Edit("third")
		if l := w.Listed(); l.Workspace != place || l.Moments[1].ID != first.ID() || l.Moments[1].FsSnapshot != "s1" || !slices.ContainsFunc(l.Moments, func(m answers.ListMoment) bool { return m.ID == third.ID() }) {
			t.Fatalf("%+v", l)
		}
		s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: first.ID()})
		if err != nil || w.Read(filepath.Join(s.Mount, "src", "a")) != "one" {
			t.Error(s, err)
		}
		in, err := w.Record(t.Context(), b.Workspace, records.Moment{Label: "in the branch"})
		if err != nil || in.Session != b.ID {
			t.Error(in, err)
		}
		w.Restart()
	}
	c, err := w.Check(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
	if err != nil || len(c.Damages) > 0 {
		t.Error(c, err)
	}
	if _, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Confirm: true}); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return // Wine gives a new directory the identity of one that was removed
	}
	// Another directory in the old place is another workspace.
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = w.Record(t.Context(), old, records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "nobody has allowed it yet")
}

// The directory above a workspace was moved: its branches beside it and the workspaces inside of it come along, in one step.
func TestAMovedWorkspaceTakesItsBranchesAlong(t *testing.T) {
	w := timelinetest.New(t)
	inner := filepath.Join(w.Dir, "packages", "cart")
	w.Write("a", "one")
	w.Write("packages/cart/b", "inner")
	w.Allow(inner)
	first := w.Edit("first")
	in, err := w.Record(t.Context(), inner, records.Moment{Label: "inner"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: first.ID(), Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	of, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: moments.Where{Session: b.ID}, From: "start", Name: "other-still"})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	above := filepath.Join(w.Top, "above")
	if err := errors.Join(os.Mkdir(above, 0o755), os.Rename(w.Dir, filepath.Join(above, "shop")), os.Rename(filepath.Join(w.Top, "branches"), filepath.Join(above, "branches"))); err != nil {
		t.Fatal(err)
	}
	w.Start()
	there := func(dir string) string { return above + strings.TrimPrefix(dir, w.Top) }
	for _, sessions := range []int{4, 0} { // again, as after an interruption
		a, err := timeline.MoveAll(t.Context(), w.Timeline, timeline.MoveParams{From: w.Dir, To: there(w.Dir)})
		if err != nil || a.Sessions != sessions {
			t.Fatal(a, err)
		}
		if err := w.Grants.Move(t.Context(), w.Dir, there(w.Dir)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for dir, session := range map[string]string{w.Dir: first.Session, inner: in.Session, b.Workspace: b.ID, of.Workspace: of.ID} {
			m, err := w.Record(t.Context(), there(dir), records.Moment{Label: "moved"})
			if err != nil || m.Session != session {
				t.Errorf("%s: %+v, %v", there(dir), m, err)
				continue
			}
			s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: moments.Where{Session: session}, To: "start"})
			if err != nil {
				t.Error(s, err)
			}
			if was := timeline.Formerly(w.Timeline, there(dir)); !slices.Contains(was, dir) {
				t.Errorf("%s was %q", there(dir), was)
			}
		}
		w.Restart()
	}
}

func TestPrunedSnapshotsAreNotDamaged(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "first")
	kept, err := w.Add(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here(), Label: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		w.Write("a", fmt.Sprint(i))
		w.Pass(time.Minute)
		w.Edit(fmt.Sprint("edit ", i))
	}
	agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.Dir}}
	if a, err := w.Add(t.Context(), agent, timeline.AddParams{Label: "an agent's"}); err != nil || a.Source != records.FromAgent {
		t.Fatal(a, err)
	}
	p, err := w.Prune(t.Context(), timelinetest.User, timeline.PruneParams{Where: w.Here(), Count: 2})
	if err != nil || len(p.Deleted) != 3 {
		t.Fatal(p, err)
	}
	w.Restart()
	c, err := w.Check(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
	if err != nil || len(c.Damages) > 0 {
		t.Error(c, err)
	}
	pruned := 0
	for _, m := range w.Listed().Moments {
		if m.FsSnapshot == false {
			if pruned++; !strings.HasSuffix(m.Reason, " was pruned") {
				t.Errorf("%s: %q", m.ID, m.Reason)
			}
		}
	}
	if pruned != 3 {
		t.Errorf("%d moments lost their snapshot", pruned)
	}
	if _, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: kept.ID}); err != nil {
		t.Error(err)
	}
}

func TestADamagedTimelineIsSetAside(t *testing.T) {
	w := timelinetest.New(t)
	w.Edit("first")
	w.Stop()
	path := filepath.Join(w.Top, "timeline.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	l, notice, err := timeline.Open(timeline.Options{Path: path, Workspaces: w.Workspaces, Clock: w.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil || !strings.Contains(notice, "was set aside as "+path+".damaged-") {
		t.Fatal(notice, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	w.Damaged = true
	w.Start()
	w.Edit("second")
}

// Whatever is edited, restored, branched, undone and restarted: each moment's files are those of its time.
func TestEachMomentIsWhatTheWorkspaceWas(t *testing.T) {
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := timelinetest.New(t)
		defer func() { _ = tracked.RemoveAll(w.Dir) }()
		was := map[string][]string{}
		note := func() {
			m, err := w.Record(t.Context(), w.Dir, records.Moment{Label: "moment", Kind: records.Manual, Source: records.FromUser})
			if err != nil {
				rt.Fatal(err)
			}
			if m.Snapshot == 0 {
				rt.Fatal(m.Reason)
			}
			was[m.ID()] = treetest.Read(rt, w.Dir)
		}
		compare := func(id, dir string) {
			if now := treetest.Read(rt, dir); !slices.Equal(now, was[id]) {
				rt.Fatalf("%s is\n%s\nand was\n%s", id, strings.Join(now, "\n"), strings.Join(was[id], "\n"))
			}
		}
		any := func() string { return rapid.SampledFrom(slices.Sorted(keysOf(was))).Draw(rt, "moment") }
		note()
		branches := 0
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {},
			"edit": func(rt *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(rt, "edits") {
					editor.Edit(rt, w.Dir)
				}
				note()
			},
			"restart": func(*rapid.T) { w.Restart() },
			"restore and undo": func(rt *rapid.T) {
				note()
				before, id := treetest.Read(rt, w.Dir), any()
				a, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: id, Confirm: true})
				if err != nil {
					rt.Fatal(err)
				}
				compare(id, w.Dir)
				if a.Operation == "" || rapid.Bool().Draw(rt, "keep") {
					return
				}
				if _, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Confirm: true}); err != nil {
					rt.Fatal(err)
				}
				if now := treetest.Read(rt, w.Dir); !slices.Equal(now, before) {
					rt.Fatalf("after the undo it is\n%s\nand was\n%s", strings.Join(now, "\n"), strings.Join(before, "\n"))
				}
			},
			"branch": func(rt *rapid.T) {
				id := any()
				branches++
				b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: id, Name: fmt.Sprint("b", branches)})
				if err != nil {
					rt.Fatal(err)
				}
				compare(id, b.Workspace)
			},
		})
		c, err := w.Check(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
		if err != nil || len(c.Damages) > 0 {
			rt.Fatal(c, err)
		}
		w.Stop()
		w.Stop = func() {}
	})
}

func keysOf[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
