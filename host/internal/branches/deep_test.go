package branches_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// TestADeepRenameIsApplied, with many deletions. The log has how long the plan took.
func TestADeepRenameIsApplied(t *testing.T) {
	s := prepare(t.TempDir())
	s.write()
	deep := ""
	for i := range 300 {
		deep = filepath.Join(deep, fmt.Sprintf("d%03d", i))
	}
	failing(os.MkdirAll(filepath.Join(s.dir, "odd", deep), 0o700))
	failing(os.MkdirAll(filepath.Join(s.dir, "many"), 0o700))
	failing(os.WriteFile(filepath.Join(s.dir, "odd", deep, "leaf"), []byte("leaf\n"), 0o600))
	const many = 3000
	for i := range many {
		failing(os.WriteFile(filepath.Join(s.dir, "many", fmt.Sprint(i)), []byte(fmt.Sprint(i)), 0o600))
	}
	s.open()
	defer func() {
		failing(s.close())
		failing(tracked.RemoveAll(s.top))
	}()
	from := s.record()
	b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: from, Name: "other", Agent: "none"})
	failing(err)
	failing(os.Rename(filepath.Join(b.Workspace, "odd", "d000"), filepath.Join(b.Workspace, "odd", "D")))
	failing(os.RemoveAll(filepath.Join(b.Workspace, "many")))
	began := time.Now()
	a, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other"})
	failing(err)
	t.Logf("the plan took %s", time.Since(began))
	if len(a.Conflicts) > 0 || len(a.Steps) < many {
		t.Errorf("%d steps, %v", len(a.Steps), a.Conflicts)
	}
	began = time.Now()
	_, err = s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other", Confirm: true})
	failing(err)
	t.Logf("it was applied in %s", time.Since(began))
	moved := filepath.Join(s.dir, "odd", "D", strings.TrimPrefix(deep, "d000"), "leaf")
	if got := read(t, moved); got != "leaf\n" {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"odd/d000", "many"} {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}
