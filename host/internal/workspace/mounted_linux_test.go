package workspace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/mounttest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// mountWorld is a workspace whose views and branches are mounted, however small they are.
type mountWorld struct {
	t             treetest.Fataler
	top, dir      string
	all           *workspace.Workspaces
	w             *workspace.Workspace
	later         time.Duration
	branchesByNow int
	// alone is true for branches by FUSE alone.
	alone  bool
	server []string
}

func newMountWorld(t treetest.Fataler, top string) *mountWorld { return newMountWorldOf(t, top, false) }

// onBothForms runs a test of branches on each form of them.
func onBothForms(t *testing.T, test func(t *testing.T, alone bool)) {
	t.Helper()
	mounttest.Need(t)
	t.Run("kernel", func(t *testing.T) {
		if overlay.Best() != overlay.Kernel {
			t.Skip("only root mounts overlays of the kernel")
		}
		test(t, false)
	})
	t.Run("alone", func(t *testing.T) { test(t, true) })
}

func newMountWorldOf(t treetest.Fataler, top string, alone bool) *mountWorld {
	return newMountWorldBy(t, top, alone, mounttest.Server())
}

func newMountWorldBy(t treetest.Fataler, top string, alone bool, server []string) *mountWorld {
	m := &mountWorld{t: t, top: top, dir: filepath.Join(top, "workspace"), alone: alone, server: server}
	m.must(os.MkdirAll(m.dir, 0o755), os.Mkdir(filepath.Join(top, "branches"), 0o700))
	m.start()
	return m
}

// start is what a daemon does when it starts.
func (m *mountWorld) start() {
	store := &grants.Store{File: filepath.Join(m.top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now}
	_, err := store.Allow(context.Background(), m.dir, nil, nil)
	m.must(err)
	m.all = workspace.New(workspace.Options{
		Grants: store, Dir: filepath.Join(m.top, "home"), Redactor: redact.Default(), Clock: func() time.Time { return time.Now().Add(m.later) }, Log: slog.New(slog.DiscardHandler),
		Server: m.server, MountFiles: 1, FUSEAlone: m.alone,
	})
	m.all.Heal(filepath.Join(m.top, "home"))
	m.all.Heal(filepath.Join(m.top, "branches"))
	m.w, err = m.all.Open(context.Background(), m.dir)
	m.must(err)
}

func (m *mountWorld) must(errs ...error) {
	m.t.Helper()
	if err := errors.Join(errs...); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mountWorld) take() uint64 {
	m.t.Helper()
	s, _, err := m.w.Take(context.Background(), "", "", true)
	m.must(err)
	return s.Number
}

func (m *mountWorld) view(number uint64) string {
	m.t.Helper()
	dir, err := m.w.View(context.Background(), number)
	m.must(err)
	if form := workspace.Form(m.w, dir, false); form != "mounted (FUSE)" {
		m.t.Fatal(form)
	}
	return dir
}

func (m *mountWorld) branch(number uint64) string {
	m.t.Helper()
	m.branchesByNow++
	dir := filepath.Join(m.top, "branches", fmt.Sprint("b", m.branchesByNow))
	m.must(workspace.CloneAs(context.Background(), m.w, number, dir, dir+".making"))
	want := "mounted (overlay of the kernel above a FUSE mount of the snapshot)"
	if m.alone {
		want = "mounted (FUSE alone)"
	}
	if form := workspace.Form(m.w, dir, true); form != want {
		m.t.Fatal(form)
	}
	return dir
}

// end removes everything, and checks that nothing is mounted any more.
func (m *mountWorld) end() {
	m.t.Helper()
	m.all.CloseDir(m.dir)
	m.must(tracked.RemoveAll(m.top))
	if _, err := os.Lstat(m.top); !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	list, err := mounts.Within(m.top)
	m.must(err)
	if len(list) > 0 {
		m.t.Fatal(list)
	}
}

func (m *mountWorld) write(path, content string) {
	m.t.Helper()
	m.must(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)) //nolint:gosec // a test's
}

func (m *mountWorld) has(path, want string) {
	m.t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		m.t.Fatalf("%s has %q, %v; want %q", path, got, err, want)
	}
}

// servers returns the processes that serve snapshots of this world.
func (m *mountWorld) servers() (pids []int) {
	m.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	m.must(err)
	for _, path := range all {
		line, _ := os.ReadFile(path)
		words := strings.Split(string(line), "\x00")
		if len(words) > 2 && words[0] == m.server[0] && strings.HasPrefix(words[2], m.top+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill kills the processes that serve, and waits until they have ended.
func (m *mountWorld) kill() {
	m.t.Helper()
	pids := m.servers()
	if len(pids) == 0 {
		m.t.Fatal("no process serves")
	}
	for _, pid := range pids {
		m.must(unix.Kill(pid, unix.SIGKILL))
	}
	for _, pid := range pids {
		for unix.Kill(pid, 0) == nil { // it is a child of this process, which waits for it
			runtime.Gosched()
		}
	}
}

func TestMountedViewsAndBranchesAreWhatTheWorkspaceWas(t *testing.T) {
	mounttest.Need(t)
	mountedIsWhatTheWorkspaceWas(t, func(t *rapid.T, base string) *mountWorld {
		return newMountWorldOf(t, base, overlay.Best() == overlay.Alone || rapid.Bool().Draw(t, "by FUSE alone"))
	})
}

// TestMountedBranchesAreWhatTheWorkspaceWasByPaths is the same for what mounts on Windows.
func TestMountedBranchesAreWhatTheWorkspaceWasByPaths(t *testing.T) {
	mounttest.Need(t)
	server := needPaths(t)
	mountedIsWhatTheWorkspaceWas(t, func(t *rapid.T, base string) *mountWorld { return newMountWorldBy(t, base, true, server) })
}

func mountedIsWhatTheWorkspaceWas(t *testing.T, start func(t *rapid.T, base string) *mountWorld) {
	top := t.TempDir()
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp(top, "case: a,b\\c")
		if err != nil {
			t.Fatal(err)
		}
		m := start(t, base)
		defer m.end()
		was := map[uint64][]string{}
		for range rapid.IntRange(1, 3).Draw(t, "snapshots") {
			for range rapid.IntRange(1, 10).Draw(t, "edits") {
				editor.Edit(t, m.dir)
			}
			m.must(os.WriteFile(filepath.Join(m.dir, "never empty"), nil, 0o600)) // else it is not mounted
			was[m.take()] = treetest.Read(t, m.dir)
		}
		for number, want := range was {
			dir := m.branch(number)
			if got := treetest.Read(t, dir); !slices.Equal(got, want) {
				t.Fatalf("the branch is\n%s\nand was\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			editor.Edit(t, dir)
			changed := treetest.Read(t, dir)
			other := m.branch(number)
			if got := treetest.Read(t, other); !slices.Equal(got, want) {
				t.Fatalf("another branch is\n%s\nand was\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			editor.Edit(t, other)
			if got := treetest.Read(t, dir); !slices.Equal(got, changed) {
				t.Fatalf("the branch changed to\n%s\nfrom\n%s", strings.Join(got, "\n"), strings.Join(changed, "\n"))
			}
		}
	})
}

func TestAMountedViewCannotBeWrittenTo(t *testing.T) {
	mounttest.Need(t)
	mountedCannotBeWrittenTo(t, mounttest.Server())
}

// TestAMountedViewCannotBeWrittenToByPaths is the same for what mounts on Windows.
func TestAMountedViewCannotBeWrittenToByPaths(t *testing.T) {
	mounttest.Need(t)
	mountedCannotBeWrittenTo(t, needPaths(t))
}

func mountedCannotBeWrittenTo(t *testing.T, server []string) {
	m := newMountWorldBy(t, mkdirTop(t), false, server)
	defer m.end()
	m.write(filepath.Join(m.dir, "src", "file"), "content")
	view := m.view(m.take())
	file := filepath.Join(view, "src", "file")
	m.has(file, "content")
	for what, err := range map[string]error{
		"write":  os.WriteFile(file, nil, 0o600),
		"remove": os.Remove(file),
		"create": os.WriteFile(filepath.Join(view, "new"), nil, 0o600),
		"chmod":  os.Chmod(file, 0o777), //nolint:gosec // it fails
		"rename": os.Rename(file, file+"2"),
		"touch":  os.Chtimes(file, time.Now(), time.Now()),
		"xattr":  unix.Setxattr(file, "user.a", []byte("b"), 0),
	} {
		if !errors.Is(err, unix.EROFS) {
			t.Errorf("%s: %v", what, err)
		}
	}
	confined(t, view, "ro")
	info, err := os.Stat(file)
	m.must(err)
	if info.Mode() != 0o444 {
		t.Error(info.Mode())
	}
	if again := m.view(1); again != view || len(m.servers()) != 1 {
		t.Error(again, m.servers())
	}
	// An hour later nobody needs it.
	m.later = 2 * time.Hour
	m.all.Sweep()
	m.start()
	if _, err := os.Lstat(view); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	left, err := os.ReadDir(filepath.Dir(view))
	if err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// confined fails unless what is mounted on a directory gives no privileges and no devices.
func confined(t *testing.T, dir, writes string) {
	t.Helper()
	if m, ok := mounts.On(dir); !ok || !strings.HasPrefix(m.Flags, writes+",nosuid,nodev") {
		t.Errorf("%s is mounted with %q", dir, m.Flags)
	}
}

// TestProgramsInABranchGetNoPrivileges, and no devices.
func TestProgramsInABranchGetNoPrivileges(t *testing.T) {
	onBothForms(t, func(t *testing.T, alone bool) {
		m := newMountWorldOf(t, mkdirTop(t), alone)
		defer m.end()
		m.write(filepath.Join(m.dir, "file"), "original")
		confined(t, m.branch(m.take()), "rw")
	})
}

// TestAKilledProcessLeavesNoDeadMount: what it served is detached when the daemon starts, and is there again when it is asked for.
func TestAKilledProcessLeavesNoDeadMount(t *testing.T) {
	onBothForms(t, testAKilledProcessLeavesNoDeadMount)
}

func testAKilledProcessLeavesNoDeadMount(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "one")
	number := m.take()
	view, branch := m.view(number), m.branch(number)
	m.write(filepath.Join(branch, "written"), "in the branch")
	m.write(filepath.Join(branch, "file"), "changed")
	dead := func() {
		t.Helper()
		m.has(filepath.Join(view, "file"), "one")
		m.kill()
		m.has(filepath.Join(view, "file"), "one") // the kernel keeps what it has read
		for _, dir := range []string{view, branch} {
			if _, err := os.Lstat(filepath.Join(dir, "not looked up")); !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
				t.Errorf("a dead mount: %v", err)
			}
		}
	}
	whole := func() {
		t.Helper()
		m.has(filepath.Join(m.view(number), "file"), "one")
		m.must(m.all.Present(context.Background(), branch))
		m.has(filepath.Join(branch, "written"), "in the branch")
		m.has(filepath.Join(branch, "file"), "changed")
	}
	dead() // while the daemon runs
	whole()
	dead()
	m.all.CloseDir(m.dir)
	m.start()
	list, err := mounts.Within(m.top)
	m.must(err)
	if len(list) > 0 {
		t.Errorf("%v is mounted", list)
	}
	stray := filepath.Join(branch, "stray")
	if os.Geteuid() != 0 { // whose programs cannot write there
		if err := os.WriteFile(stray, nil, 0o600); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v", err)
		}
		m.must(os.Chmod(branch, 0o700)) //nolint:gosec // a test's
	}
	m.write(stray, "by somebody") // it would be hidden
	if err := m.all.Present(context.Background(), branch); err == nil || !strings.HasSuffix(err.Error(), "something was written into its empty directory. Move that away and try again.") {
		t.Errorf("%v", err)
	}
	m.has(stray, "by somebody")
	m.must(os.Remove(stray))
	whole()
	dead() // and it can be removed
}

// TestADamagedIndexOfAMountIsAnError: no name is missing without one, and no file has another content.
func TestADamagedIndexOfAMountIsAnError(t *testing.T) {
	mounttest.Need(t)
	m := newMountWorld(t, mkdirTop(t))
	defer m.end()
	const files = 3000
	path := func(dir string, i int) string {
		return filepath.Join(dir, fmt.Sprint("dir", i%30), fmt.Sprint("file", i))
	}
	for i := range files {
		m.write(path(m.dir, i), fmt.Sprint("content ", i))
	}
	view := m.view(m.take())
	m.has(path(view, 0), "content 0")
	f, err := os.OpenFile(overlay.ServedFor(view).Index, os.O_RDWR, 0)
	m.must(err)
	info, err := f.Stat()
	m.must(err)
	for at := int64(0); at < info.Size(); at += 4096 {
		_, err := f.WriteAt([]byte("damage"), at)
		m.must(err)
	}
	m.must(f.Close())
	failed := 0
	for i := range files {
		got, err := os.ReadFile(path(view, i))
		switch {
		case errors.Is(err, unix.EIO):
			failed++
		case err != nil || string(got) != fmt.Sprint("content ", i):
			t.Fatalf("%d has %q, %v", i, got, err)
		}
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}

// TestADamagedPageOfAMountCostsWhatIsInIt: other files are read, and other directories listed, before and after. The check names the
// page, and another view has everything.
func TestADamagedPageOfAMountCostsWhatIsInIt(t *testing.T) {
	mounttest.Need(t)
	m := newMountWorld(t, mkdirTop(t))
	defer m.end()
	const files, each, page = 6000, 200, 64 << 10
	path := func(dir string, i int) string {
		return filepath.Join(dir, fmt.Sprint("dir", i/each), fmt.Sprint("file", i))
	}
	for i := range files {
		m.write(path(m.dir, i), fmt.Sprint("content ", i))
	}
	number := m.take()
	view := m.view(number)
	if damages, err := m.w.Check(); err != nil || len(damages) > 0 {
		t.Fatalf("%q, %v", damages, err)
	}
	served := overlay.ServedFor(view)
	f, err := os.OpenFile(served.Index, os.O_RDWR, 0)
	m.must(err)
	_, err = f.WriteAt([]byte("damage"), 3*page+100) // nodes of files, and of some directories
	m.must(errors.Join(err, f.Close()))
	lost := 0 // directories
	for i := range files / each {
		names, err := os.ReadDir(filepath.Dir(path(view, each*i)))
		if errors.Is(err, unix.EIO) {
			lost++
		} else if err != nil || len(names) != each {
			t.Errorf("directory %d has %d names, %v", i, len(names), err)
		}
	}
	const most = page/96 + 2
	if lost > most/each+1 {
		t.Errorf("%d directories are lost", lost)
	}
	for range 2 {
		failed := 0
		for i := range files {
			got, err := os.ReadFile(path(view, i))
			switch {
			case errors.Is(err, unix.EIO):
				failed++
			case err != nil || string(got) != fmt.Sprint("content ", i):
				t.Fatalf("%d has %q, %v", i, got, err)
			}
		}
		if failed == 0 || failed > most+lost*each {
			t.Errorf("%d files failed", failed)
		}
	}
	damages, err := m.w.Check()
	m.must(err)
	if !slices.ContainsFunc(damages, func(d string) bool {
		return strings.Contains(d, fmt.Sprintf("the view of s%d: reading some files in %s fails: %s is damaged at %d", number, view, served.Index, 3*page))
	}) {
		t.Errorf("the check finds %q", damages)
	}
	m.must(tracked.RemoveAll(view)) // another view is made of a new index
	view = m.view(number)
	for i := range files {
		m.has(path(view, i), fmt.Sprint("content ", i))
	}
	if damages, err := m.w.Check(); err != nil || len(damages) > 0 {
		t.Errorf("%q, %v", damages, err)
	}
}

// TestAMountKeepsWhatItNeeds: of a snapshot that was deleted and collected, and of indexes that were removed meanwhile.
func TestAMountKeepsWhatItNeeds(t *testing.T) { onBothForms(t, testAMountKeepsWhatItNeeds) }

func testAMountKeepsWhatItNeeds(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	var numbers []uint64
	var dirs []string
	for i := range 5 {
		m.write(filepath.Join(m.dir, "file"), fmt.Sprint("content ", i))
		numbers = append(numbers, m.take())
		dirs = append(dirs, m.branch(numbers[i]))
	}
	m.write(filepath.Join(m.dir, "file"), "later")
	m.take()
	_, err := m.w.Prune(context.Background(), provider.Policy{Count: 1}, retention.Never)
	m.must(err)
	for range 2 {
		for i, dir := range dirs {
			m.has(filepath.Join(dir, "file"), fmt.Sprint("content ", i))
		}
		m.kill()
		for _, dir := range dirs {
			m.must(m.all.Present(context.Background(), dir))
		}
	}
}

// TestWhatAMountedViewKeepsIsCounted compares what is listed with what is freed when the view is removed.
func TestWhatAMountedViewKeepsIsCounted(t *testing.T) {
	mounttest.Need(t)
	m := newMountWorld(t, mkdirTop(t))
	defer m.end()
	content := make([]byte, 4<<20)
	for i := range content {
		content[i] = byte(rand.Int()) //nolint:gosec // a test
	}
	m.write(filepath.Join(m.dir, "file"), string(content))
	first := m.take()
	m.view(first)
	stored := func() workspace.Stored {
		all, err := m.all.Stored()
		m.must(err)
		return all[0]
	}
	if s := stored(); s.Bytes < 4<<20 || s.Views > 1<<20 {
		t.Fatalf("the view shares its files with the store: %+v", s)
	}
	m.write(filepath.Join(m.dir, "file"), "small")
	m.take()
	_, err := m.w.Prune(context.Background(), provider.Policy{Count: 1}, retention.Never)
	m.must(err)
	if s := stored(); s.Bytes > 1<<20 || s.Views < 4<<20 {
		t.Fatalf("only the view has the file now: %+v", s)
	}
}

func mkdirTop(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "top")
}

// TestADaemonsEndTakesNoBranchAway: and neither do two of them see each other.
func TestADaemonsEndTakesNoBranchAway(t *testing.T) { onBothForms(t, testADaemonsEndTakesNoBranchAway) }

func testADaemonsEndTakesNoBranchAway(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "dir", "file"), "original")
	number := m.take()
	a, b := m.branch(number), m.branch(number)
	m.all.CloseDir(m.dir)
	m.write(filepath.Join(a, "dir", "file"), "in a")
	m.write(filepath.Join(b, "dir", "file"), "in b")
	m.must(os.Rename(filepath.Join(b, "dir"), filepath.Join(b, "renamed")))
	m.start()
	m.has(filepath.Join(a, "dir", "file"), "in a")
	m.has(filepath.Join(b, "renamed", "file"), "in b")
	m.has(filepath.Join(m.dir, "dir", "file"), "original")
	m.has(filepath.Join(m.view(number), "dir", "file"), "original")
}

// TestABusyBranchIsNotRemoved: nothing of it is, until no program uses it.
func TestABusyBranchIsNotRemoved(t *testing.T) { onBothForms(t, testABusyBranchIsNotRemoved) }

func testABusyBranchIsNotRemoved(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	dir := m.branch(m.take())
	m.write(filepath.Join(dir, "written"), "mine")
	f, err := os.Open(filepath.Join(dir, "written"))
	m.must(err)
	err = tracked.RemoveAll(dir)
	if !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "a program uses it") {
		t.Errorf("%v", err)
	}
	m.has(filepath.Join(dir, "written"), "mine")
	m.has(filepath.Join(dir, "file"), "original")
	m.must(f.Close())
	m.must(tracked.RemoveAll(dir))
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestAUsedBranchIsRemovedWithForce: its directory is free at once. A program that works in it keeps its files, and what that needs is
// removed when it ends.
func TestAUsedBranchIsRemovedWithForce(t *testing.T) {
	onBothForms(t, testAUsedBranchIsRemovedWithForce)
}

func testAUsedBranchIsRemovedWithForce(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	m.write(filepath.Join(m.dir, "deep", "later"), "read later")
	number := m.take()
	dir := m.branch(number)
	m.write(filepath.Join(dir, "written"), "mine")
	program := exec.CommandContext(t.Context(), "sh", "-c", `echo ready; read line; cat deep/later; echo more >> written; cat written; echo new > new; cat new; read line; exit 0`)
	program.Dir = dir
	in, err := program.StdinPipe()
	m.must(err)
	out, err := program.StdoutPipe()
	m.must(err, program.Start())
	said := bufio.NewScanner(out)
	says := func(want string) {
		t.Helper()
		if !said.Scan() || said.Text() != want {
			t.Fatalf("the program says %q, %v; want %q", said.Text(), said.Err(), want)
		}
	}
	says("ready")
	m.must(tracked.RemoveUsed(dir))
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	m.must(os.Mkdir(dir, 0o700)) // another branch of the same name may be a copy
	m.write(filepath.Join(dir, "file"), "another")
	m.must(m.all.Present(context.Background(), dir), tracked.RemoveAll(dir))
	m.all.Heal(filepath.Dir(dir)) // what the next daemon does
	_, err = io.WriteString(in, "\n")
	m.must(err)
	says("read laterminemore")
	says("new")
	m.must(in.Close(), program.Wait())
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		left, err := os.ReadDir(filepath.Dir(dir))
		return len(left) == 0, err
	}); err != nil {
		left, _ := os.ReadDir(filepath.Dir(dir))
		t.Error(left, err)
	}
	m.branchesByNow--
	m.must(tracked.RemoveAll(m.branch(number)))
}

// TestWhatIsMountedInABranchIsNotRemoved: it belongs to somebody else.
func TestWhatIsMountedInABranchIsNotRemoved(t *testing.T) {
	onBothForms(t, testWhatIsMountedInABranchIsNotRemoved)
}

func testWhatIsMountedInABranchIsNotRemoved(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	dir := m.branch(m.take())
	foreign := filepath.Join(dir, "foreign")
	m.must(os.Mkdir(foreign, 0o700), unix.Mount("somebody", foreign, "tmpfs", 0, "size=1m"))
	m.write(filepath.Join(foreign, "file"), "theirs")
	for _, remove := range []func(string) error{tracked.RemoveAll, tracked.RemoveUsed} {
		if err := remove(dir); err == nil {
			t.Error("it was removed")
		}
	}
	m.has(filepath.Join(foreign, "file"), "theirs")
	m.must(unix.Unmount(foreign, 0))
}

// TestWhatIsMountedInADeadBranchStays mounted: neither a start of the daemon nor a removal detaches it, and no clean-up beside it
// begins. It is named.
func TestWhatIsMountedInADeadBranchStays(t *testing.T) {
	onBothForms(t, testWhatIsMountedInADeadBranchStays)
}

func testWhatIsMountedInADeadBranchStays(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	number := m.take()
	dir, other := m.branch(number), m.branch(number)
	foreign := filepath.Join(dir, "foreign")
	m.must(os.Mkdir(foreign, 0o700), unix.Mount("somebody", foreign, "tmpfs", 0, "size=1m"))
	m.write(filepath.Join(foreign, "file"), "theirs")
	theirs, err := os.Open(foreign)
	m.must(err)
	mounted := func(after string) {
		t.Helper()
		list, err := mounts.Within(dir)
		if err != nil || !slices.ContainsFunc(list, func(mount mounts.Mount) bool { return mount.At == foreign }) {
			t.Errorf("it is not mounted after %s: %v, %v", after, list, err)
		}
		if err := unix.Faccessat(int(theirs.Fd()), "file", unix.R_OK, 0); err != nil { //nolint:gosec // a descriptor is small
			t.Errorf("after %s: %v", after, err)
		}
	}
	named := func(err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "something is mounted on "+foreign) {
			t.Error(err)
		}
	}
	named(tracked.RemoveAll(filepath.Join(m.top, "branches")))
	if list, err := mounts.Within(other); err != nil || len(list) != 1 {
		t.Errorf("the other branch is not mounted: %v, %v", list, err)
	}
	m.has(filepath.Join(other, "file"), "original")
	m.kill()
	named(tracked.RemoveAll(dir))
	mounted("a removal")
	m.all.CloseDir(m.dir)
	m.start()
	mounted("a start")
	named(m.all.Present(context.Background(), dir))
	mounted("a presentation")
	m.must(theirs.Close(), unix.Unmount(foreign, 0), m.all.Present(context.Background(), dir))
	m.has(filepath.Join(dir, "file"), "original")
}

// TestAFullDiskIsAnErrorOfTheProgram: the branch and what it is made of stay whole.
func TestAFullDiskIsAnErrorOfTheProgram(t *testing.T) {
	onBothForms(t, testAFullDiskIsAnErrorOfTheProgram)
}

func testAFullDiskIsAnErrorOfTheProgram(t *testing.T, alone bool) {
	small := filepath.Join(t.TempDir(), "small")
	if err := errors.Join(os.Mkdir(small, 0o700), unix.Mount("small", small, "tmpfs", 0, "size=8m")); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	defer func() {
		err := unix.Unmount(small, 0)
		for ; errors.Is(err, unix.EBUSY); err = unix.Unmount(small, 0) { // the processes that served close their files
			runtime.Gosched()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	m := newMountWorldOf(t, filepath.Join(small, "top"), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	number := m.take()
	dir := m.branch(number)
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, 16<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v", err)
	}
	m.has(filepath.Join(dir, "file"), "original")
	m.must(os.Remove(filepath.Join(dir, "large")))
	m.write(filepath.Join(dir, "file"), "changed")
	m.has(filepath.Join(dir, "file"), "changed")
	m.has(filepath.Join(m.view(number), "file"), "original")
}

// TestProgramsWorkInABranch: what they need of a filesystem is there.
func TestProgramsWorkInABranch(t *testing.T) { onBothForms(t, testProgramsWorkInABranch) }

func testProgramsWorkInABranch(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "go.mod"), "module example.test/a\n\ngo 1.26\n")
	m.write(filepath.Join(m.dir, "main.go"), "package main\n\nfunc main() { println(\"hello\") }\n")
	dir := m.branch(m.take())
	for _, line := range []string{
		"git init -q . && git -c user.name=a -c user.email=a@b add -A && git -c user.name=a -c user.email=a@b commit -qm one && git mv main.go cmd.go && git checkout -q -f HEAD && git status --porcelain",
		"GOFLAGS=-buildvcs=false go build -o out . && ./out",
		"mkdir -p a/b && ln -s b a/link && ln go.mod a/hard && mv a c && rm -r c",
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if entries, err := os.ReadDir(m.dir); err != nil || len(entries) != 2 {
		t.Error(entries, err)
	}
}

// TestWithoutAServerFilesAreCopied: and the reason is said.
func TestWithoutAServerFilesAreCopied(t *testing.T) {
	m := newMountWorld(t, mkdirTop(t))
	defer m.end()
	m.all.CloseDir(m.dir)
	m.all = workspace.New(workspace.Options{
		Grants: &grants.Store{File: filepath.Join(m.top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now},
		Dir:    filepath.Join(m.top, "home"), Redactor: redact.Default(), Clock: time.Now, Log: slog.New(slog.DiscardHandler), Server: []string{"/nonexistent/tidemark"}, MountFiles: 1,
	})
	var err error
	m.w, err = m.all.Open(context.Background(), m.dir)
	m.must(err)
	m.write(filepath.Join(m.dir, "file"), "original")
	number := m.take()
	view, err := m.w.View(context.Background(), number)
	m.must(err)
	m.has(filepath.Join(view, "file"), "original")
	if form := workspace.Form(m.w, view, false); !strings.HasPrefix(form, "not mounted: ") {
		t.Errorf("%q", form)
	}
	dir := filepath.Join(m.top, "branches", "b")
	m.must(workspace.CloneAs(context.Background(), m.w, number, dir, dir+".making"))
	m.write(filepath.Join(dir, "file"), "changed")
	if form := workspace.Form(m.w, dir, true); !strings.HasPrefix(form, "not mounted: ") {
		t.Errorf("%q", form)
	}
	for _, in := range []string{filepath.Dir(dir), filepath.Dir(view)} {
		if left, _ := filepath.Glob(filepath.Join(in, ".layers-*")); len(left) > 0 {
			t.Error(left)
		}
	}
}
