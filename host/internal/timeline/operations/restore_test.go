package operations_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// A restore leaves alone what is excluded now, and what was excluded then. Its plan says so, and that it changes what is
// excluded.
func TestARestoreLeavesExcludedFilesAlone(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Write("dist/out", "old")
	w.Write("logs/x/deep.log", "old")
	before := w.Edit("before")
	w.Write(".tidemark.toml", "[files]\nexclude = [\"dist/\", \"*.log\"]\n")
	w.Write("a", "two")
	w.Write("dist/out", "new")
	w.Write("dist/more", "more")
	w.Write("new/only.log", "log")
	after := w.Edit("after")
	files := func(want map[string]string) {
		t.Helper()
		for path, content := range want {
			if got, err := os.ReadFile(filepath.Join(w.Dir, path)); string(got) != content || content == "" && err == nil {
				t.Errorf("%s has %q, want %q", path, got, content)
			}
		}
	}
	check := func(a *answers.Restored, err error, dropped, added []string, differs ...string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if a.Exclusions == nil || !slices.Equal(a.Exclusions.Dropped, dropped) || !slices.Equal(a.Exclusions.Added, added) {
			t.Errorf("the exclusions change by %+v, want %q, %q", a.Exclusions, dropped, added)
		}
		if !slices.Equal(a.Differs, differs) {
			t.Errorf("%q stay as they are, want %q", a.Differs, differs)
		}
	}
	const now = "it is excluded from snapshots now"
	excluded := []string{"dist/", "*.log"}
	back := operations.RestoreParams{Where: w.Here(), To: before.ID()}
	for _, back.Confirm = range []bool{false, true} {
		a, err := w.Operations.Restore(t.Context(), timelinetest.User, back)
		check(a, err, excluded, nil, "dist: "+now, "logs/x/deep.log: "+now, `new: it has "only.log" in it, which is part of no snapshot`)
	}
	kept := map[string]string{"dist/out": "new", "dist/more": "more", "logs/x/deep.log": "old", "new/only.log": "log"}
	files(kept)
	files(map[string]string{"a": "one", ".tidemark.toml": ""})

	w.Write("late/y/z.log", "late")
	w.Write("late/plain", "late")
	undo := operations.UndoParams{Where: w.Here()}
	then := "it was excluded from snapshots when " + fmt.Sprint("s", after.Snapshot) + " was taken"
	for _, undo.Confirm = range []bool{false, true} {
		a, err := w.Operations.Undo(t.Context(), timelinetest.User, undo)
		check(a, err, nil, excluded, "dist: "+then, `late: it has "late/y" in it, which stays`, `late/y: it has "late/y/z.log" in it, which stays`, "late/y/z.log: "+then, "logs/x/deep.log: "+then, "new/only.log: "+then)
	}
	kept["late/y/z.log"] = "late"
	files(kept)
	files(map[string]string{"a": "two", "late/plain": "", ".tidemark.toml": "[files]\nexclude = [\"dist/\", \"*.log\"]\n"})

	back.Paths = []string{"dist"}
	_, err := w.Operations.Restore(t.Context(), timelinetest.User, back)
	if err == nil || !strings.Contains(err.Error(), `cannot restore "dist": it is excluded from snapshots now`) {
		t.Error(err)
	}
	back.Paths, back.Confirm = []string{"a"}, false
	if a, err := w.Operations.Restore(t.Context(), timelinetest.User, back); err != nil || a.Exclusions != nil || len(a.Differs) > 0 {
		t.Error(a, err)
	}
}

// TestOnlyTheConfirmedPlanIsDone: if files changed since, the answer is the present plan, and nothing is restored.
func TestOnlyTheConfirmedPlanIsDone(t *testing.T) {
	w := timelinetest.New(t)
	w.Allow(w.Dir, grants.AgentsRestore)
	w.Write("a", "1")
	moment := w.Edit("before")
	w.Write("a", "2")
	user, agent := &checkpoint.Client{User: true}, &checkpoint.Client{Scope: checkpoint.Scope{Workspace: w.Dir}}
	p := operations.RestoreParams{Where: w.Here(), To: moment.ID()}
	plan, err := w.Operations.Restore(t.Context(), user, p)
	if err != nil || plan.Plan == "" {
		t.Fatalf("%+v %v", plan, err)
	}
	p.Confirm, p.Plan = true, plan.Plan
	for _, late := range []string{"late", "later"} {
		w.Write("a", late) // the steps are the same, what they replace is not
		other, err := w.Operations.Restore(t.Context(), user, p)
		if err != nil || other.Done || other.Plan == p.Plan || other.Note == "" || w.Read(filepath.Join(w.Dir, "a")) != late {
			t.Fatalf("%+v %v", other, err)
		}
		p.Plan = other.Plan
	}
	p.Plan, p.Where = "", moments.Where{}
	if a, err := w.Operations.Restore(t.Context(), agent, p); err != nil || a.Done || a.Plan == "" {
		t.Fatalf("an agent confirmed no plan: %+v %v", a, err)
	} else {
		p.Plan = a.Plan
	}
	done, err := w.Operations.Restore(t.Context(), agent, p)
	if err != nil || !done.Done || w.Read(filepath.Join(w.Dir, "a")) != "1" {
		t.Fatalf("%+v %v", done, err)
	}
	undo := operations.UndoParams{Where: w.Here()}
	if plan, err = w.Operations.Undo(t.Context(), user, undo); err != nil {
		t.Fatal(err)
	}
	undo.Confirm, undo.Plan = true, plan.Plan
	w.Write("b", "new")
	if plan, err = w.Operations.Undo(t.Context(), user, undo); err != nil || plan.Done || w.Read(filepath.Join(w.Dir, "b")) != "new" {
		t.Fatalf("%+v %v", plan, err)
	}
	undo.Plan = plan.Plan
	if done, err = w.Operations.Undo(t.Context(), user, undo); err != nil || !done.Done || w.Read(filepath.Join(w.Dir, "a")) != "later" {
		t.Fatalf("%+v %v", done, err)
	}
}

// TestASettingsFileThatCannotBeReadDoesNotStopGoingBack: what was excluded last stays so, and only new moments have no snapshot.
func TestASettingsFileThatCannotBeReadDoesNotStopGoingBack(t *testing.T) {
	w := timelinetest.New(t)
	user := &checkpoint.Client{User: true}
	w.Write(".tidemark.toml", "[files]\nexclude = [\"big/\"]\n")
	w.Write("a", "1")
	w.Write("big/file", "x")
	moment := w.Edit("before")
	w.Write("a", "2")
	later := w.Edit("later")
	for _, restarted := range []bool{false, true} {
		w.Write(".tidemark.toml", "[files\n")
		w.Write("a", "3")
		if restarted {
			w.Restart()
		}
		added, err := w.Add(t.Context(), user, timeline.AddParams{Where: w.Here(), Label: "broken"})
		if err != nil || added.FsSnapshot != false || !strings.Contains(added.Reason, ".tidemark.toml:1") {
			t.Fatalf("%+v %v", added, err)
		}
		if _, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.Here(), To: moment.ID()}); err != nil {
			t.Error(err)
		}
		if _, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.Here(), From: moment.ID(), To: later.ID()}); err != nil {
			t.Error(err)
		}
		if d, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.Here(), From: later.ID()}); err != nil || len(d.Files) != 2 {
			t.Errorf("%+v %v", d, err)
		}
		if _, err := w.Blame(t.Context(), user, timeline.BlameParams{Where: w.Here(), Path: "a"}); err != nil {
			t.Error(err)
		}
		if _, err := w.Check(t.Context(), user, timeline.SessionParams{Where: w.Here()}); err != nil {
			t.Error(err)
		}
		p := operations.RestoreParams{Where: w.Here(), To: moment.ID(), Paths: []string{".tidemark.toml"}, Confirm: true}
		if a, err := w.Operations.Restore(t.Context(), user, p); err != nil || !a.Done || w.Read(filepath.Join(w.Dir, "a")) != "3" {
			t.Fatalf("%+v %v", a, err)
		}
		w.Write(".tidemark.toml", "[files\n")
		p.Paths = nil
		if a, err := w.Operations.Restore(t.Context(), user, p); err != nil || !a.Done || w.Read(filepath.Join(w.Dir, "a")) != "1" || w.Read(filepath.Join(w.Dir, "big/file")) != "x" {
			t.Fatalf("%+v %v", a, err)
		}
		w.Pass(2 * time.Second)
		if m := w.Edit("whole again"); m.Snapshot == 0 {
			t.Errorf("%+v", m)
		}
	}
}

// TestPathsThatCannotBeRestoredAreTheCallersMistakes.
func TestPathsThatCannotBeRestoredAreTheCallersMistakes(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "1")
	m := w.Edit("one")
	for path, code := range map[string]usererr.Code{"../../etc": usererr.InvalidArgument, "/etc/passwd": usererr.InvalidArgument, "missing": usererr.NotFound, "": usererr.InvalidArgument, "a\x00": usererr.InvalidArgument, ".git": usererr.InvalidArgument} {
		_, err := w.Operations.Restore(t.Context(), &checkpoint.Client{User: true}, operations.RestoreParams{Where: w.Here(), To: m.ID(), Paths: []string{path}})
		if usererr.CodeOf(err) != code || strings.Contains(err.Error(), "..\".. ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestMomentsOfABurstKeepTheirFilesBeforeARestore: those that wait for their snapshot have the files before it, and not those that it
// brings back.
func TestMomentsOfABurstKeepTheirFilesBeforeARestore(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "first")
	w.Edit("first")
	first := w.Listed().Moments
	for i := range 7 {
		w.Write("a", fmt.Sprint("text ", i))
		w.Edit(fmt.Sprint("edit ", i))
	}
	if _, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: first[len(first)-1].ID, Confirm: true}); err != nil {
		t.Fatal(err)
	}
	for _, m := range w.Listed().Moments {
		if m.Label != "edit 6" {
			continue
		}
		s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Read(filepath.Join(s.Mount, "a")); got != "text 6" {
			t.Errorf("%s has %q", m.Label, got)
		}
	}
}
