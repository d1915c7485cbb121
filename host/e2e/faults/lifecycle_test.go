package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// TestANewerProgramTakesOver: an older daemon makes way for a newer program and loses no event; an older
// program uses a newer daemon.
func TestANewerProgramTakesOver(t *testing.T) {
	newer := filepath.Join(t.TempDir(), "newer")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w -X main.version=9.9.9", "-o", newer, "tidemark.dev/tidemark/host/cmd/tidemark").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := e2etest.LoggedWorld(t)
	old := w.Binary
	s := w.NewStream("profile", "life", "stream")
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	number := 0
	push := func() {
		for range 50 {
			number++
			s.Push(testbed.Log("log", fmt.Sprintf("event %d", number)))
		}
	}
	version := func() string {
		t.Helper()
		var st struct{ Version string }
		r := w.Run("status", "--json")
		if err := json.Unmarshal([]byte(r.Out), &st); err != nil {
			t.Fatalf("%s%s: %v", r.Out, r.Err, err)
		}
		return st.Version
	}
	push()
	if err := s.Send(); err != nil {
		t.Fatal(err)
	}
	before := version()
	push()
	_ = s.Send() // while the old one ends
	w.Binary = newer
	if v := version(); v != "9.9.9" || before == v {
		t.Errorf("version %s, then %s", before, v)
	}
	s.Close() // the old one's relay ended with it
	w.Binary = old
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
	push()
	if err := s.Send(); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitForAll(); err != nil {
		t.Fatal(err)
	}
	if v := version(); v != "9.9.9" {
		t.Errorf("an older program put the daemon back to %s", v)
	}
	held := heldLines(t, w)
	for n := 1; n <= number; n++ {
		if held[n] != 1 {
			t.Errorf("event %d is there %d times", n, held[n])
		}
	}
	if r := e2etest.ChangesOf(t, w); r.Coverage != nil {
		t.Errorf("%s", e2etest.Show(r))
	}
}

// TestAStopByTheUserHolds: the relay of a connected browser starts no daemon, and ends when a command has started one.
func TestAStopByTheUserHolds(t *testing.T) {
	w := e2etest.LoggedWorld(t)
	s := w.NewStream("profile", "life", "stream")
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	if r := w.Run("stop"); r.Code != 0 || !strings.Contains(r.Out, "starts it again") {
		t.Fatalf("%+v", r)
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return slices.ContainsFunc(s.Errors(), func(e protocol.Error) bool { return e.Code == protocol.CodeStopped }), nil
	}); err != nil {
		t.Fatalf("%v: the extension knows of %v", err, s.Errors())
	}
	s.Push(testbed.Log("error", "while it was stopped"))
	if err := s.Send(); err != nil {
		t.Errorf("the relay has ended: %v", err)
	}
	if r := w.Run("stop"); r.Code != 0 || r.Out != "No daemon is running.\n" {
		t.Errorf("%+v", r)
	}
	if r := w.Run("status"); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	if err := errors.Join(s.WaitForEnd(t.Context()), s.Connect(), s.Send(), s.WaitForAll()); err != nil {
		t.Fatal(err)
	}
	if r := e2etest.ChangesOf(t, w); len(r.Console.NewErrors) != 1 {
		t.Errorf("%s", e2etest.Show(r))
	}

	// A browser that starts later starts the daemon.
	if r := w.Run("stop"); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	s.Close()
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
}
