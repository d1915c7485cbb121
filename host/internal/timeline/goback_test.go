package timeline_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline"
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
