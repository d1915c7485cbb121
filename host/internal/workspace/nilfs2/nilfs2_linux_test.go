package nilfs2_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/nilfs2"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/providertest"
)

func TestItIsAProvider(t *testing.T) {
	s := suite(t)
	if !killtest.IsVictim() {
		s.Dir(t) // a filesystem that cannot be made skips the test, which a subtest cannot do
	}
	s.Run(t)
}

// TestAKilledProcessLeavesNothing that the next start does not remove: no snapshot, and no mount.
func TestAKilledProcessLeavesNothing(t *testing.T) { suite(t).Killed(t) }

// suite is on one filesystem for all tests of it.
func suite(all *testing.T) providertest.Suite {
	top := ""
	return providertest.Suite{
		Driver: nilfs2.Driver{}, OwnStore: true, NeedsRoot: "mounting NILFS2",
		Dir: func(t *testing.T) string {
			if top == "" { // not in the process that is killed
				top = disktest.NILFS2(all, disktest.Options{Bytes: 8 << 30})
			}
			dir, err := os.MkdirTemp(top, "world")
			if err != nil {
				t.Fatal(err)
			}
			return dir
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
	of, _, _ := nilfscp.Of(store)
	for _, e := range entries {
		name := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".cp"), ".differs")
		if !known[name] {
			err = errors.Join(err, fmt.Errorf("%s was left", e.Name()))
			continue
		}
		content, failed := os.ReadFile(filepath.Join(store, "native", name+".cp"))
		c, invalid := nilfscp.Parse(string(content))
		now, promoted, missing := of.Get(c.Number)
		if failed = errors.Join(failed, invalid, missing); failed == nil && (now != c || !promoted) {
			failed = fmt.Errorf("%s is no snapshot", name)
		}
		err = errors.Join(err, failed)
	}
	mounted, failed := mounts.Within(store)
	for _, m := range mounted {
		err = errors.Join(err, fmt.Errorf("%s is mounted", m.At))
	}
	return errors.Join(err, failed)
}

// world is a workspace on NILFS2, with a store on it.
type world struct {
	*testing.T
	dir, workspace string
	of             nilfscp.Filesystem
	store          *native.Store
	record         *tracked.Provider
}

func newWorld(t *testing.T, o disktest.Options) *world {
	t.Helper()
	w := &world{T: t, dir: disktest.NILFS2(t, o)}
	w.workspace = filepath.Join(w.dir, "in", "workspace")
	w.must(os.MkdirAll(w.workspace, 0o755))
	w.of, _, _ = nilfscp.Of(w.workspace)
	w.open()
	w.Cleanup(func() { w.must(w.record.Close(), nilfscp.Release(filepath.Join(w.dir, "native"))) })
	return w
}

func (w *world) open() {
	w.Helper()
	s, err := nilfs2.Open(w.Context(), w.workspace, filepath.Join(w.dir, "native"), time.Now)
	w.must(err)
	w.store = s
	w.record, err = tracked.Open(tracked.Options{
		Workspace: w.workspace, Store: filepath.Join(w.dir, "store"), Clock: time.Now, Freezer: s, Deleting: func(n []uint64) { s.Forget(n...) },
	})
	w.must(err, s.Settle(w.Context(), w.record.List()))
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

// view makes a view, which is unmounted at the end of the test.
func (w *world) view(number uint64) string {
	w.Helper()
	dir := filepath.Join(w.dir, fmt.Sprintf("view-%d", number))
	w.must(w.store.Checkout(context.Background(), w.record, number, dir, true))
	w.Cleanup(func() { w.must(tracked.RemoveAll(dir)) })
	return dir
}

func (w *world) clone(number uint64) string {
	w.Helper()
	dir := filepath.Join(w.dir, fmt.Sprintf("clone-%d", number))
	w.must(w.store.Checkout(context.Background(), w.record, number, dir, false))
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

// kept returns the numbers of checkpoints that Tidemark keeps, in the order of its snapshots.
func (w *world) kept() (numbers []uint64) {
	w.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "native", "s*.cp"))
	w.must(err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		w.must(err)
		c, err := nilfscp.Parse(string(content))
		w.must(err)
		numbers = append(numbers, c.Number)
	}
	slices.Sort(numbers)
	return numbers
}

// promoted returns the numbers of all snapshots of the filesystem.
func (w *world) promoted() []uint64 { return disktest.Snapshots(w.T, w.dir) }

// TestASnapshotIsListedSoughtBranchedAndUnpromoted: its view is a mount of it, its branch a copy.
func TestASnapshotIsListedSoughtBranchedAndUnpromoted(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("file", "one")
	w.write(".git/config", "git")
	w.must(os.WriteFile(filepath.Join(w.dir, "beside"), nil, 0o600))
	n := w.take()
	w.write("file", "two")
	if all := w.promoted(); !w.store.Has(n) || w.store.Clones(n) || len(all) != 1 || !slices.Equal(all, w.kept()) {
		t.Fatalf("%v, %v", all, w.kept())
	}
	view, clone := w.view(n), w.clone(n)
	w.has(view, "file", "one")
	w.has(clone, "file", "one")
	m, ok := mounts.On(view)
	if !ok || !nilfscp.Is(view) || nilfscp.Is(clone) || m.Root != "/in/workspace" || !strings.HasPrefix(m.Flags, "ro,nosuid,nodev") {
		t.Errorf("%+v", m)
	}
	if entries, err := os.ReadDir(filepath.Join(view, ".git")); err != nil || len(entries) > 0 {
		t.Errorf("the repository in a view has %v, %v", entries, err)
	}
	if _, err := os.Lstat(filepath.Join(clone, ".git")); err == nil {
		t.Error("the repository is in a branch")
	}
	for _, name := range []string{"file", ".git/new"} {
		if err := os.WriteFile(filepath.Join(view, name), nil, 0o600); !errors.Is(err, unix.EROFS) {
			t.Errorf("root writes %s in a view: %v", name, err)
		}
	}
	w.must(os.WriteFile(filepath.Join(clone, "file"), []byte("three"), 0o600))
	w.has(view, "file", "one")
	w.has(w.workspace, "file", "two")
	_, err := w.record.Prune(context.Background(), n)
	w.must(err)
	w.has(view, "file", "one") // as long as it is used
	w.must(tracked.RemoveAll(view), tracked.RemoveAll(clone))
	w.take()
	if all := w.promoted(); len(all) != 1 || !slices.Equal(all, w.kept()) {
		t.Errorf("%v are promoted, %v are kept", all, w.kept())
	}
	for _, dir := range []string{view, clone} {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
}

// TestOnlyADirectoryOnNILFS2HasItsSnapshots. What is on another filesystem, or in a snapshot, has a reason.
func TestOnlyADirectoryOnNILFS2HasItsSnapshots(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("file", "one")
	view := w.view(w.take())
	for dir, want := range map[string]string{t.TempDir(): "not on NILFS2", view: "in a NILFS2 snapshot"} {
		_, err := nilfs2.Open(t.Context(), dir, filepath.Join(w.dir, "other"), time.Now)
		if unfit := (&native.Unfit{}); !errors.As(err, &unfit) || unfit.Command != "" || !strings.Contains(unfit.Why, want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestWhatAUserPromotedStays: neither a snapshot of the state that Tidemark takes, nor an earlier one, is unpromoted.
func TestWhatAUserPromotedStays(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	for i := range 3 {
		w.write("file", fmt.Sprint(i))
		disktest.Nilfs(t, "mkcp", "-s", disktest.Device(t, w.dir)) // nothing changes until Tidemark's
		w.take()
	}
	theirs := slices.DeleteFunc(w.promoted(), func(n uint64) bool { return slices.Contains(w.kept(), n) })
	if len(theirs) != 3 || len(w.kept()) != 3 {
		t.Fatalf("%v are the user's, %v Tidemark's", theirs, w.kept())
	}
	// What Tidemark kept once and a user unpromoted is not its any more.
	first := w.kept()[0]
	device := disktest.Device(t, w.dir)
	disktest.Nilfs(t, "chcp", "cp", device, fmt.Sprint(first))
	w.store.Clear()
	if got := w.promoted(); !slices.Equal(got, theirs) {
		t.Errorf("%v are left of the user's %v", got, theirs)
	}
	w.must(nilfs2.Discard(filepath.Join(w.dir, "native")))
	if got := w.promoted(); !slices.Equal(got, theirs) {
		t.Errorf("%v are left of the user's %v", got, theirs)
	}
}

// TestSeveralStoresShareNoCheckpoint: those of two homes promote at the same time, and each removes only its own. A copy of a store
// has none.
func TestSeveralStoresShareNoCheckpoint(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("file", "one")
	var stores [2]string
	var records [2]*tracked.Provider
	var kept [2]*native.Store
	for i := range stores {
		stores[i] = filepath.Join(w.dir, fmt.Sprintf("home-%d", i), "native")
		w.must(os.MkdirAll(filepath.Dir(stores[i]), 0o700))
		s, err := nilfs2.Open(w.Context(), w.workspace, stores[i], time.Now)
		w.must(err)
		kept[i] = s
		records[i], err = tracked.Open(tracked.Options{Workspace: w.workspace, Store: filepath.Join(w.TempDir(), "store"), Clock: time.Now, Freezer: s})
		w.must(err, s.Settle(w.Context(), records[i].List()))
		defer func() { w.must(records[i].Close()) }()
	}
	for round := range 5 {
		w.write("file", fmt.Sprint(round))
		done := make(chan error)
		for i := range records {
			go func() {
				_, _, err := records[i].Take(context.Background(), "test")
				done <- errors.Join(err, kept[i].Failed())
			}()
		}
		w.must(<-done, <-done)
	}
	all := w.promoted()
	if len(all) != 10 || len(slices.Compact(slices.Clone(all))) != 10 {
		t.Fatalf("%v are promoted", all)
	}
	copied := filepath.Join(w.dir, "home-2", "native")
	w.must(os.MkdirAll(filepath.Dir(copied), 0o700), os.CopyFS(copied, os.DirFS(stores[0])), nilfs2.Discard(copied))
	if now := w.promoted(); !slices.Equal(now, all) {
		t.Errorf("a copy of a store removed some of %v: %v", all, now)
	}
	w.must(nilfs2.Discard(stores[0]))
	if now := w.promoted(); len(now) != 5 {
		t.Errorf("%v are left of the other store", now)
	}
	for _, s := range records[1].List() {
		dir := filepath.Join(w.dir, fmt.Sprintf("view-of-%d", s.Number))
		w.must(kept[1].Checkout(w.Context(), records[1], s.Number, dir, true))
		if w.has(dir, "file", fmt.Sprint(s.Number-1)); !nilfscp.Is(dir) {
			t.Errorf("%s is no mount", dir)
		}
		w.must(tracked.RemoveAll(dir))
	}
	w.must(nilfs2.Discard(stores[1]))
}

// TestADirtyFileIsWhole: what a program has written is in the snapshot, though nothing of it is on disk yet.
func TestADirtyFileIsWhole(t *testing.T) {
	w := newWorld(t, disktest.Options{Bytes: 2 << 30})
	var block []byte
	mib := 300
	if testing.Short() {
		mib = 24
	}
	for i := range mib {
		block = append(block, bytes.Repeat([]byte{byte(i)}, 1<<20)...)
	}
	w.must(os.WriteFile(filepath.Join(w.workspace, "large"), block, 0o600))
	n := w.take()
	w.must(os.WriteFile(filepath.Join(w.workspace, "large"), block[:1<<20], 0o600))
	for _, dir := range []string{w.view(n), w.clone(n)} {
		content, err := os.ReadFile(filepath.Join(dir, "large"))
		w.must(err)
		if !bytes.Equal(content, block) {
			t.Errorf("%s has %d bytes of it, or others", dir, len(content))
		}
	}
}

// TestWhatChangesMeanwhileIsAsRecorded: the record reads such files itself. A view has the same.
func TestWhatChangesMeanwhileIsAsRecorded(t *testing.T) {
	w := newWorld(t, disktest.Options{Bytes: 2 << 30})
	for _, name := range []string{"first", "second"} {
		w.write(name, "00000000")
	}
	stop, stopped, began := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		var files [2]*os.File
		var err error
		for i, name := range []string{"first", "second"} {
			var failed error
			files[i], failed = os.OpenFile(filepath.Join(w.workspace, name), os.O_WRONLY, 0)
			err = errors.Join(err, failed)
		}
		for i := 1; err == nil; i++ {
			for _, f := range files {
				if err == nil {
					_, err = f.WriteAt(fmt.Appendf(nil, "%08d", i), 0)
				}
			}
			if i == 1 {
				close(began)
			}
			select {
			case <-stop:
				stopped <- errors.Join(files[0].Close(), files[1].Close())
				return
			default:
			}
		}
		stopped <- err
	}()
	<-began
	var numbers []uint64
	for range 5 {
		s, _, err := w.record.Take(context.Background(), "test")
		w.must(err, w.store.Failed())
		for _, problem := range s.Problems { // a slow machine never reads a file twice that does not change in between
			if !strings.HasPrefix(problem, "first: it changed") && !strings.HasPrefix(problem, "second: it changed") {
				t.Error(problem)
			}
		}
		numbers = append(numbers, s.Number)
	}
	close(stop)
	w.must(<-stopped)
	for _, n := range numbers {
		view, recorded := w.view(n), w.clone(n)
		var states [2][2]string
		for i, dir := range []string{view, recorded} {
			for k, name := range []string{"first", "second"} {
				content, err := os.ReadFile(filepath.Join(dir, name))
				w.must(err)
				states[i][k] = string(content)
			}
		}
		if states[0][0] == "00000000" || states[0] != states[1] {
			t.Errorf("s%d has %q, and its record %q", n, states[0], states[1])
		}
	}
}

// TestAMountInTheWorkspaceIsNamed: a snapshot would not have what is in it, so that the files are read instead.
func TestAMountInTheWorkspaceIsNamed(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("file", "one")
	first := w.take()
	mounted := filepath.Join(w.workspace, "mounted")
	w.must(os.Mkdir(mounted, 0o755), unix.Mount("tmpfs", mounted, "tmpfs", 0, "size=1m"))
	defer func() { w.must(unix.Unmount(mounted, 0)) }()
	w.write("mounted/file", "on another filesystem")
	second := w.take()
	if err := w.store.Failed(); err == nil || !strings.Contains(err.Error(), "something is mounted on "+mounted) {
		t.Fatal(err)
	}
	if !w.store.Has(first) || w.store.Has(second) {
		t.Error("a snapshot without what is mounted is kept, or an earlier one was removed")
	}
	w.has(w.clone(second), "mounted/file", "on another filesystem")
}

// TestWhatIsDeletedBehindItsBackIsRecorded: the record makes the view of a snapshot that was unpromoted, that the cleaner removed
// after that, or whose file names another one.
func TestWhatIsDeletedBehindItsBackIsRecorded(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	contents := []string{"one", "two", "three"}
	var numbers []uint64
	for _, content := range contents {
		w.write("file", content)
		numbers = append(numbers, w.take())
	}
	device, kept := disktest.Device(t, w.dir), w.kept()
	for _, n := range kept[:2] {
		disktest.Nilfs(t, "chcp", "cp", device, fmt.Sprint(n))
	}
	disktest.Nilfs(t, "rmcp", device, fmt.Sprint(kept[1])) // as the cleaner does
	files, err := filepath.Glob(filepath.Join(w.dir, "native", fmt.Sprintf("s%d-*.cp", numbers[2])))
	w.must(err, os.WriteFile(files[0], fmt.Appendf(nil, "%d 1 2 3\n%s", kept[2], device), 0o600))
	for i, want := range contents {
		view := w.view(numbers[i])
		w.has(view, "file", want)
		if nilfscp.Is(view) || w.store.Has(numbers[i]) {
			t.Errorf("s%d is still said to be there", numbers[i])
		}
		w.has(w.clone(numbers[i]), "file", want)
	}
	if damages := w.record.Check(); len(damages) > 0 {
		t.Error(damages)
	}
}

// TestWhatIsExcludedIsInNoView: the record makes the view then.
func TestWhatIsExcludedIsInNoView(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("file", "one")
	w.write(".git", "gitdir: elsewhere") // as in a worktree of Git
	n := w.take()
	view := w.view(n)
	w.has(view, "file", "one")
	if _, err := os.Lstat(filepath.Join(view, ".git")); err == nil || nilfscp.Is(view) || !w.store.Has(n) {
		t.Errorf("a view of a worktree has its repository: %v", err)
	}
}

// TestAFullFilesystemLosesNothing: old snapshots are unpromoted for room, and the record is read from the workspace if need be.
func TestAFullFilesystemLosesNothing(t *testing.T) {
	w := newWorld(t, disktest.Options{Bytes: 256 << 20})
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * i >> 8)
	}
	var numbers []uint64
	for i := range 4 {
		w.write("large", strings.Repeat(string(block), 16)+fmt.Sprint(i))
		w.write("file", fmt.Sprint(i))
		numbers = append(numbers, w.take())
	}
	filler, err := os.Create(filepath.Join(w.dir, "filler"))
	w.must(err)
	for err == nil {
		if _, err = filler.Write(block); err == nil {
			err = filler.Sync()
		}
	}
	_ = filler.Close()
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if s, _, err := w.record.Take(context.Background(), "full"); err == nil {
		numbers = append(numbers, s.Number)
	}
	if all := w.promoted(); len(all) > 1 {
		t.Errorf("%v are kept on a full filesystem, %v", all, w.store.Failed())
	}
	for i, n := range numbers[:4] {
		dir := filepath.Join(w.TempDir(), "out")
		w.must(w.store.Checkout(context.Background(), w.record, n, dir, false))
		w.has(dir, "file", fmt.Sprint(i))
	}
}

// TestWhatIsMountedStays: nothing is unmounted where something else is mounted, nor a view that a program works in.
func TestWhatIsMountedStays(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("dir/file", "one")
	view := w.view(w.take())
	within := filepath.Join(view, "dir")
	w.must(unix.Mount("tmpfs", within, "tmpfs", 0, "size=1m"))
	w.must(os.WriteFile(filepath.Join(within, "mine"), []byte("mine"), 0o600))
	if err := tracked.RemoveAll(view); err == nil || !strings.Contains(err.Error(), "something is mounted on "+within) {
		t.Error(err)
	}
	w.has(within, "mine", "mine")
	w.must(unix.Unmount(within, 0))
	open, err := os.Open(filepath.Join(view, "dir", "file"))
	w.must(err)
	if err := tracked.RemoveAll(view); !errors.Is(err, nilfscp.ErrBusy) || !strings.Contains(err.Error(), "because a program uses it") {
		t.Error(err)
	}
	w.has(within, "file", "one")
	w.must(open.Close(), tracked.RemoveAll(view))
	if _, err := os.Lstat(view); err == nil {
		t.Error("the view is still there")
	}
}

// TestACrashLeavesNoMount: what was mounted for reading is unmounted when the workspace is opened next, and what was promoted for it
// is unpromoted.
func TestACrashLeavesNoMount(t *testing.T) {
	w := newWorld(t, disktest.Options{})
	w.write("file", "one")
	n := w.take()
	f := w.store.Freeze(w.Context())
	if f == nil {
		t.Fatal(w.store.Failed())
	}
	if reading := filepath.Join(w.dir, "native", "reading"); !nilfscp.Is(reading) || len(w.promoted()) != 2 {
		t.Fatalf("nothing is mounted, and %v are promoted", w.promoted())
	}
	w.must(w.of.Mount(w.kept()[0], filepath.Join(w.dir, "native", "opening-X"))) // as while a view is made
	w.must(w.record.Close())
	w.open()
	mounted, err := mounts.Below(w.dir)
	if err != nil || len(mounted) > 0 || len(w.promoted()) != 1 || !w.store.Has(n) {
		t.Errorf("%v is mounted, %v are promoted, %v", mounted, w.promoted(), err)
	}
}

// TestOldSnapshotsAreUnpromoted, but their records stay.
func TestOldSnapshotsAreUnpromoted(t *testing.T) {
	w := newWorld(t, disktest.Options{Bytes: 2 << 30})
	const more = 5
	for i := range 50 + more {
		w.write("file", fmt.Sprint(i))
		if n := w.take(); n != uint64(i+1) {
			t.Fatal(n)
		}
	}
	w.store.Trim()
	if got := w.promoted(); len(got) != 50 || !slices.Equal(got, w.kept()) || w.store.Has(more) || !w.store.Has(more+1) {
		t.Errorf("%d are kept", len(got))
	}
	w.has(w.view(1), "file", "0")
}
