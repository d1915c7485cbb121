package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestADenialSaysWhatOlderSnapshotsKeep, and what it advises deletes them.
func TestADenialSaysWhatOlderSnapshotsKeep(t *testing.T) {
	s := newSurfaces(t, "")
	secret := filepath.Join(s.dir, "secrets", "key")
	if err := os.Mkdir(filepath.Dir(secret), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("of the user"), 0o600); err != nil {
		t.Fatal(err)
	}
	var taken object
	s.cli(&taken, "timeline", "fs-snapshot", "add", "--json")
	denied := s.w.RunIn(s.dir, "project", "deny", filepath.Dir(secret))
	t.Cleanup(func() { s.w.RunIn(s.dir, "project", "forget", filepath.Dir(secret)) })
	if denied.Code != 0 || !strings.Contains(denied.Out, "Older snapshots of "+s.dir+" keep its files.") {
		t.Fatalf("%+v", denied)
	}
	const advised = "timeline prune --denied"
	if !strings.Contains(denied.Out, "`tidemark "+advised+"`") {
		t.Fatalf("%q is not advised in %q", advised, denied.Out)
	}
	if r := s.w.RunIn(s.dir, strings.Fields(advised)...); r.Code != 0 || !strings.Contains(r.Out, "Deleted 1 snapshots") || !strings.Contains(r.Out, taken["id"].(string)) {
		t.Fatalf("%s: %+v", advised, r)
	}
	if r := s.w.RunIn(s.dir, "timeline", "seek", taken["id"].(string)); r.Code == 0 {
		t.Errorf("the older snapshot is there: %+v", r)
	}
	var kept object
	s.cli(&kept, "timeline", "fs-snapshot", "add", "--json")
	var view object
	s.cli(&view, "timeline", "seek", kept["id"].(string), "--json")
	mount := view["mount"].(string)
	if _, err := os.Stat(filepath.Join(mount, "a")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(mount, "secrets", "key")); !os.IsNotExist(err) {
		t.Errorf("the snapshot that remains has the denied file: %v", err)
	}
}
