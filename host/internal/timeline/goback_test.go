package timeline_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// TestAnExactPatchHasEveryByte: of text that is not UTF-8, and of files that are no text.
func TestAnExactPatchHasEveryByte(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{
		"menu.txt": "caf\xe9 cr\xe8me\n", "small.bin": "\xff\xfe\x01", "zero.bin": "a\x00b", "large.txt": strings.Repeat("line\n", 300_000), ".env": "S=1\n",
	}
	before := w.record("before")
	for path, content := range files {
		w.write(path, content)
	}
	after := w.record("after")
	p := timeline.DiffParams{Where: w.here(), From: before.ID(), To: after.ID(), Exact: true, Whole: true}
	user := &checkpoint.Client{User: true}
	a, err := w.Diff(t.Context(), user, p)
	if err != nil || a.Applies {
		t.Fatalf("a patch without .env is not whole: %v", err)
	}
	for _, f := range a.Files {
		if (f.Why != "") != (f.Path == ".env") {
			t.Errorf("%+v", f)
		}
	}
	p.Secrets = true
	if a, err = w.Diff(t.Context(), user, p); err != nil || !a.Applies || a.Text != "" {
		t.Fatalf("%+v %v", a, err)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), git, "apply", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(string(a.Patch))
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for path, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(got) != want {
			t.Errorf("%s differs: %v", path, err)
		}
	}
}

// TestOnlyTheConfirmedPlanIsDone: if files changed since, the answer is the present plan, and nothing is restored.
func TestOnlyTheConfirmedPlanIsDone(t *testing.T) {
	w := newWorld(t)
	w.allow(w.dir, grants.AgentsRestore)
	w.write("a", "1")
	moment := w.record("before")
	w.write("a", "2")
	user, agent := &checkpoint.Client{User: true}, &checkpoint.Client{Scope: checkpoint.Scope{Workspace: w.dir}}
	p := timeline.RestoreParams{Where: w.here(), To: moment.ID()}
	plan, err := w.Restore(t.Context(), user, p)
	if err != nil || plan.Plan == "" {
		t.Fatalf("%+v %v", plan, err)
	}
	p.Confirm, p.Plan = true, plan.Plan
	for _, late := range []string{"late", "later"} {
		w.write("a", late) // the steps are the same, what they replace is not
		other, err := w.Restore(t.Context(), user, p)
		if err != nil || other.Done || other.Plan == p.Plan || other.Note == "" || w.read(filepath.Join(w.dir, "a")) != late {
			t.Fatalf("%+v %v", other, err)
		}
		p.Plan = other.Plan
	}
	p.Plan, p.Where = "", timeline.Where{}
	if a, err := w.Restore(t.Context(), agent, p); err != nil || a.Done || a.Plan == "" {
		t.Fatalf("an agent confirmed no plan: %+v %v", a, err)
	} else {
		p.Plan = a.Plan
	}
	done, err := w.Restore(t.Context(), agent, p)
	if err != nil || !done.Done || w.read(filepath.Join(w.dir, "a")) != "1" {
		t.Fatalf("%+v %v", done, err)
	}
	undo := timeline.UndoParams{Where: w.here()}
	if plan, err = w.Undo(t.Context(), user, undo); err != nil {
		t.Fatal(err)
	}
	undo.Confirm, undo.Plan = true, plan.Plan
	w.write("b", "new")
	if plan, err = w.Undo(t.Context(), user, undo); err != nil || plan.Done || w.read(filepath.Join(w.dir, "b")) != "new" {
		t.Fatalf("%+v %v", plan, err)
	}
	undo.Plan = plan.Plan
	if done, err = w.Undo(t.Context(), user, undo); err != nil || !done.Done || w.read(filepath.Join(w.dir, "a")) != "later" {
		t.Fatalf("%+v %v", done, err)
	}
}

// TestASettingsFileThatCannotBeReadDoesNotStopGoingBack: what was excluded last stays so, and only new moments have no snapshot.
func TestASettingsFileThatCannotBeReadDoesNotStopGoingBack(t *testing.T) {
	w := newWorld(t)
	user := &checkpoint.Client{User: true}
	w.write(".tidemark.toml", "[files]\nexclude = [\"big/\"]\n")
	w.write("a", "1")
	w.write("big/file", "x")
	moment := w.record("before")
	w.write("a", "2")
	later := w.record("later")
	for _, restarted := range []bool{false, true} {
		w.write(".tidemark.toml", "[files\n")
		w.write("a", "3")
		if restarted {
			w.restart()
		}
		added, err := w.Add(t.Context(), user, timeline.AddParams{Where: w.here(), Label: "broken"})
		if err != nil || added.FsSnapshot != false || !strings.Contains(added.Reason, ".tidemark.toml:1") {
			t.Fatalf("%+v %v", added, err)
		}
		if _, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: moment.ID()}); err != nil {
			t.Error(err)
		}
		if _, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.here(), From: moment.ID(), To: later.ID()}); err != nil {
			t.Error(err)
		}
		if d, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.here(), From: later.ID()}); err != nil || len(d.Files) != 2 {
			t.Errorf("%+v %v", d, err)
		}
		if _, err := w.Blame(t.Context(), user, timeline.BlameParams{Where: w.here(), Path: "a"}); err != nil {
			t.Error(err)
		}
		if _, err := w.Check(t.Context(), user, timeline.SessionParams{Where: w.here()}); err != nil {
			t.Error(err)
		}
		p := timeline.RestoreParams{Where: w.here(), To: moment.ID(), Paths: []string{".tidemark.toml"}, Confirm: true}
		if a, err := w.Restore(t.Context(), user, p); err != nil || !a.Done || w.read(filepath.Join(w.dir, "a")) != "3" {
			t.Fatalf("%+v %v", a, err)
		}
		w.write(".tidemark.toml", "[files\n")
		p.Paths = nil
		if a, err := w.Restore(t.Context(), user, p); err != nil || !a.Done || w.read(filepath.Join(w.dir, "a")) != "1" || w.read(filepath.Join(w.dir, "big/file")) != "x" {
			t.Fatalf("%+v %v", a, err)
		}
		w.pass(2 * time.Second)
		if m := w.record("whole again"); m.Snapshot == 0 {
			t.Errorf("%+v", m)
		}
	}
}

// TestAMomentBeginsWithItsSnapshot: what it has is no change since.
func TestAMomentBeginsWithItsSnapshot(t *testing.T) {
	w := newWorld(t)
	w.write("a", "1")
	m := w.record("one")
	at, ok, err := timeline.Moments{Timeline: w.Timeline}.When(checkpoint.Scope{Workspace: w.dir}, m.ID())
	if err != nil || !ok || m.Snapshot == 0 || at.UnixNano() < m.SnapshotAt {
		t.Errorf("%v is before %v: %v", at, m.SnapshotAt, err)
	}
}

// TestAnExcludedFileIsNotRemoved: neither by a comparison nor by blame, and lines keep their moments.
func TestAnExcludedFileIsNotRemoved(t *testing.T) {
	w := newWorld(t)
	user := &checkpoint.Client{User: true}
	moment := func(label string) *timeline.Moment {
		t.Helper()
		w.pass(2 * time.Second) // no other moment has the same snapshot
		return w.record(label)
	}
	moment("start")
	w.write("a.txt", "1\n")
	first := moment("first")
	w.write("a.txt", "1\n2\n")
	second := moment("second")
	w.write(".tidemark.toml", "[files]\nexclude = [\"a.txt\"]\n")
	excluded := moment("excluded")
	w.write("a.txt", "1\n2\n3\n")
	w.write(".tidemark.toml", "")
	last := moment("last")
	for _, moments := range [][2]*timeline.Moment{{second, excluded}, {excluded, last}} {
		a, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.here(), From: moments[0].ID(), To: moments[1].ID()})
		if err != nil || len(a.Files) != 1 || a.Files[0].Path != ".tidemark.toml" {
			t.Errorf("%+v %v", a, err)
		}
	}
	_, err := w.Blame(t.Context(), user, timeline.BlameParams{Where: w.here(), Path: "a.txt", At: excluded.ID()})
	if err == nil || !strings.Contains(err.Error(), "excluded") {
		t.Error(err)
	}
	b, err := w.Blame(t.Context(), user, timeline.BlameParams{Where: w.here(), Path: "a.txt", At: last.ID()})
	if err != nil || len(b.Lines) != 3 || b.Lines[0].Moment != first.ID() || b.Lines[1].Moment != second.ID() || b.Lines[2].Moment != last.ID() {
		t.Errorf("%+v %v", b, err)
	}
}

// TestAViewThatWasChangedIsMadeAnew: what seek hands out are the files of the moment.
func TestAViewThatWasChangedIsMadeAnew(t *testing.T) {
	w := newWorld(t)
	user := &checkpoint.Client{User: true}
	w.write("dir/a", "1")
	w.write("dir/b", "2")
	m := w.record("one")
	seek := func() string {
		t.Helper()
		a, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: m.ID()})
		if err != nil {
			t.Fatal(err)
		}
		return a.Mount
	}
	view := seek()
	mark, err := os.Stat(view)
	if err != nil {
		t.Fatal(err)
	}
	if seek(); true {
		if now, err := os.Stat(view); err != nil || !os.SameFile(mark, now) {
			t.Errorf("it was made anew without a change: %v", err)
		}
	}
	dir, file := filepath.Join(view, "dir"), filepath.Join(view, "dir", "a")
	for name, change := range map[string]func() error{
		"edited":  func() error { return errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte("!"), 0o600)) },
		"added":   func() error { return os.WriteFile(filepath.Join(dir, "c"), nil, 0o600) },
		"removed": func() error { return errors.Join(os.Chmod(file, 0o600), os.Remove(file)) },
	} {
		if err := errors.Join(os.Chmod(dir, 0o700), change()); err != nil {
			t.Fatal(name, err)
		}
		seek()
		names, err := os.ReadDir(dir)
		content, failed := os.ReadFile(file)
		if err = errors.Join(err, failed); err != nil || len(names) != 2 || string(content) != "1" {
			t.Errorf("%s: %v %q %v", name, names, content, err)
		}
	}
}

// TestPathsThatCannotBeRestoredAreTheCallersMistakes.
func TestPathsThatCannotBeRestoredAreTheCallersMistakes(t *testing.T) {
	w := newWorld(t)
	w.write("a", "1")
	m := w.record("one")
	for path, code := range map[string]usererr.Code{"../../etc": usererr.InvalidArgument, "/etc/passwd": usererr.InvalidArgument, "missing": usererr.NotFound, ".git": usererr.InvalidArgument} {
		_, err := w.Restore(t.Context(), &checkpoint.Client{User: true}, timeline.RestoreParams{Where: w.here(), To: m.ID(), Paths: []string{path}})
		if usererr.CodeOf(err) != code || strings.Contains(err.Error(), "..\".. ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
