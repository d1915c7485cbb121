package workspace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/treecopy"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/mounttest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// whole is what is in a directory, one line each: all that [treetest.Read] has, and owners, pipes and sockets, and which names are of one file.
func whole(t treetest.Fataler, dir string) []string {
	t.Helper()
	lines := treetest.Read(t, dir)
	for i, line := range lines { // without the names of hard links
		lines[i] = line[:strings.LastIndex(line, "] ")+1]
	}
	type file struct{ device, inode uint64 }
	groups := map[file]int{} // the kernel's overlay counts names that another file has
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%q %v %d:%d %d", strings.TrimPrefix(path, dir), info.Mode(), st.Uid, st.Gid, info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			is := file{st.Dev, st.Ino}
			if groups[is] == 0 {
				groups[is] = len(groups) + 1
			}
			line += fmt.Sprintf(" file %d, %d bytes", groups[is], info.Size())
		}
		lines = append(lines, line)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// plain makes a branch plain files, and fails if it is not what it was, or anything else is left.
func (m *mountWorld) plain(dir string) {
	m.t.Helper()
	want := whole(m.t, dir)
	m.must(workspace.MakePlain(context.Background(), m.all, dir, m.dir))
	m.isPlain(dir, want)
}

func (m *mountWorld) isPlain(dir string, want []string) {
	m.t.Helper()
	list, err := mounts.Within(dir)
	m.must(err)
	if len(list) > 0 || workspace.Mounted(dir) != "" {
		m.t.Fatalf("it is mounted: %v, %q", list, workspace.Mounted(dir))
	}
	if got := whole(m.t, dir); !slices.Equal(got, want) {
		m.t.Fatalf("the branch is\n%s\nand was\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".layers-"+filepath.Base(dir)+"*")); err != nil || len(left) > 0 {
		m.t.Fatal(left, err)
	}
}

// stillMounted fails unless a branch is mounted, with what it had.
func (m *mountWorld) stillMounted(dir string, want []string) {
	m.t.Helper()
	if _, ok := mounts.On(dir); !ok || workspace.Mounted(dir) == "" {
		m.t.Fatal("it is not mounted")
	}
	if got := whole(m.t, dir); !slices.Equal(got, want) {
		m.t.Fatalf("the branch is\n%s\nand was\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".layers-*", "copy")); err != nil || len(left) > 0 {
		m.t.Fatal(left, err)
	}
}

// TestABranchBecomesPlainFiles that are what it was, whatever was done in it.
func TestABranchBecomesPlainFiles(t *testing.T) {
	mounttest.Need(t)
	top := t.TempDir()
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp(top, "case: a,b\\c")
		if err != nil {
			t.Fatal(err)
		}
		m := newMountWorldOf(t, base, overlay.Best() == overlay.Alone || rapid.Bool().Draw(t, "by FUSE alone"))
		defer m.end()
		for range rapid.IntRange(1, 10).Draw(t, "edits") {
			editor.Edit(t, m.dir)
		}
		m.must(os.WriteFile(filepath.Join(m.dir, "never empty"), nil, 0o600))
		number := m.take()
		was := treetest.Read(t, m.dir)
		dir := m.branch(number)
		for range rapid.IntRange(0, 10).Draw(t, "edits of the branch") {
			editor.Edit(t, dir)
		}
		m.plain(dir)
		m.must(workspace.MakePlain(context.Background(), m.all, dir, m.dir)) // again
		editor.Edit(t, dir)
		other := m.branch(number)
		if got := treetest.Read(t, other); !slices.Equal(got, was) {
			t.Fatalf("another branch is\n%s\nand was\n%s", strings.Join(got, "\n"), strings.Join(was, "\n"))
		}
	})
}

// TestAPlainBranchHasWhatNoSnapshotHas, and what the forms keep in their own ways.
func TestAPlainBranchHasWhatNoSnapshotHas(t *testing.T) {
	onBothForms(t, testAPlainBranchHasWhatNoSnapshotHas)
}

func testAPlainBranchHasWhatNoSnapshotHas(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	for _, name := range []string{"removed", "renamed/deep/file", "opaque/old", "written", "kept", "hard"} {
		m.write(filepath.Join(m.dir, name), "original "+name)
	}
	m.must(os.Link(filepath.Join(m.dir, "hard"), filepath.Join(m.dir, "hard too")), os.Symlink("nowhere/\xff", filepath.Join(m.dir, "link")))
	m.must(os.MkdirAll(filepath.Join(m.dir, "empty"), 0o700), os.Chmod(filepath.Join(m.dir, "kept"), 0o4711)) //nolint:gosec // a test's
	dir := m.branch(m.take())
	in := func(name string) string { return filepath.Join(dir, name) }
	old := time.Unix(1_000_000_000, 123_456_789)
	m.must(
		os.Remove(in("removed")), os.Rename(in("renamed"), in("moved")), os.RemoveAll(in("opaque")), os.Mkdir(in("opaque"), 0o750),
		os.WriteFile(in("opaque/new"), []byte("new"), 0o600), os.WriteFile(in("new"), []byte("new"), 0o600), os.Link(in("new"), in("new too")), unix.Mkfifo(in("pipe"), 0o640), unix.Mknod(in("socket"), unix.S_IFSOCK|0o600, 0),
		os.MkdirAll(in(".git/objects"), 0o755), os.WriteFile(in(".git/objects/one"), []byte("committed"), 0o400), //nolint:gosec // a test's
		os.WriteFile(in("attributed"), nil, 0o600), unix.Setxattr(in("attributed"), "user.a", []byte("b\x00c"), 0), unix.Setxattr(in("opaque"), "user.dir", []byte("d"), 0),
		os.WriteFile(in("holes"), []byte("begin"), 0o600), os.Truncate(in("holes"), 8<<20), os.Chtimes(in("written"), old, old),
		os.Chmod(in("kept"), 0o4700), os.Chtimes(in("moved"), old, old), os.Chmod(in("opaque"), 0o500), os.Chmod(dir, 0o550), os.Chtimes(dir, old, old), //nolint:gosec // a test's
	)
	if alone { // the kernel's overlay separates them, and counts both names all the same
		m.must(os.Chmod(dir, 0o750), os.Link(in("hard"), in("hard, third")), os.Chmod(dir, 0o550), os.Chtimes(dir, old, old)) //nolint:gosec // a test's
	}
	if os.Geteuid() == 0 {
		m.must(os.Lchown(in("written"), 12345, 54321), os.Lchown(in("link"), 12345, 54321), os.Lchown(in("empty"), 12345, 54321))
	}
	m.plain(dir)
	if info, err := os.Stat(in("holes")); err != nil || info.Sys().(*syscall.Stat_t).Blocks > 100 {
		t.Error("the holes were filled", err)
	}
	value := make([]byte, 10)
	if n, err := unix.Getxattr(in("attributed"), "user.a", value); err != nil || string(value[:n]) != "b\x00c" {
		t.Errorf("%q, %v", value[:n], err)
	}
	if n, err := unix.Getxattr(in("opaque"), "user.dir", value); err != nil || string(value[:n]) != "d" {
		t.Errorf("%q, %v", value[:n], err)
	}
	m.has(in(".git/objects/one"), "committed")
	m.has(in("moved/deep/file"), "original renamed/deep/file")
	m.must(os.Chmod(dir, 0o700)) //nolint:gosec // a test's
	m.must(m.all.Present(context.Background(), dir))
	m.write(in("later"), "later")
}

// TestAPlainBranchSharesItsRoom with what was written in the branch and with the original, where the filesystem shares extents.
func TestAPlainBranchSharesItsRoom(t *testing.T) {
	onBothForms(t, func(t *testing.T, alone bool) {
		for _, kind := range []string{"xfs", "btrfs"} {
			t.Run(kind, func(t *testing.T) { testAPlainBranchSharesItsRoom(t, kind, alone) })
		}
	})
}

func testAPlainBranchSharesItsRoom(t *testing.T, kind string, alone bool) {
	m := newMountWorldOf(t, filepath.Join(disktest.Sharing(t, kind), "top"), alone)
	defer m.end()
	const size = 300_000
	for _, name := range []string{"kept", "changed", "edited"} {
		m.write(filepath.Join(m.dir, "dir", name), string(incompressible(size)))
	}
	dir := m.branch(m.take())
	m.write(filepath.Join(dir, "dir", "changed"), string(incompressible(size)))
	m.write(filepath.Join(dir, "new"), string(incompressible(size)))
	m.write(filepath.Join(m.dir, "dir", "edited"), string(incompressible(size)))
	witness := filepath.Join(m.top, "witness") // of what was written, whose layer is removed
	m.must(os.MkdirAll(filepath.Join(witness, "dir"), 0o755))
	if !alone {
		upper := overlay.Written(dir, overlay.Kernel)
		for _, name := range []string{"new", "dir/changed"} {
			out, err := exec.CommandContext(t.Context(), "cp", "--reflink=always", filepath.Join(upper, name), filepath.Join(witness, name)).CombinedOutput() //nolint:gosec // a test's
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		m.plain(dir)
		shares(t, dir, witness, []string{"new", "dir/changed"}, []string{"new", "dir/changed"})
	} else {
		m.plain(dir)
	}
	shares(t, dir, m.dir, []string{"dir/kept", "dir/changed", "dir/edited"}, []string{"dir/kept"})
}

// TestAnUsedBranchStaysMounted: a program has a file open, works in it, or has one mapped. The error names that.
func TestAUsedBranchStaysMounted(t *testing.T) { onBothForms(t, testAUsedBranchStaysMounted) }

func testAUsedBranchStaysMounted(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	dir := m.branch(m.take())
	m.write(filepath.Join(dir, "written"), "mine")
	want := whole(t, dir)
	refused := func() {
		t.Helper()
		err := workspace.MakePlain(context.Background(), m.all, dir, m.dir)
		if !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%v", err)
		}
		m.stillMounted(dir, want)
	}
	for _, name := range []string{"file", "written"} {
		f, err := os.Open(filepath.Join(dir, name))
		m.must(err)
		refused()
		m.must(f.Close())
	}
	f, err := os.OpenFile(filepath.Join(dir, "written"), os.O_RDWR, 0)
	m.must(err)
	mapped, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	m.must(err, f.Close())
	refused()
	m.must(unix.Munmap(mapped))
	program := exec.CommandContext(t.Context(), "sh", "-c", "echo ready; read line; exit 0")
	program.Dir = dir
	in, err := program.StdinPipe()
	m.must(err)
	out, err := program.StdoutPipe()
	m.must(err, program.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	refused()
	m.must(in.Close(), program.Wait())
	if os.Geteuid() == 0 {
		foreign := filepath.Join(dir, "foreign")
		m.must(os.Mkdir(foreign, 0o700), unix.Mount("somebody", foreign, "tmpfs", 0, "size=1m"))
		m.write(filepath.Join(foreign, "file"), "theirs")
		err := workspace.MakePlain(context.Background(), m.all, dir, m.dir)
		if !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), foreign) {
			t.Errorf("%v", err)
		}
		m.has(filepath.Join(foreign, "file"), "theirs")
		m.must(unix.Unmount(foreign, 0), os.Remove(foreign))
	}
	m.plain(dir)
}

// TestAProgramThatWritesMeanwhileIsNoticed, whatever it writes: the branch stays mounted, with that.
func TestAProgramThatWritesMeanwhileIsNoticed(t *testing.T) {
	onBothForms(t, testAProgramThatWritesMeanwhileIsNoticed)
}

func testAProgramThatWritesMeanwhileIsNoticed(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	for _, name := range []string{"file", "linked", "removed", "swapped", "dir/file"} {
		m.write(filepath.Join(m.dir, name), "original")
	}
	dir := m.branch(m.take())
	in := func(name string) string { return filepath.Join(dir, name) }
	m.write(in("written"), "one")
	m.write(in("mapped"), "mapped")
	f, err := os.OpenFile(in("mapped"), os.O_RDWR, 0)
	m.must(err)
	mapped, err := unix.Mmap(int(f.Fd()), 0, 6, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	m.must(err, f.Close())
	copy(mapped, "before") // it need not be noticed a second time
	for _, c := range []struct {
		what  string
		write func() error
	}{
		{"a map", func() error { copy(mapped, "after!"); return unix.Munmap(mapped) }}, // else the branch is in use
		{"a write of the same size", func() error { return os.WriteFile(in("written"), []byte("two"), 0) }},
		{"a write that leaves size and time", func() error {
			info, err := os.Stat(in("file"))
			return errors.Join(err, os.WriteFile(in("file"), []byte("ORIGINAL"), 0), os.Chtimes(in("file"), time.Time{}, info.ModTime()))
		}},
		{"a new file", func() error { return os.WriteFile(in("dir/new"), nil, 0o600) }},
		{"a removal", func() error { return os.Remove(in("removed")) }},
		{"a rename", func() error { return os.Rename(in("dir"), in("renamed")) }},
		{"a mode", func() error { return os.Chmod(in("swapped"), 0o611) }},        //nolint:gosec // a test's
		{"a mode of the directory", func() error { return os.Chmod(dir, 0o711) }}, //nolint:gosec // a test's
		{"a hard link", func() error { return os.Link(in("linked"), in("linked too")) }},
		{"an attribute", func() error { return unix.Setxattr(in("written"), "user.a", []byte("b"), 0) }},
		{"an attribute of the directory", func() error { return unix.Setxattr(dir, "user.a", []byte("b"), 0) }},
	} {
		var now []string
		err := overlay.Plain(t.Context(), m.server, dir, func(ctx context.Context, from, to string) error {
			err := errors.Join(treecopy.Copy(ctx, from, to), c.write())
			now = whole(t, from)
			return err
		})
		if !errors.Is(err, overlay.ErrWritten) {
			t.Errorf("%s: %v", c.what, err)
		}
		m.stillMounted(dir, now)
	}
	m.plain(dir)
}

// TestAFullDiskLeavesABranchMounted, and nothing of the copy.
func TestAFullDiskLeavesABranchMounted(t *testing.T) {
	onBothForms(t, testAFullDiskLeavesABranchMounted)
}

func testAFullDiskLeavesABranchMounted(t *testing.T, alone bool) {
	small := filepath.Join(t.TempDir(), "small")
	if err := errors.Join(os.Mkdir(small, 0o700), unix.Mount("small", small, "tmpfs", 0, "size=16m")); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	defer func() {
		if err := unix.Unmount(small, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	m := newMountWorldOf(t, filepath.Join(small, "top"), alone)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	dir := m.branch(m.take())
	noise := make([]byte, 9<<20)
	for i := range noise {
		noise[i] = byte(rand.Int()) //nolint:gosec // a test
	}
	m.write(filepath.Join(dir, "large"), string(noise))
	want := whole(t, dir)
	err := workspace.MakePlain(t.Context(), m.all, dir, m.dir)
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "large") || !strings.Contains(err.Error(), "Free some space") {
		t.Errorf("%v", err)
	}
	m.stillMounted(dir, want)
}

// TestAKillLeavesAMountedBranchOrAPlainOne: whole, and with nothing beside it once a daemon has started.
func TestAKillLeavesAMountedBranchOrAPlainOne(t *testing.T) {
	onBothForms(t, testAKillLeavesAMountedBranchOrAPlainOne)
}

func testAKillLeavesAMountedBranchOrAPlainOne(t *testing.T, alone bool) {
	killtest.Victim(func(v killtest.Process, top string) {
		m := &mountWorld{t: v, top: top, dir: filepath.Join(top, "workspace"), alone: alone, server: mounttest.Server()}
		m.start()
		number := m.take()
		for {
			v.Say("make")
			m.branchesByNow = rand.Int() //nolint:gosec // another name each time
			dir := m.branch(number)
			in := func(name string) string { return filepath.Join(dir, name) }
			v.Must(os.WriteFile(in("written"), []byte(dir), 0o600), os.Rename(in("dir0"), in("renamed")), os.Remove(in("dir1/file1")), os.Chmod(dir, 0o555)) //nolint:gosec // a test's
			v.Say("plain", dir)
			v.Must(workspace.MakePlain(context.Background(), m.all, dir, m.dir))
		}
	})
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	for i := range 40 {
		m.write(filepath.Join(m.dir, fmt.Sprint("dir", i%4), fmt.Sprint("file", i)), strings.Repeat(fmt.Sprint(i), 1000))
	}
	m.take()
	m.all.CloseDir(m.dir)
	was, ended := map[string][]string{}, map[string]int{}
	hunt := killtest.Hunt{
		Dir: m.top, Steps: []string{"plain"}, Short: 2, Usual: 5,
		Said: func(step, dir string) {
			if step == "plain" {
				was[dir] = whole(t, dir)
			}
		},
		Survived: func(string) {
			m.start() // what the next daemon does
			all, err := filepath.Glob(filepath.Join(m.top, "branches", "b*"))
			m.must(err)
			for _, dir := range all {
				m.must(m.all.Present(t.Context(), dir))
				switch want := was[dir]; {
				case want == nil: // it was being made
				case workspace.Mounted(dir) == "":
					ended["plain"]++
					m.isPlain(dir, want)
				default:
					ended["mounted"]++
					m.stillMounted(dir, want)
				}
				m.must(tracked.RemoveAll(dir))
				delete(was, dir)
			}
			if len(was) > 0 {
				t.Fatalf("branches are missing: %q", slices.Collect(maps.Keys(was)))
			}
			m.all.CloseDir(m.dir)
		},
	}
	hunt.Run(t)
	t.Log(ended)
}
