package zfs_test

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

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/zfs"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/providertest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

func TestItIsAProvider(t *testing.T) {
	s := suite(t)
	if !killtest.IsVictim() {
		s.Dir(t) // a pool that cannot be made skips the test, which a subtest cannot do
	}
	s.Run(t)
}

// TestAKilledProcessLeavesNothing that the next start does not remove: no snapshot, and no mount.
func TestAKilledProcessLeavesNothing(t *testing.T) { suite(t).Killed(t) }

// suite is on one pool for all tests of it.
func suite(all *testing.T) providertest.Suite {
	var pool disktest.Pool
	return providertest.Suite{
		Driver: zfs.Driver{}, OwnStore: true, Seconds: true, Anywhere: true, NeedsRoot: "mounting ZFS",
		Dir: func(t *testing.T) string {
			if pool.Name == "" { // not in the process that is killed
				pool = disktest.ZFS(all, 2<<30)
			}
			dir, err := os.MkdirTemp(pool.Dir, "world")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			pool.Create(t, dir)
			return dir
		},
		Make: func(t treetest.Fataler, path string) { pool.Create(t, path) },
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
		if name := strings.TrimSuffix(e.Name(), ".differs"); !known[name] && name != "dataset" {
			err = errors.Join(err, fmt.Errorf("%s was left", e.Name()))
		}
	}
	mounted, failed := mounts.Within(store)
	for _, m := range mounted {
		err = errors.Join(err, fmt.Errorf("%s is mounted", m.At))
	}
	return errors.Join(err, failed)
}

// world is a workspace on ZFS. Its stores are elsewhere.
type world struct {
	*testing.T
	pool           disktest.Pool
	dir, workspace string
	// name is the dataset's.
	name   string
	store  *native.Store
	record *tracked.Provider
}

// newWorld makes a dataset, and a workspace within it, "." for all of it.
func newWorld(t *testing.T, bytes int64, within string) *world {
	t.Helper()
	w := &world{T: t, pool: disktest.ZFS(t, bytes), dir: t.TempDir()}
	top := filepath.Join(w.pool.Dir, "project")
	w.name = w.pool.Create(t, top)
	w.workspace = filepath.Join(top, within)
	w.must(os.MkdirAll(w.workspace, 0o755))
	w.open()
	return w
}

func (w *world) open() {
	w.Helper()
	s, err := zfs.Open(w.Context(), w.workspace, filepath.Join(w.dir, "native"), time.Now)
	w.must(err)
	w.store = s
	w.record, err = tracked.Open(tracked.Options{
		Workspace: w.workspace, Store: filepath.Join(w.TempDir(), "store"), Clock: time.Now, Freezer: s, Deleting: func(n []uint64) { s.Forget(n...) },
	})
	w.must(err, s.Settle(w.Context(), w.record.List()))
	w.Cleanup(func() { w.must(w.record.Close(), dataset.Release(w.dir)) })
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

// snapshots returns the names of Tidemark's snapshots that ZFS has.
func (w *world) snapshots() []string {
	w.Helper()
	names, err := dataset.Snapshots(w.Context(), w.name, dataset.SnapshotPrefix)
	w.must(err)
	return names
}

// clones returns how many clones ZFS has.
func (w *world) clones() int {
	return strings.Count(disktest.Zfs(w.T, "list", "-H", "-o", "name", "-r", w.name), "/tidemark-")
}

// TestASnapshotIsListedSoughtBranchedAndDeleted, each as a clone, which keeps what it was made of.
func TestASnapshotIsListedSoughtBranchedAndDeleted(t *testing.T) {
	w := newWorld(t, 512<<20, ".")
	w.write("file", "one")
	w.write(".git/config", "git")
	n := w.take()
	w.write("file", "two")
	if names := w.snapshots(); !w.store.Has(n) || len(names) != 1 {
		t.Fatalf("%v", names)
	}
	view, clone := w.checkout(n, true), w.checkout(n, false)
	for _, dir := range []string{view, clone} {
		w.has(dir, "file", "one")
		if _, err := os.Lstat(filepath.Join(dir, ".git")); !dataset.Is(dir) || err == nil {
			t.Errorf("%s is not a clone, or has the repository: %v", dir, err)
		}
	}
	moved := filepath.Join(w.dir, "moved")
	w.must(dataset.Rename(clone, moved))
	var st unix.Statfs_t
	w.must(unix.Statfs(moved, &st))
	if _, err := os.Lstat(clone); st.Flags&unix.ST_NOSUID == 0 || st.Flags&unix.ST_NODEV == 0 || err == nil {
		t.Errorf("the clone is mounted with %x, %v", st.Flags, err)
	}
	if m, ok := mounts.On(view); !ok || !strings.HasPrefix(m.Flags, "ro,nosuid,nodev") {
		t.Errorf("the view is mounted with %q", m.Flags)
	}
	if err := os.WriteFile(filepath.Join(view, "file"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("root writes in a view: %v", err)
	}
	w.must(os.WriteFile(filepath.Join(moved, "file"), []byte("three"), 0o600))
	w.has(view, "file", "one")
	w.has(w.workspace, "file", "two")
	_, err := w.record.Prune(context.Background(), n)
	w.must(err)
	if names := w.snapshots(); len(names) > 0 {
		t.Errorf("%v is left of a deleted snapshot", names)
	}
	w.has(view, "file", "one")
	w.must(tracked.RemoveAll(view), tracked.RemoveAll(moved))
	for _, dir := range []string{view, moved} {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
	if all := disktest.Zfs(t, "list", "-H", "-t", "all", "-o", "name", "-r", w.name); strings.TrimSpace(all) != w.name {
		t.Errorf("ZFS still has %s", all)
	}
}

// TestADirectoryInADatasetIsReadFromItsSnapshot, which is destroyed then: a clone would show what is beside it.
func TestADirectoryInADatasetIsReadFromItsSnapshot(t *testing.T) {
	w := newWorld(t, 512<<20, "home/shop")
	w.must(os.WriteFile(filepath.Join(w.pool.Dir, "project", "home", "private"), nil, 0o600))
	w.write("file", "one")
	n := w.take()
	if err := w.store.Failed(); err != nil || w.store.Has(n) || len(w.snapshots()) > 0 || w.clones() > 0 {
		t.Fatalf("%v, %v, %d clones", err, w.snapshots(), w.clones())
	}
	if why := w.store.Serves(); why == nil || !strings.Contains(why.Error(), "a directory in the ZFS dataset "+w.name) {
		t.Error(why)
	}
	clone := w.checkout(n, false)
	w.has(clone, "file", "one")
	if dataset.Is(clone) {
		t.Error("the copy is a clone")
	}
}

// TestWhatIsNotOnADatasetHasAReason.
func TestWhatIsNotOnADatasetHasAReason(t *testing.T) {
	w := newWorld(t, 512<<20, "part")
	bound := filepath.Join(w.dir, "bound")
	w.must(os.Mkdir(bound, 0o755), unix.Mount(w.workspace, bound, "", unix.MS_BIND, ""))
	defer func() { w.must(unix.Unmount(bound, 0)) }()
	for dir, want := range map[string]string{w.dir: "the project is not on ZFS", bound: "only a part of the ZFS dataset " + w.name + " is mounted here"} {
		_, err := zfs.Open(t.Context(), dir, filepath.Join(w.dir, "other"), time.Now)
		if unfit := (&native.Unfit{}); !errors.As(err, &unfit) || unfit.Command != "" || !strings.Contains(unfit.Why, want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestADirtyFileIsWhole: what a program has written is in the snapshot, though nothing of it is on disk yet.
func TestADirtyFileIsWhole(t *testing.T) {
	w := newWorld(t, 2<<30, ".")
	var block []byte
	for i := range 300 { // MiB
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
	if !w.store.Has(n) {
		t.Error(w.store.Failed())
	}
}

// TestANestedDatasetIsNamed, and so is a mount: a snapshot would not have what is in it, so that the files are read instead.
func TestANestedDatasetIsNamed(t *testing.T) {
	w := newWorld(t, 512<<20, ".")
	w.write("file", "one")
	first := w.take()
	nested := filepath.Join(w.workspace, "nested")
	name := w.pool.Create(t, nested)
	w.write("nested/file", "nested")
	second := w.take()
	if err := w.store.Failed(); err == nil || !strings.Contains(err.Error(), "the ZFS dataset "+name+" in it, on "+nested) {
		t.Fatal(err)
	}
	if !w.store.Has(first) || w.store.Has(second) {
		t.Error("a snapshot without what is nested is kept, or an earlier one was removed")
	}
	w.has(w.checkout(second, false), "nested/file", "nested")
	disktest.Zfs(t, "destroy", name)
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

// TestWhatIsDestroyedBehindItsBackIsRecorded: the record makes the view instead.
func TestWhatIsDestroyedBehindItsBackIsRecorded(t *testing.T) {
	w := newWorld(t, 512<<20, ".")
	w.write("file", "one")
	n := w.take()
	disktest.Zfs(t, "destroy", w.name+"@"+w.snapshots()[0])
	w.has(w.checkout(n, true), "file", "one")
	w.has(w.checkout(n, false), "file", "one")
	if w.store.Has(n) {
		t.Error("the snapshot is still said to be there")
	}
	if damages := w.record.Check(); len(damages) > 0 {
		t.Error(damages)
	}
	w.must(w.store.Settle(t.Context(), w.record.List()))
}

// TestAFullPoolLosesNothing: old snapshots are removed for room, and the record is read from the workspace if need be.
func TestAFullPoolLosesNothing(t *testing.T) {
	w := newWorld(t, 256<<20, ".")
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
	filler, err := os.Create(filepath.Join(w.pool.Dir, "filler"))
	w.must(err)
	free := func() int64 {
		n, err := dataset.Free(w.pool.Dir)
		w.must(err)
		return n
	}
	for free() > 12<<20 { // in a full one, nothing can be removed either
		_, err := filler.Write(block)
		w.must(err)
	}
	w.must(os.Remove(filepath.Join(w.workspace, "large")))
	last := w.take()
	if all := w.snapshots(); len(all) > 2 {
		t.Errorf("%v are kept in a full pool, %v", all, w.store.Failed())
	}
	for err == nil {
		_, err = filler.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if f := w.store.Freeze(context.Background()); f != nil {
		f.Drop()
	} else if err := w.store.Failed(); !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	w.must(filler.Truncate(0), filler.Close())
	for i, n := range numbers {
		dir := filepath.Join(w.dir, "out")
		w.must(w.store.Checkout(context.Background(), w.record, n, dir, false))
		w.has(dir, "file", fmt.Sprint(i))
		w.must(tracked.RemoveAll(dir))
	}
	if _, err := os.Lstat(filepath.Join(w.checkout(last, true), "large")); err == nil {
		t.Error("a removed file is there")
	}
}

// TestWhatIsMountedOrUsedStays, with a reason, and is removed later.
func TestWhatIsMountedOrUsedStays(t *testing.T) {
	w := newWorld(t, 512<<20, ".")
	w.write("dir/file", "one")
	n := w.take()
	view, clone := w.checkout(n, true), w.checkout(n, false)
	within := filepath.Join(clone, "dir")
	w.must(unix.Mount("tmpfs", within, "tmpfs", 0, "size=1m"), os.WriteFile(filepath.Join(within, "mine"), []byte("mine"), 0o600))
	for _, dir := range []string{clone, w.dir} { // one above it too
		if err := tracked.RemoveAll(dir); err == nil || !strings.Contains(err.Error(), "something is mounted on "+within) {
			t.Error(err)
		}
	}
	w.has(within, "mine", "mine")
	w.must(unix.Unmount(within, 0))
	w.has(within, "file", "one")
	open, err := os.Open(filepath.Join(view, "dir", "file"))
	w.must(err)
	if err := tracked.RemoveAll(view); !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "because a program uses it") {
		t.Error(err)
	}
	w.has(view, "dir/file", "one")
	w.must(open.Close(), tracked.RemoveAll(view), tracked.RemoveAll(clone))
	if n := w.clones(); n != 0 {
		t.Errorf("%d clones are left", n)
	}
}

// TestABranchOutlivesTheOneThatItWasMadeOf, whose snapshots it needs.
func TestABranchOutlivesTheOneThatItWasMadeOf(t *testing.T) {
	w := newWorld(t, 512<<20, ".")
	w.write("file", "one")
	branch := w.checkout(w.take(), false)
	of := *w
	of.workspace, of.dir = branch, t.TempDir()
	of.open()
	of.write("file", "two")
	later := of.checkout(of.take(), false)
	of.write("file", "three")
	latest := of.checkout(of.take(), false)
	of.store.Clear()
	w.must(tracked.RemoveAll(branch))
	w.has(later, "file", "two")
	w.has(latest, "file", "three")
	w.must(tracked.RemoveAll(later))
	w.has(latest, "file", "three")
	w.must(tracked.RemoveAll(latest))
	if n := w.clones(); n != 0 {
		t.Errorf("%d clones are left", n)
	}
}

// TestADiscardedStoreLeavesNothing of a workspace, whose dataset may be gone.
func TestADiscardedStoreLeavesNothing(t *testing.T) {
	w := newWorld(t, 512<<20, ".")
	w.write("file", "one")
	w.take()
	w.write("file", "two")
	w.take()
	dir := filepath.Join(w.dir, "native")
	w.must(zfs.Discard(dir))
	left, err := os.ReadDir(dir)
	w.must(err)
	if len(left) > 0 || len(w.snapshots()) > 0 {
		t.Errorf("%v, %v", left, w.snapshots())
	}
	w.write("file", "three")
	w.take()
	disktest.Zfs(t, "destroy", "-r", w.name)
	w.must(zfs.Discard(dir), zfs.Discard(filepath.Join(w.dir, "missing")))
}

// TestAWorkspaceWhoseDatasetIsNotMountedIsNotEmpty: a branch is mounted again, the user's own dataset is named.
func TestAWorkspaceWhoseDatasetIsNotMountedIsNotEmpty(t *testing.T) {
	w := newWorld(t, 512<<20, ".")
	native := filepath.Join(w.dir, "native")
	w.must(zfs.Present(t.Context(), w.workspace, native)) // an empty one
	w.write("file", "one")
	branch := w.checkout(w.take(), false)
	of := *w
	of.workspace, of.dir = branch, t.TempDir()
	of.open()
	disktest.Zfs(t, "unmount", branch)
	w.must(zfs.Present(t.Context(), branch, filepath.Join(of.dir, "native")))
	w.has(branch, "file", "one")
	var st unix.Statfs_t
	if err := unix.Statfs(branch, &st); err != nil || st.Flags&unix.ST_NOSUID == 0 {
		t.Errorf("%x, %v", st.Flags, err)
	}
	disktest.Zfs(t, "unmount", w.workspace)
	if err := zfs.Present(t.Context(), w.workspace, native); err == nil || !strings.Contains(err.Error(), "Run `zfs mount "+w.name+"` and try again") {
		t.Error(err)
	}
	w.write("file", "without it")
	w.must(zfs.Present(t.Context(), w.workspace, native), os.Remove(filepath.Join(w.workspace, "file")))
	disktest.Zfs(t, "mount", w.name)
	w.must(zfs.Present(t.Context(), w.workspace, native))
}
