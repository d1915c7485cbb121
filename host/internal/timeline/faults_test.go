package timeline_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// sought returns a file of a moment.
func (w *world) sought(id, name string) string {
	w.t.Helper()
	s, err := w.Seek(w.t.Context(), user, timeline.SeekParams{Where: w.here(), To: id})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.read(filepath.Join(s.Mount, name))
}

func (w *world) clean() {
	w.t.Helper()
	if c, err := w.Check(w.t.Context(), user, timeline.SessionParams{Where: w.here()}); err != nil || len(c.Damages) > 0 {
		w.t.Error(c, err)
	}
}

// A full disk: the moment says why it has no snapshot, earlier ones stay, and later ones have snapshots again.
func TestAFullDiskIsTheReasonOfAMoment(t *testing.T) {
	small := disktest.Small(t, "12m")
	w := newWorld(t)
	w.stop()
	stores := filepath.Join(w.top, "workspaces")
	if err := errors.Join(os.RemoveAll(stores), os.Symlink(small, stores)); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.write("a", "one")
	first := w.record("first")
	if first.Snapshot == 0 {
		t.Fatal(first.Reason)
	}
	large := make([]byte, 20<<20)
	_, _ = rand.Read(large)
	w.write("large", string(large))
	full := w.record("full")
	if full.Snapshot != 0 || !strings.Contains(full.Reason, "no space left") {
		t.Errorf("it has the snapshot %d and the reason %q", full.Snapshot, full.Reason)
	}
	listed := w.list().Moments
	if m := listed[len(listed)-1]; m.FsSnapshot != false || m.Reason != full.Reason {
		t.Errorf("%+v", m)
	}
	w.restart()
	if err := os.Remove(filepath.Join(w.dir, "large")); err != nil {
		t.Fatal(err)
	}
	w.write("a", "two")
	if _, err := w.Prune(t.Context(), user, timeline.PruneParams{Where: w.here()}); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	last := w.record("last")
	if last.Snapshot == 0 {
		t.Fatal(last.Reason)
	}
	if a, b := w.sought(first.ID(), "a"), w.sought(last.ID(), "a"); a != "one" || b != "two" {
		t.Errorf("the first moment has %q, the last one %q", a, b)
	}
	w.clean()
	w.stop() // the filesystem is unmounted before the world ends
	if err := os.Remove(stores); err != nil {
		t.Error(err)
	}
	w.stop = func() {}
}

// A clock that is set back, by more and by less than moments are apart: each moment has the files of its time, and none
// waits until the old time comes again.
func TestAClockThatIsSetBackDelaysNoMoment(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for i, step := range []time.Duration{0, -time.Hour, -100 * time.Millisecond, 24 * time.Hour, -48 * time.Hour, -time.Second} {
		w.pass(step)
		content := strings.Repeat("x", i+1)
		w.write("a", content)
		m, err := w.Add(t.Context(), user, timeline.AddParams{Where: w.here(), Label: content})
		if err != nil || m.FsSnapshot == false {
			t.Fatalf("after %v: %+v, %v", step, m, err)
		}
		ids = append(ids, m.ID)
		if i == 3 {
			w.restart()
		}
	}
	for i, id := range ids {
		if got := w.sought(id, "a"); len(got) != i+1 {
			t.Errorf("%s has %q", id, got)
		}
	}
	var listed []string // of the last session: a long pause begins another one
	for _, m := range w.list().Moments {
		if strings.HasPrefix(m.Label, "x") { // else it is the session's own
			listed = append(listed, m.ID)
		}
	}
	if n := len(ids) - len(listed); n < 0 || !slices.Equal(listed, ids[n:]) {
		t.Errorf("%v are listed, after %v", listed, ids)
	}
	w.clean()
}

// What could not be read is named by the moment, in the list, and where it is sought.
func TestAnUncertainPathIsNamed(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	at, err := os.OpenRoot(w.dir)
	for range 30 { // a path that is too long to be listed, also for root
		if err == nil {
			err = at.Mkdir(strings.Repeat("d", 200), 0o755)
		}
		if err == nil {
			next, opened := at.OpenRoot(strings.Repeat("d", 200))
			err = errors.Join(opened, at.Close())
			at = next
		}
	}
	if err != nil {
		t.Skip(err)
	}
	_ = at.Close()
	defer func() { // Wine removes only a shorter path
		_ = os.Rename(filepath.Join(w.dir, strings.Repeat(strings.Repeat("d", 200)+"/", 15)), filepath.Join(w.top, "half"))
	}()
	m := w.record("deep")
	if m.Snapshot == 0 || !strings.Contains(m.Notes, "one path is not certain: ddd") {
		t.Fatalf("%+v", m)
	}
	listed := w.list().Moments
	if got := listed[len(listed)-1]; got.Notes != m.Notes {
		t.Errorf("%+v", got)
	}
	if runtime.GOOS == "windows" {
		t.Skip("Wine neither writes nor removes a path of this length in a view")
	}
	if got := w.sought(m.ID(), "a"); got != "one" {
		t.Errorf("the other file has %q", got)
	}
}
