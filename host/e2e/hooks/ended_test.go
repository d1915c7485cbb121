//go:build unix

package hooks

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNothingOfNowIsAddedToASessionThatEnded: each way says so, with what to do. An earlier time can still be named.
func TestNothingOfNowIsAddedToASessionThatEnded(t *testing.T) {
	s := newSurfaces(t, "")
	s.cli(nil, "session", "end")
	const part, todo = "session shop-1 has ended", "start a session with `tidemark session start "
	var about struct{ DurationSec float64 } // its snapshot may have taken longer than a tenth of a second, and is not of its start then
	s.rest(&about, s.session, nil)
	if about.DurationSec == 0 {
		t.Error("the session has lasted no time")
	}
	for _, what := range []string{"moments", "fs-snapshots"} {
		if status, text := s.rest(nil, s.session+"/"+what, object{"label": "late"}); status != http.StatusConflict || !strings.Contains(text, part) || !strings.Contains(text, todo) || !strings.Contains(text, "session_ended") {
			t.Errorf("%s: %d %s", what, status, text)
		}
		if status, text := s.rest(nil, s.session+"/"+what, object{"label": "early", "ts": about.DurationSec}); status != http.StatusCreated {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	for _, what := range []string{"moment", "fs-snapshot"} {
		if r := s.w.RunIn(s.dir, "timeline", what, "add", s.session); r.Code != 2 || !strings.Contains(r.Err, part) || !strings.Contains(r.Err, todo) {
			t.Errorf("%s: %d %s", what, r.Code, r.Err)
		}
	}
}

// TestARestoreLeavesWhatItCannotRestore by the live API as by the command line: a pipe is in the place of a file.
func TestARestoreLeavesWhatItCannotRestore(t *testing.T) {
	s := newSurfaces(t, "")
	pipe := filepath.Join(s.dir, "pipe")
	if err := os.WriteFile(pipe, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.cli(nil, "timeline", "moment", "add")
	s.write("two")
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	body := object{"moment": "m2", "confirm": true}
	if status, text := s.rest(nil, s.session+"/restore", body); status/100 != 4 || !strings.Contains(text, "pipe") {
		t.Errorf("%d %s", status, text)
	}
	if r := s.w.RunIn(s.dir, "timeline", "restore", "m2", "--yes"); r.Code == 0 {
		t.Errorf("%s", r.Out)
	}
	body["leave"] = true
	var done object
	if status, text := s.rest(&done, s.session+"/restore", body); status != http.StatusOK || done["done"] != true || !strings.Contains(text, "pipe") {
		t.Fatalf("%d %s", status, text)
	}
	if got, err := os.ReadFile(filepath.Join(s.dir, "a")); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
	if status, text := s.rest(nil, s.session+"/undo", object{"operation": done["operation"], "leave": true}); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if got, err := os.ReadFile(filepath.Join(s.dir, "a")); err != nil || string(got) != "two" {
		t.Errorf("%q, %v", got, err)
	}
}
