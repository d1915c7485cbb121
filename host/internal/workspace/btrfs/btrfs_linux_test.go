package btrfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/btrfs"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/providertest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

func TestItIsAProvider(t *testing.T) {
	s := suite(t)
	if !killtest.IsVictim() {
		s.Dir(t) // a filesystem that cannot be made skips the test, which a subtest cannot do
	}
	s.Run(t)
}

// TestAKilledProcessLeavesNothing that the next start does not remove: no part of a snapshot, and no mount.
func TestAKilledProcessLeavesNothing(t *testing.T) { suite(t).Killed(t) }

// suite is on one filesystem for all tests of it.
func suite(all *testing.T) providertest.Suite {
	top := ""
	return providertest.Suite{
		Driver: btrfs.Driver{}, OwnStore: true, NeedsRoot: "mounting Btrfs",
		Dir: func(t *testing.T) string {
			if top == "" { // not in the process that is killed
				top = disktest.Btrfs(all, disktest.Options{Bytes: 2 << 30})
			}
			dir, err := os.MkdirTemp(top, "world")
			if err != nil {
				t.Fatal(err)
			}
			return dir
		},
		Make: func(t treetest.Fataler, path string) {
			if err := subvolume.Create(path); err != nil {
				t.Fatal(err)
			}
		},
		Left: left,
	}
}

// left returns an error for what a process that was killed has left: a snapshot that no record names, or a mount.
func left(store string, records []provider.Snapshot) error {
	known := map[string]bool{}
	for _, r := range records {
		known[fmt.Sprintf("s%d-%d", r.Number, r.At.UnixNano())] = true
	}
	entries, err := os.ReadDir(filepath.Join(store, "native"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), ".differs"); is && known[name] {
			continue
		}
		if !known[e.Name()] || !subvolume.ReadOnly(filepath.Join(store, "native", e.Name())) {
			err = errors.Join(err, fmt.Errorf("%s was left", e.Name()))
		}
	}
	mounted, failed := mounts.Within(store)
	for _, m := range mounted {
		err = errors.Join(err, fmt.Errorf("%s is mounted", m.At))
	}
	return errors.Join(err, failed)
}

// world is a workspace on Btrfs, with a store on it.
type world struct {
	*testing.T
	dir, workspace string
	store          *native.Store
	record         *tracked.Provider
}

func newWorld(t *testing.T, o disktest.Options) *world {
	t.Helper()
	w := &world{T: t, dir: disktest.Btrfs(t, o)}
	w.workspace = filepath.Join(w.dir, "workspace")
	w.must(subvolume.Create(w.workspace))
	w.open()
	return w
}

func (w *world) open() {
	w.Helper()
	s, err := btrfs.Open(w.Context(), w.workspace, filepath.Join(w.dir, "native"), time.Now)
	w.must(err)
	w.store = s
	w.record, err = tracked.Open(tracked.Options{
		Workspace: w.workspace, Store: filepath.Join(w.TempDir(), "store"), Clock: time.Now, Freezer: s, Deleting: func(n []uint64) { s.Forget(n...) },
	})
	w.must(err, s.Settle(w.Context(), w.record.List()))
	w.Cleanup(func() { w.must(w.record.Close()) })
}

func (w *world) must(errs ...error) {
	w.Helper()
	for _, err := range errs {
		if err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) write(name, content string) {
	w.Helper()
	path := filepath.Join(w.workspace, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600))
}

func (w *world) take() uint64 {
	w.Helper()
	s, _, err := w.record.Take(context.Background(), "test")
	w.must(err)
	if len(s.Problems) > 0 {
		w.Fatal(s.Problems)
	}
	return s.Number
}

func (w *world) checkout(number uint64, readOnly bool) string {
	w.Helper()
	dir := filepath.Join(w.dir, fmt.Sprintf("checkout-%d-%v", number, readOnly))
	w.must(w.store.Checkout(context.Background(), w.record, number, dir, readOnly))
	return dir
}

func (w *world) has(dir, name, want string) {
	w.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	w.must(err)
	if string(content) != want {
		w.Fatalf("%s in %s is %.40q instead of %.40q", name, dir, content, want)
	}
}

// native returns the names of the filesystem's snapshots.
func (w *world) native() (names []string) {
	w.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, "native"))
	w.must(err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".differs") {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestASnapshotIsListedSoughtBranchedAndDeleted, each as a subvolume.
func TestASnapshotIsListedSoughtBranchedAndDeleted(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("file", "one")
	w.write(".git/config", "git")
	n := w.take()
	w.write("file", "two")
	if names := w.native(); !w.store.Has(n) || len(names) != 1 {
		t.Fatalf("%v", names)
	}
	view, clone := w.checkout(n, true), w.checkout(n, false)
	for _, dir := range []string{view, clone} {
		w.has(dir, "file", "one")
		if _, err := os.Lstat(filepath.Join(dir, ".git")); !subvolume.Is(dir) || err == nil {
			t.Errorf("%s is not a subvolume, or has the repository: %v", dir, err)
		}
	}
	if err := os.WriteFile(filepath.Join(view, "file"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("root writes in a view: %v", err)
	}
	w.must(os.WriteFile(filepath.Join(clone, "file"), []byte("three"), 0o600))
	w.has(view, "file", "one")
	w.has(w.workspace, "file", "two")
	_, err := w.record.Prune(context.Background(), n)
	w.must(err)
	if names := w.native(); len(names) > 0 {
		t.Errorf("%v is left of a deleted snapshot", names)
	}
	w.has(view, "file", "one")
	w.must(tracked.RemoveAll(view), tracked.RemoveAll(clone))
	for _, dir := range []string{view, clone} {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
}

// TestADirectoryIsNoSubvolume, nor is anything on another filesystem. Both have a reason.
func TestADirectoryIsNoSubvolume(t *testing.T) {
	top := disktest.Btrfs(t, disktest.Options{})
	dir := filepath.Join(top, "directory")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{dir: "not a Btrfs subvolume", disktest.Small(t, "1m"): "not on Btrfs"} {
		_, err := btrfs.Open(t.Context(), dir, filepath.Join(top, "native"), time.Now)
		if unfit := (&native.Unfit{}); !errors.As(err, &unfit) || unfit.Command != "" || !strings.Contains(unfit.Why, want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestADirtyFileIsWhole: what a program has written is in the snapshot, though nothing of it is on disk yet.
func TestADirtyFileIsWhole(t *testing.T) {
	w := newWorld(t, disktest.Options{Bytes: 2 << 30})
	var block []byte
	for i := range 300 { // MiB, more than a pack has
		block = append(block, bytes.Repeat([]byte{byte(i)}, 1<<20)...)
	}
	w.must(os.WriteFile(filepath.Join(w.workspace, "large"), block, 0o600))
	n := w.take()
	w.must(os.WriteFile(filepath.Join(w.workspace, "large"), block[:1<<20], 0o600))
	recorded := filepath.Join(w.dir, "recorded")
	w.must(w.record.Checkout(context.Background(), n, recorded, true))
	for _, dir := range []string{w.checkout(n, true), recorded} {
		content, err := os.ReadFile(filepath.Join(dir, "large"))
		w.must(err)
		if !bytes.Equal(content, block) {
			t.Errorf("%s has %d bytes of it, or others", dir, len(content))
		}
	}
}

// TestWhatChangesMeanwhileIsAsRecorded: the filesystem copies times and contents of such files at different instants. The view
// has them as the record has, which read them itself, and the large one, which changes all the time, is named.
func TestWhatChangesMeanwhileIsAsRecorded(t *testing.T) {
	w := newWorld(t, disktest.Options{Bytes: 2 << 30})
	const size = 48 << 20
	w.write("large", "")
	w.write("first", "0")
	w.write("second", "0")
	stop, stopped := make(chan struct{}), make(chan error, 1)
	began := make(chan struct{})
	go func() {
		stopped <- func() error {
			large, err := os.OpenFile(filepath.Join(w.workspace, "large"), os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer func() { _ = large.Close() }()
			block := make([]byte, 1<<20)
			for i := 1; ; i++ {
				select {
				case <-stop:
					return nil
				default:
				}
				for at := range block { // each block has one number
					block[at] = byte(i)
				}
				if _, err := large.WriteAt(block, int64(i%(size>>20))<<20); err != nil {
					return err
				}
				for _, name := range []string{"first", "second"} {
					f, err := os.OpenFile(filepath.Join(w.workspace, name), os.O_WRONLY, 0)
					if err == nil {
						_, err = fmt.Fprintf(f, "%d", i)
						err = errors.Join(err, f.Close())
					}
					if err != nil {
						return err
					}
				}
				if i == size>>20 {
					close(began)
				}
			}
		}()
	}()
	<-began
	s, _, err := w.record.Take(context.Background(), "test")
	w.must(err)
	n := s.Number
	close(stop)
	w.must(<-stopped)
	for _, problem := range s.Problems {
		if !strings.HasPrefix(problem, "large: it changed") {
			t.Error(problem)
		}
	}
	if err := w.store.Failed(); err != nil {
		t.Fatal(err)
	}
	native, recorded := w.checkout(n, true), filepath.Join(w.dir, "recorded")
	w.must(w.record.Checkout(context.Background(), n, recorded, true))
	if one, two := treetest.Read(t, native), treetest.Read(t, recorded); strings.ReplaceAll(strings.Join(one, "\n"), "600", "400") != strings.Join(two, "\n") {
		t.Errorf("the snapshot is\n%s\nand its record\n%s", strings.Join(one, "\n"), strings.Join(two, "\n"))
	}
}

// TestANestedSubvolumeIsNamed, and so is a mount: a snapshot would not have what is in it, so that the files are read instead.
func TestANestedSubvolumeIsNamed(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("file", "one")
	first := w.take()
	w.must(os.Mkdir(filepath.Join(w.workspace, "dir"), 0o755), subvolume.Create(filepath.Join(w.workspace, "dir", "nested")))
	w.write("dir/nested/file", "nested")
	second := w.take()
	if err := w.store.Failed(); err == nil || !strings.Contains(err.Error(), "the subvolume dir/nested in it") {
		t.Fatal(err)
	}
	if !w.store.Has(first) || w.store.Has(second) {
		t.Error("a snapshot without what is nested is kept, or an earlier one was removed")
	}
	w.has(w.checkout(second, false), "dir/nested/file", "nested")
	w.must(tracked.RemoveAll(filepath.Join(w.workspace, "dir")))
	mounted := filepath.Join(w.workspace, "mounted")
	w.must(os.Mkdir(mounted, 0o755), unix.Mount("tmpfs", mounted, "tmpfs", 0, "size=1m"))
	defer func() { w.must(unix.Unmount(mounted, 0)) }()
	w.write("mounted/file", "on another filesystem")
	third := w.take()
	if err := w.store.Failed(); err == nil || !strings.Contains(err.Error(), "something is mounted on "+mounted) {
		t.Fatal(err)
	}
	w.has(w.checkout(third, false), "mounted/file", "on another filesystem")
}

// TestWhatIsDeletedBehindItsBackIsRecorded: the record makes the view instead. What is not the snapshot is not used.
func TestWhatIsDeletedBehindItsBackIsRecorded(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	var numbers []uint64
	for _, content := range []string{"one", "two", "three"} {
		w.write("file", content)
		numbers = append(numbers, w.take())
	}
	names := w.native()
	at := func(i int) string { return filepath.Join(w.dir, "native", names[i]) }
	w.must(subvolume.Delete(at(0)))
	w.must(subvolume.SetReadOnly(at(1), false), os.WriteFile(filepath.Join(at(1), "file"), []byte("changed"), 0o600))
	w.must(subvolume.Delete(at(2)), os.Mkdir(at(2), 0o755), os.WriteFile(filepath.Join(at(2), "file"), []byte("another"), 0o600))
	for i, want := range []string{"one", "two", "three"} {
		w.has(w.checkout(numbers[i], true), "file", want)
		w.has(w.checkout(numbers[i], false), "file", want)
		if w.store.Has(numbers[i]) {
			t.Errorf("s%d is still said to be there", numbers[i])
		}
	}
	if damages := w.record.Check(); len(damages) > 0 {
		t.Error(damages)
	}
}

// TestAFullFilesystemLosesNothing: old snapshots are removed for room, and the record is read from the workspace if need be.
func TestAFullFilesystemLosesNothing(t *testing.T) {
	w := newWorld(t, disktest.Options{Bytes: 256 << 20})
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * i >> 8)
	}
	var numbers []uint64
	for i := range 4 { // each pins what the workspace has deleted
		w.write("large", strings.Repeat(string(block), 24)+fmt.Sprint(i))
		w.write("file", fmt.Sprint(i))
		numbers = append(numbers, w.take())
	}
	filler, err := os.Create(filepath.Join(w.dir, "filler"))
	w.must(err)
	for err == nil {
		_, err = filler.Write(block)
	}
	_ = filler.Close()
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	w.must(os.Remove(filepath.Join(w.workspace, "large")))
	last := w.take()
	if all := w.native(); len(all) > 2 {
		t.Errorf("%v are kept on a full filesystem, %v", all, w.store.Failed())
	}
	w.must(os.Remove(filler.Name()))
	for i, n := range numbers {
		dir := filepath.Join(w.TempDir(), "out")
		w.must(w.store.Checkout(context.Background(), w.record, n, dir, false))
		w.has(dir, "file", fmt.Sprint(i))
	}
	if _, err := os.Lstat(filepath.Join(w.checkout(last, true), "large")); err == nil {
		t.Error("a removed file is there")
	}
}

// TestWhatIsMountedStays: nothing under a mount is removed, and a view that a program works in is removed all the same.
func TestWhatIsMountedStays(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("dir/file", "one")
	n := w.take()
	view, clone := w.checkout(n, true), w.checkout(n, false)
	for _, dir := range []string{view, clone} {
		within := filepath.Join(dir, "dir")
		w.must(unix.Mount("tmpfs", within, "tmpfs", 0, "size=1m"))
		mine := filepath.Join(within, "mine")
		w.must(os.WriteFile(mine, []byte("mine"), 0o600))
		err := tracked.RemoveAll(dir)
		if err == nil || !strings.Contains(err.Error(), "something is mounted on "+within) {
			t.Error(err)
		}
		w.has(within, "mine", "mine")
		w.must(unix.Unmount(within, 0))
		w.has(within, "file", "one")
	}
	open, err := os.Open(filepath.Join(view, "dir", "file"))
	w.must(err)
	defer func() { _ = open.Close() }()
	w.must(tracked.RemoveAll(view), tracked.RemoveAll(clone))
	b := make([]byte, 3)
	if _, err := open.Read(b); err != nil || string(b) != "one" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestOldSnapshotsAreRemoved, but not their records.
func TestOldSnapshotsAreRemoved(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	const more = 5
	for i := range 50 + more {
		w.write("file", fmt.Sprint(i))
		if n := w.take(); n != uint64(i+1) {
			t.Fatal(n)
		}
	}
	w.store.Trim()
	if got := len(w.native()); got != 50 || w.store.Has(more) || !w.store.Has(more+1) {
		t.Errorf("%d are kept", got)
	}
	w.has(w.checkout(1, true), "file", "0")
}

// noting is a freezer that notes when the filesystem was asked last.
type noting struct {
	*native.Store
	at time.Time
}

func (n *noting) Freeze(ctx context.Context) *tracked.Frozen {
	f := n.Store.Freeze(ctx)
	n.at = f.At
	return f
}

// TestASnapshotHasTheTimeOfItsContent, and not when the last file of it was read.
func TestASnapshotHasTheTimeOfItsContent(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	n := &noting{Store: w.store}
	record, err := tracked.Open(tracked.Options{Workspace: w.workspace, Store: filepath.Join(t.TempDir(), "store"), Clock: time.Now, Freezer: n})
	w.must(err)
	defer func() { w.must(record.Close()) }()
	last := time.Time{}
	for _, content := range []string{"one", "two"} {
		w.write("file", content)
		s, _, err := record.Take(t.Context(), "test")
		w.must(err)
		if !s.At.Equal(n.at) || !s.At.After(last) || !w.store.Has(s.Number) {
			t.Errorf("%v is its time instead of %v", s.At, n.at)
		}
		last = s.At
	}
}

// TestWhatCannotBeKeptIsRemovedAtOnce: it would keep room on a full filesystem.
func TestWhatCannotBeKeptIsRemovedAtOnce(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("file", "one")
	f := w.store.Freeze(t.Context())
	if f == nil {
		t.Fatal(w.store.Failed())
	}
	at := time.Now()
	blocked := filepath.Join(w.dir, "native", fmt.Sprintf("s1-%d", at.UnixNano()))
	w.must(os.MkdirAll(filepath.Join(blocked, "in"), 0o700))
	f.Keep(&tracked.Snapshot{Number: 1, At: at}, []string{"file"})
	w.must(os.RemoveAll(blocked))
	left, err := os.ReadDir(filepath.Join(w.dir, "native"))
	if err != nil || len(left) > 0 || w.store.Failed() == nil || w.store.Has(1) {
		t.Errorf("%v is left, %v, %v", left, err, w.store.Failed())
	}
}
