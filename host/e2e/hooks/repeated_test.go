package hooks

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// A request of the live API that is repeated with its ID, after the daemon was killed, is answered as before.
func TestARepeatedRequestOfTheLiveAPIDoesNothingTwice(t *testing.T) {
	s := newSurfaces(t, "")
	var snapshot, branch object
	s.rest(&snapshot, s.session+"/fs-snapshots", object{"label": "first"})
	s.write("two")
	twice := func(what string, status int, body object) object {
		t.Helper()
		s.key = "the first " + what
		var both [2]object
		for i := range both {
			if got, text := s.rest(&both[i], s.session+"/"+what, body); got != status {
				t.Fatalf("%s is answered with %d: %s", what, got, text)
			}
			delete(both[i], "durationSec") // up to now
			e2etest.KillDaemon(t, s.w.World)
			s.cli(nil, "session", "list") // it starts the next one
		}
		if !reflect.DeepEqual(both[1], both[0]) {
			t.Errorf("%s is answered with %v, and was with %v", what, both[1], both[0])
		}
		return both[0]
	}
	branch = twice("session-branch", http.StatusCreated, object{"fsSnapshotId": snapshot["id"], "name": "other"})
	s.key = "another"
	if status, text := s.rest(nil, s.session+"/session-branch", object{"fsSnapshotId": snapshot["id"], "name": "other"}); status != http.StatusConflict {
		t.Errorf("another request is answered with %d: %s", status, text)
	}
	restored := twice("restore", http.StatusOK, object{"moment": snapshot["id"], "confirm": true})
	twice("undo", http.StatusOK, object{"operation": restored["operation"]})
	if data, err := os.ReadFile(filepath.Join(s.dir, "a")); err != nil || string(data) != "two" {
		t.Errorf("the file is %q, %v", data, err)
	}
	twice("undo", http.StatusOK, object{"operation": branch["operation"]})
}
