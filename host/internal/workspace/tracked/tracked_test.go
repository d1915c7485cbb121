package tracked_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/disksize"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

func openProvider(t treetest.Fataler, workspace, store string, changes tracked.Changes) *tracked.Provider {
	t.Helper()
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: store, Clock: time.Now, Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEachSnapshotIsTheTreeAsItWas, whatever the edits, from whichever state it is checked out, and after reopening: with
// all paths compared, and with those that may have changed.
func TestEachSnapshotIsTheTreeAsItWas(t *testing.T) {
	top := t.TempDir()
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(t *rapid.T) {
		p := newSide(t, top, editor, rapid.Bool().Draw(t, "watched"))
		for range rapid.IntRange(1, 6).Draw(t, "snapshots") {
			for range rapid.IntRange(0, 12).Draw(t, "edits") {
				editor.Edit(t, p.dir)
			}
			s, _, err := p.Take(context.Background(), "test")
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Problems) > 0 {
				t.Fatal(s.Problems)
			}
			p.was[s.Number] = treetest.Read(t, p.dir)
			if rapid.Bool().Draw(t, "reopen") {
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				p.open(t)
			}
		}
		for n, want := range p.was {
			dir := filepath.Join(p.base, fmt.Sprintf("s%d", n))
			if err := p.Checkout(context.Background(), n, dir, false); err != nil {
				t.Fatal(err)
			}
			if got := treetest.Read(t, dir); !slices.Equal(got, want) {
				t.Fatalf("s%d is\n%q\nwas\n%q", n, got, want)
			}
		}
		for from := range p.was {
			for to := range p.was {
				changes, err := p.Diff(from, to)
				if err != nil {
					t.Fatal(err)
				}
				if same := slices.Equal(p.was[from], p.was[to]); same && len(changes) > 1 { // the workspace itself may have another time
					t.Fatalf("from s%d to s%d: %+v", from, to, changes)
				}
			}
		}
		if damages := p.Check(); len(damages) > 0 {
			t.Fatal(damages)
		}
	})
}

func TestNothingChangedIsTheSameSnapshot(t *testing.T) {
	dir := t.TempDir()
	workspace := filepath.Join(dir, "workspace")
	if err := errors.Join(os.Mkdir(workspace, 0o755), os.WriteFile(filepath.Join(workspace, "a"), []byte("a"), 0o600)); err != nil {
		t.Fatal(err)
	}
	p := openProvider(t, workspace, filepath.Join(dir, "store"), nil)
	defer func() { _ = p.Close() }()
	first, same, err := p.Take(context.Background(), "one")
	if err != nil || same {
		t.Fatal(same, err)
	}
	second, same, err := p.Take(context.Background(), "two")
	if err != nil || !same || second.Number != first.Number {
		t.Fatal(second, same, err)
	}
}

// TestTheWorkspacesOwnRepositoryIsLeftOut, and one within it is content.
func TestTheWorkspacesOwnRepositoryIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	workspace := filepath.Join(dir, "workspace")
	for _, path := range []string{".git/config", "nested/.git/config"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(workspace, path)), 0o755), os.WriteFile(filepath.Join(workspace, path), []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p := openProvider(t, workspace, filepath.Join(dir, "store"), nil)
	defer func() { _ = p.Close() }()
	s, _, err := p.Take(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	if err := p.Checkout(context.Background(), s.Number, out, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, ".git")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the workspace's repository was checked out")
	}
	if _, err := os.Stat(filepath.Join(out, "nested", ".git", "config")); err != nil {
		t.Error(err)
	}
	if err := tracked.RemoveAll(out); err != nil {
		t.Error(err)
	}
}

// still reports that nothing has changed, after the first time.
type still struct{ asked bool }

func (s *still) Take(context.Context) (tree.Dirty, bool, error) {
	whole := !s.asked
	s.asked = true
	return nil, whole, nil
}

func (*still) Since(context.Context) (tree.Dirty, bool, error) { return nil, false, nil }

func (*still) Return(tree.Dirty, bool) {}

// TestAProblemStaysUntilItIsSolved, though nothing reports that the path has changed.
func TestAProblemStaysUntilItIsSolved(t *testing.T) {
	dir := t.TempDir()
	workspace := filepath.Join(dir, "workspace")
	at, err := os.OpenRoot(dir)
	name := "workspace"
	for range 30 { // a path that is too long to be listed
		if err == nil {
			err = at.Mkdir(name, 0o755)
		}
		if err == nil {
			next, opened := at.OpenRoot(name)
			err = errors.Join(opened, at.Close())
			at = next
		}
		name = strings.Repeat("d", 200)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = at.Close()
	p := openProvider(t, workspace, filepath.Join(dir, "store"), &still{})
	defer func() { _ = p.Close() }()
	take := func(problems int) *tracked.Snapshot {
		t.Helper()
		s, _, err := p.Take(context.Background(), "")
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Problems) != problems {
			t.Fatalf("s%d has the problems %.300q", s.Number, s.Problems)
		}
		return s
	}
	first := take(1)
	if second := take(1); second.Number != first.Number {
		t.Fatal("nothing changed, and it is another snapshot")
	}
	// Wine does not remove a path of this length, so half of it goes elsewhere. macOS does not rename one, and removes it.
	_ = os.Rename(filepath.Join(workspace, strings.Repeat(name+"/", 15)), filepath.Join(dir, "half"))
	if err := os.RemoveAll(filepath.Join(workspace, name)); err != nil {
		t.Fatal(err)
	}
	if third := take(0); third.Number == first.Number {
		t.Fatal("it is the same snapshot")
	}
}

// TestAFirstSnapshotThatFindsNoRoomIsTakenAgain, completely.
func TestAFirstSnapshotThatFindsNoRoomIsTakenAgain(t *testing.T) {
	small, workspace := disktest.Small(t, "1m"), t.TempDir()
	for i := range 20 {
		path := filepath.Join(workspace, fmt.Sprint("d", i%3), fmt.Sprint(i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(strings.Repeat(fmt.Sprint(i), 500)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p := openProvider(t, workspace, filepath.Join(small, "store"), nil)
	defer func() { _ = p.Close() }()
	ballast := filepath.Join(small, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	if s, _, err := p.Take(context.Background(), "full"); err == nil {
		t.Fatalf("a full disk has room for %+v", s)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s, same, err := p.Take(context.Background(), "room")
	if err != nil || same || s.Files != 23 || s.Changed != 20 {
		t.Fatal(s, same, err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := p.Checkout(context.Background(), s.Number, dir, false); err != nil {
		t.Fatal(err)
	}
	if got, want := treetest.Read(t, dir), treetest.Read(t, workspace); !slices.Equal(got, want) {
		t.Errorf("it is\n%s\nand was\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, same, err := p.Take(context.Background(), "again"); err != nil || !same {
		t.Error(same, err)
	}
}

// TestHolesAreNotRead: a file of many GiB that is mostly holes is stored and written in the time that its data needs, and
// has the same holes then.
func TestHolesAreNotRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no file counts as sparse")
	}
	workspace := t.TempDir()
	const size = 20<<30 + 12345
	path := filepath.Join(workspace, "disk.img")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[int64]int{0: 10, 5<<20 + 1: 3 << 20, 9 << 20: 4096, 1 << 30: 1 << 20, 20 << 30: 12345}
	for at, length := range parts {
		b := make([]byte, length)
		_, _ = rand.Read(b)
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}
	used := disksize.Of(workspace)
	if used > 64<<20 {
		t.Skipf("the filesystem makes no holes: %d bytes", used)
	}
	p := openProvider(t, workspace, filepath.Join(t.TempDir(), "store"), nil)
	defer func() { _ = p.Close() }()
	began := time.Now()
	s, _, err := p.Take(context.Background(), "")
	if err != nil || len(s.Problems) > 0 {
		t.Fatal(s, err)
	}
	took := time.Since(began)
	out := filepath.Join(t.TempDir(), "out")
	if err := p.Checkout(context.Background(), s.Number, out, false); err != nil {
		t.Fatal(err)
	}
	t.Logf("taken in %v, written in %v", took, time.Since(began)-took)
	copied := filepath.Join(out, "disk.img")
	if is := disksize.Of(out); is > used+1<<20 {
		t.Errorf("it takes %d bytes, and took %d", is, used)
	}
	a, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	b, err := os.Open(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	if info, err := b.Stat(); err != nil || info.Size() != size {
		t.Error(info, err)
	}
	for at, length := range parts {
		around := max(0, at-5000)
		x, y := make([]byte, length+10_000), make([]byte, length+10_000)
		n, _ := a.ReadAt(x, around)
		m, _ := b.ReadAt(y, around)
		if n != m || !bytes.Equal(x, y) {
			t.Errorf("the data at %d differ", at)
		}
	}
	// A small edit stores what it changed, and a file that is cut is another one.
	stored := p.Size()
	if f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("edit"), 10<<30)
	if err = errors.Join(err, f.Truncate(11<<30), f.Close()); err != nil {
		t.Fatal(err)
	}
	if s, _, err = p.Take(context.Background(), ""); err != nil || len(s.Problems) > 0 {
		t.Fatal(s, err)
	}
	if more := p.Size() - stored; more > 1<<20 {
		t.Errorf("the edit takes %d bytes", more)
	}
	if damages := p.Check(); len(damages) > 0 {
		t.Error(damages)
	}
}

// TestWhatFindsNoRoomLeavesNothing: after a snapshot that a disk has no room for, it has room for others, and says what to do.
// What a killed process left is in the way of none.
func TestWhatFindsNoRoomLeavesNothing(t *testing.T) {
	small, workspace := disktest.Small(t, "8m"), t.TempDir()
	random := func(size int) []byte {
		b := make([]byte, size)
		_, _ = rand.Read(b)
		return b
	}
	write := func(name string, size int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(workspace, name), random(size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("small", 100)
	p := openProvider(t, workspace, filepath.Join(small, "store"), nil)
	defer func() { _ = p.Close() }()
	take := func() error {
		_, _, err := p.Take(context.Background(), "")
		return err
	}
	if err := take(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		before := p.Size()
		write("large", 12<<20)
		if err := take(); err == nil || !strings.Contains(err.Error(), "large: ") || !strings.Contains(err.Error(), "no space left on device. Free some space on this disk, or delete") {
			t.Fatal(err)
		}
		if p.Size() > before {
			t.Errorf("it left %d bytes", p.Size()-before)
		}
		write("large", 1000)
		if err := take(); err != nil {
			t.Fatal(err)
		}
	}
	if err := tracked.Leave(p, random(3<<20), random(3<<20)); err != nil {
		t.Fatal(err)
	}
	write("large", 2<<20)
	if err := take(); err != nil {
		t.Error(err)
	}
	if damages := p.Check(); len(damages) > 0 {
		t.Error(damages)
	}
}

// TestASnapshotSaysWhenItsStateWasLastSeen: a look that finds nothing changed moves that time, not the snapshot's own.
func TestASnapshotSaysWhenItsStateWasLastSeen(t *testing.T) {
	var seconds atomic.Int64
	r := newRoom(t, tracked.Options{Clock: func() time.Time { return time.Unix(1_700_000_000+seconds.Add(1), 0) }})
	r.write("a", []byte("one"))
	take := func(same bool) *tracked.Snapshot {
		t.Helper()
		s, was, err := r.p.Take(t.Context(), "x")
		if err != nil || was != same {
			t.Fatal(s, was, err)
		}
		return s
	}
	first := take(false)
	if !first.Seen.Before(first.At) {
		t.Errorf("complete at %v, last seen from %v", first.At, first.Seen)
	}
	again := take(true)
	if !again.Seen.After(first.Seen) || !again.At.Equal(first.At) || again.Number != first.Number {
		t.Errorf("%+v, then %+v", first, again)
	}
	r.write("a", []byte("two"))
	if next := take(false); !next.Seen.After(again.Seen) || !r.p.List()[0].Seen.Equal(again.Seen) {
		t.Errorf("%+v after %+v", next, again)
	}
}

// An estimate counts what a checkout writes, measures how long that takes, and leaves nothing.
func TestAnEstimateOfACheckout(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(fmt.Sprint("file ", i%7)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.Symlink("0", filepath.Join(dir, "sub", "link")), os.WriteFile(filepath.Join(dir, "sub", "big"), make([]byte, 1<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	files := 302
	if _, err := os.Lstat(filepath.Join(dir, "sub", "link")); err != nil {
		files-- // Wine makes none, and says that it did
	}
	p := openProvider(t, dir, store, nil)
	defer func() { _ = p.Close() }()
	s, _, err := p.Take(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	above := t.TempDir()
	e, err := tracked.EstimateCheckout(t.Context(), p, s.Number, filepath.Join(above, "copy"))
	if err != nil || e.Files != files || e.Bytes < 1<<20+300*6 || e.Bytes > 1<<20+300*6+10 || e.Time <= 0 {
		t.Errorf("the estimate is %+v, %v", e, err)
	}
	if left, _ := os.ReadDir(above); len(left) != 0 {
		t.Errorf("it leaves %v", left)
	}
	if _, err := tracked.EstimateCheckout(t.Context(), p, s.Number+1, filepath.Join(above, "copy")); err == nil {
		t.Error("a snapshot that does not exist has an estimate")
	}
}

// TestAStoreThatIsRemovedTakesNoMore: what would be written to it is lost.
func TestAStoreThatIsRemovedTakesNoMore(t *testing.T) {
	top := t.TempDir()
	workspace, store := filepath.Join(top, "workspace"), filepath.Join(top, "store")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	p := openProvider(t, workspace, store, nil)
	defer func() { _ = p.Close() }()
	if _, _, err := p.Take(t.Context(), "before"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(store); err != nil {
		t.Skip(err) // Windows removes no open file
	}
	for range 2 {
		if _, _, err := p.Take(t.Context(), "after"); err == nil || !strings.Contains(err.Error(), "tidemark stop") {
			t.Fatal(err)
		}
		if err := os.MkdirAll(store, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
