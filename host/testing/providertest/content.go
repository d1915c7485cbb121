package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// trees: whatever the edits, each snapshot that is left is the tree as it was, after deletions and reopening too.
func trees(t *testing.T, s Suite) {
	top := s.world(t).dir
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp(top, "case")
		if err != nil {
			t.Fatal(err)
		}
		defer remove(base)
		w := s.in(t, base)
		defer func() { w.must(w.Close()) }()
		was := map[uint64][]string{}
		for range rapid.IntRange(1, 5).Draw(t, "snapshots") {
			for range rapid.IntRange(0, 10).Draw(t, "edits") {
				editor.Edit(t, w.workspace)
			}
			n := w.take()
			was[n] = treetest.Read(t, w.workspace)
			switch rapid.IntRange(0, 4).Draw(t, "then") {
			case 0:
				w.reopen()
			case 1:
				gone := rapid.SampledFrom(slices.Sorted(maps.Keys(was))).Draw(t, "deleted")
				w.must(w.Delete(context.Background(), gone))
				delete(was, gone)
			}
		}
		for n, want := range was {
			w.is(n, want)
		}
		w.clean()
	})
}

func oddNames(t *testing.T, s Suite) {
	w := s.world(t)
	names := []string{
		"-rf", "with space", "new\nline", "tab\t", "quote\"'`$(x)", "back\\slash", "\xff\xfe", "ü", "ü", "日本", "...", ".hidden", "CON", "a:b", "*?", strings.Repeat("n", 255), "\x01\x1b[31m",
	}
	for i, name := range names {
		if !filepath.IsLocal(name) { // on Windows a device, or a stream of a file
			t.Logf("%q is not a name on this system", name)
			continue
		}
		dir := w.path(fmt.Sprint("dir", i))
		w.must(os.Mkdir(dir, 0o755))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Logf("the filesystem does not take %q: %v", name, err)
			continue
		}
		w.must(os.Symlink(name, filepath.Join(dir, "link")), os.MkdirAll(filepath.Join(dir, "in", name), 0o700))
	}
	w.is(w.take(), treetest.Read(t, w.workspace))

	// A path longer than the system takes at once.
	at, err := os.OpenRoot(w.workspace)
	w.must(err)
	defer func() { _ = os.Rename(w.path(strings.Repeat(strings.Repeat("d", 200)+"/", 15)), w.path("half")) }() // Wine removes only a shorter one
	for range 30 {
		w.must(at.Mkdir(strings.Repeat("d", 200), 0o755))
		next, err := at.OpenRoot(strings.Repeat("d", 200))
		w.must(err, at.Close())
		at = next
	}
	w.must(at.WriteFile("file", []byte("deep"), 0o600), at.Close())
	snapshot, _, err := w.Snapshot(context.Background(), "deep")
	switch {
	case err != nil:
		t.Logf("a path of 6,000 bytes is refused: %v", err)
	case len(snapshot.Problems) > 0:
		t.Logf("a path of 6,000 bytes is a problem: %.80s…", snapshot.Problems[0])
	default:
		dir := w.clone(snapshot.Number, "deep")
		at, err := os.OpenRoot(dir)
		w.must(err)
		for range 30 {
			next, err := at.OpenRoot(strings.Repeat("d", 200))
			w.must(err, at.Close())
			at = next
		}
		content, err := at.ReadFile("file")
		w.must(err, at.Close())
		if string(content) != "deep" {
			t.Fatalf("it has %q", content)
		}
		w.release(dir)
	}
}

func empty(t *testing.T, s Suite) {
	w := s.world(t)
	if all := w.numbers(); len(all) > 0 {
		t.Fatal(all)
	}
	first := w.take()
	again, same, err := w.Snapshot(context.Background(), "again")
	w.must(err)
	if same != (again.Number == first) {
		t.Fatalf("s%d is the same as s%d: %v", again.Number, first, same)
	}
	w.is(first, treetest.Read(t, w.workspace))
	w.reopen()
	w.is(first, treetest.Read(t, w.workspace))
	w.clean()
}

// incompressible makes a content.
func incompressible(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rand.Uint32()) //nolint:gosec // what cannot be compressed
	}
	return string(b)
}

func deletion(t *testing.T, s Suite) {
	w := s.world(t)
	const size = 3 << 20
	total := func() int64 {
		t.Helper()
		u, err := w.Usage(context.Background())
		w.must(err)
		if u.Contents < 0 || u.History < 0 || u.Reclaimable < 0 {
			t.Fatalf("%+v", u)
		}
		return u.Total()
	}
	w.write("kept", "kept")
	first, want := w.take(), treetest.Read(t, w.workspace)
	small := total()
	w.write("large", incompressible(size))
	second := w.take()
	w.must(os.Remove(w.path("large")))
	third, last := w.take(), treetest.Read(t, w.workspace)
	if grown := total() - small; grown < size*9/10 {
		t.Fatalf("the usage grew by %d bytes", grown)
	}
	w.must(w.Delete(context.Background(), second))
	if left := total() - small; left > size/10 {
		t.Fatalf("%d bytes are left", left)
	}
	w.is(first, want)
	w.is(third, last)
	w.must(w.Delete(context.Background(), first, third)) // the newest too
	if all := w.numbers(); len(all) > 0 {
		t.Fatal(all)
	}
	w.reopen()
	if n := w.take(); n <= third {
		t.Fatalf("s%d comes after s%d", n, third)
	} else {
		w.is(n, last)
	}
	w.clean()
}

func unknown(t *testing.T, s Suite) {
	w := s.world(t)
	check := func(number, nearest uint64) {
		t.Helper()
		dir := filepath.Join(w.dir, "unknown")
		for _, err := range []error{
			w.View(context.Background(), number, dir), w.Clone(context.Background(), number, dir), w.Delete(context.Background(), number),
		} {
			u := &provider.UnknownError{}
			if !errors.As(err, &u) || u.Number != number || u.Nearest != nearest {
				t.Fatalf("%v; the nearest is s%d", err, nearest)
			}
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Fatalf("%s was created", dir)
		}
	}
	check(7, 0)
	var all []uint64
	for _, content := range []string{"one", "two", "three", "four"} {
		w.write("file", content)
		all = append(all, w.take())
	}
	w.must(w.Delete(context.Background(), all[0], all[2]))
	check(all[0], all[1])
	check(all[2], all[1])
	check(all[3]+1, all[3])
	if got := w.numbers(); !slices.Equal(got, []uint64{all[1], all[3]}) {
		t.Fatal(got)
	}
}

// clock: numbers and contents do not depend on the time.
func clock(t *testing.T, s Suite) {
	w := s.world(t)
	at := time.Now()
	w.now = func() time.Time { return at }
	was := map[uint64][]string{}
	var before uint64
	for i, step := range []time.Duration{0, -time.Hour, -48 * time.Hour, 365 * 24 * time.Hour, -time.Minute} {
		at = at.Add(step)
		w.write("file", fmt.Sprint(i)) // of the same size
		n := w.take()
		if n <= before {
			t.Fatalf("s%d comes after s%d", n, before)
		}
		was[n] = treetest.Read(t, w.workspace)
		next := fmt.Sprint(i + 5) // at once, as if within the same tick
		if s.Seconds {            // which nothing but the size tells if the clock is wrong
			next += "."
		}
		w.write("file", next)
		before = w.take()
		was[before] = treetest.Read(t, w.workspace)
		w.reopen()
	}
	if got := w.numbers(); !slices.IsSorted(got) || len(got) != len(was) {
		t.Fatal(got)
	}
	for n, want := range was {
		w.is(n, want)
	}
}

// mistakes of the caller are errors, and change nothing.
func mistakes(t *testing.T, s Suite) {
	w := s.world(t)
	w.write("file", "content")
	n, want := w.take(), treetest.Read(t, w.workspace)
	there := filepath.Join(w.dir, "there")
	w.must(os.Mkdir(there, 0o755), os.WriteFile(filepath.Join(there, "file"), []byte("mine"), 0o600))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for what, err := range map[string]error{
		"a view in an existing directory":    w.View(context.Background(), n, there),
		"a clone in an existing directory":   w.Clone(context.Background(), n, there),
		"a clone in the workspace itself":    w.Clone(context.Background(), n, w.workspace),
		"a release of the workspace":         w.Release(context.Background(), w.workspace),
		"a release of everything":            w.Release(context.Background(), w.dir),
		"a snapshot that is cancelled":       func() error { _, _, err := w.Snapshot(cancelled, ""); return err }(),
		"a view that is cancelled":           w.View(cancelled, n, filepath.Join(w.dir, "cancelled")),
		"a deletion that exists only partly": w.Delete(context.Background(), n, n+1),
	} {
		if err == nil {
			t.Errorf("%s is no error", what)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.dir, "cancelled")); err == nil {
		t.Error("a cancelled view is there")
	}
	if content, err := os.ReadFile(filepath.Join(there, "file")); string(content) != "mine" {
		t.Errorf("%q, %v", content, err)
	}
	w.same("the workspace", treetest.Read(t, w.workspace), want)
	w.is(n, want)
	w.clean()
}
