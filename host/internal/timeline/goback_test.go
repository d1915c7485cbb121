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
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAnExactPatchHasEveryByte: of text that is not UTF-8, and of files that are no text.
func TestAnExactPatchHasEveryByte(t *testing.T) {
	w := timelinetest.New(t)
	files := map[string]string{
		"menu.txt": "caf\xe9 cr\xe8me\n", "small.bin": "\xff\xfe\x01", "zero.bin": "a\x00b", "large.txt": strings.Repeat("line\n", 300_000), ".env": "S=1\n",
	}
	before := w.Edit("before")
	for path, content := range files {
		w.Write(path, content)
	}
	after := w.Edit("after")
	p := timeline.DiffParams{Where: w.Here(), From: before.ID(), To: after.ID(), Exact: true, Whole: true}
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

// TestAMomentBeginsWithItsSnapshot: what it has is no change since.
func TestAMomentBeginsWithItsSnapshot(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "1")
	m := w.Edit("one")
	at, ok, err := timeline.Moments{Timeline: w.Timeline}.When(&checkpoint.Client{Scope: checkpoint.Scope{Workspace: w.Dir}}, m.ID())
	if err != nil || !ok || m.Snapshot == 0 || at.UnixNano() < m.SnapshotAt {
		t.Errorf("%v is before %v: %v", at, m.SnapshotAt, err)
	}
}

// TestAnExcludedFileIsNotRemoved: neither by a comparison nor by blame, and lines keep their moments.
func TestAnExcludedFileIsNotRemoved(t *testing.T) {
	w := timelinetest.New(t)
	user := &checkpoint.Client{User: true}
	moment := func(label string) *records.Moment {
		t.Helper()
		w.Pass(2 * time.Second) // no other moment has the same snapshot
		return w.Edit(label)
	}
	moment("start")
	w.Write("a.txt", "1\n")
	first := moment("first")
	w.Write("a.txt", "1\n2\n")
	second := moment("second")
	w.Write(".tidemark.toml", "[files]\nexclude = [\"a.txt\"]\n")
	excluded := moment("excluded")
	w.Write("a.txt", "1\n2\n3\n")
	w.Write(".tidemark.toml", "")
	last := moment("last")
	for _, moments := range [][2]*records.Moment{{second, excluded}, {excluded, last}} {
		a, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.Here(), From: moments[0].ID(), To: moments[1].ID()})
		if err != nil || len(a.Files) != 1 || a.Files[0].Path != ".tidemark.toml" {
			t.Errorf("%+v %v", a, err)
		}
		for _, m := range w.Listed().Moments {
			if m.ID == moments[1].ID() && m.Changed != 1 {
				t.Errorf("%s changed %d files", m.ID, m.Changed)
			}
		}
	}
	_, err := w.Blame(t.Context(), user, timeline.BlameParams{Where: w.Here(), Path: "a.txt", At: excluded.ID()})
	if err == nil || !strings.Contains(err.Error(), "excluded") {
		t.Error(err)
	}
	b, err := w.Blame(t.Context(), user, timeline.BlameParams{Where: w.Here(), Path: "a.txt", At: last.ID()})
	if err != nil || len(b.Lines) != 3 || b.Lines[0].Moment != first.ID() || b.Lines[1].Moment != second.ID() || b.Lines[2].Moment != last.ID() {
		t.Errorf("%+v %v", b, err)
	}
}

// TestAViewThatWasChangedIsMadeAnew: what seek hands out are the files of the moment.
func TestAViewThatWasChangedIsMadeAnew(t *testing.T) {
	w := timelinetest.New(t)
	user := &checkpoint.Client{User: true}
	w.Write("dir/a", "1")
	w.Write("dir/b", "2")
	m := w.Edit("one")
	seek := func() string {
		t.Helper()
		a, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.Here(), To: m.ID()})
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
		"edited": func() error { return errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte("!"), 0o600)) },
		"added":  func() error { return os.WriteFile(filepath.Join(dir, "c"), nil, 0o600) },
		"edited, with its time and mode put back": func() error {
			was, err := os.Stat(file)
			if err != nil {
				return err
			}
			return errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte("!"), 0o600), os.Chtimes(file, was.ModTime(), was.ModTime()), os.Chmod(file, was.Mode()))
		},
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
