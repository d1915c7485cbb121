package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/treecopy"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/mounttest"
)

// TestABranchIsThereWhileItBecomesPlainFiles, for programs that ask for its files, and for those that write.
func TestABranchIsThereWhileItBecomesPlainFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a user's mount is unmounted first")
	}
	onBothForms(t, testABranchIsThereWhileItBecomesPlainFiles)
}

func testABranchIsThereWhileItBecomesPlainFiles(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	for i := range 100 {
		m.write(filepath.Join(m.dir, "file"+fmt.Sprint(i)), "original")
	}
	number := m.take()
	for round := range 8 {
		dir := m.branch(number)
		writes := round % 2 // the others only ask
		copied, stop := make(chan struct{}), make(chan struct{})
		var programs sync.WaitGroup
		programs.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := os.Stat(filepath.Join(dir, "file7")); err != nil {
					t.Errorf("it was not there: %v", err)
					return
				}
			}
		})
		var made []string
		programs.Go(func() {
			<-copied
			time.Sleep(time.Duration(round) * time.Millisecond)
			for i := range writes * 50 {
				name := filepath.Join(dir, fmt.Sprint("made", i))
				switch err := os.WriteFile(name, []byte("made"), 0o600); {
				case err == nil:
					made = append(made, name)
				case !errors.Is(err, unix.EROFS): // it is about to be unmounted
					t.Error(err)
				}
			}
		})
		err := overlay.Plain(t.Context(), m.server, dir, func(ctx context.Context, from, to string) error {
			defer close(copied)
			return treecopy.Copy(ctx, from, to)
		})
		close(stop)
		programs.Wait()
		if err != nil && (writes == 0 || !errors.Is(err, overlay.ErrWritten) && !errors.Is(err, unix.EBUSY)) {
			t.Error(err)
		}
		if (err == nil) != (workspace.Mounted(dir) == "") {
			t.Errorf("%v, and it is %q", err, workspace.Mounted(dir))
		}
		for _, name := range made {
			m.has(name, "made")
		}
		m.write(filepath.Join(dir, "later"), "later")
	}
}

// TestABranchThatWasMadeReadOnlyCanBeWritten by the next daemon: a kill prevented that it became plain files.
func TestABranchThatWasMadeReadOnlyCanBeWritten(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root does that")
	}
	onBothForms(t, func(t *testing.T, alone bool) {
		m := newMountWorldOf(t, mkdirTop(t), alone)
		defer m.end()
		m.write(filepath.Join(m.dir, "file"), "original")
		dir := m.branch(m.take())
		for _, heal := range []func() error{
			func() error { return overlay.Heal(m.top) },
			func() error { return m.all.Present(t.Context(), dir) },
		} {
			m.must(unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""))
			m.must(heal())
			m.write(filepath.Join(dir, "file"), "mine")
		}
		confined(t, dir, "rw")
	})
}

// TestWhatIsWrittenBelowAUsersBranchStays: while it is unmounted, its user's programs cannot write there. What root writes is kept.
func TestWhatIsWrittenBelowAUsersBranchStays(t *testing.T) {
	if dir := disktest.User(); dir != "" {
		belowAUsersBranch(t, dir)
		return
	}
	mounttest.Need(t)
	dir := t.TempDir()
	written, ended := make(chan error, 1), make(chan struct{})
	go func() { // what is mounted, this process does not see
		for {
			found, _ := filepath.Glob(filepath.Join(dir, "below", "branches", ".layers-b*", "copy"))
			if len(found) > 0 {
				branch := filepath.Join(filepath.Dir(filepath.Dir(found[0])), overlay.Of(filepath.Base(filepath.Dir(found[0]))))
				written <- os.WriteFile(filepath.Join(branch, "stray"), []byte("stray"), 0o644) //nolint:gosec // a test's
				return
			}
			select {
			case <-ended:
				written <- nil
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	disktest.AsUserWithFUSE(t, dir)
	close(ended)
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func belowAUsersBranch(t *testing.T, dir string) {
	m := newMountWorldOf(t, filepath.Join(dir, "below"), true)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	branch := m.branch(m.take())
	m.write(filepath.Join(branch, "mine"), "mine")
	want := whole(t, branch)
	err := overlay.Plain(t.Context(), m.server, branch, func(ctx context.Context, from, to string) error {
		err := treecopy.Copy(ctx, from, to)
		time.Sleep(100 * time.Millisecond) // root writes
		return err
	})
	aside, globbed := filepath.Glob(branch + ".written-*")
	if globbed != nil || len(aside) != 1 {
		t.Fatalf("%q, %v", aside, globbed)
	}
	if err == nil || !strings.Contains(err.Error(), aside[0]) || !strings.Contains(err.Error(), "stray") {
		t.Errorf("%v", err)
	}
	m.has(filepath.Join(aside[0], "stray"), "stray")
	m.stillMounted(branch, want)
	m.must(os.Chmod(aside[0], 0o700), os.RemoveAll(aside[0])) //nolint:gosec // a test's
	stop, stopped := make(chan struct{}), make(chan []string)
	go func() {
		made := []string{}
		defer func() { stopped <- made }()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var st unix.Statfs_t
			const fuse = 0x65735546
			name := filepath.Join(branch, fmt.Sprint("stray", i))
			if unix.Statfs(branch, &st) == nil && st.Type != fuse && os.WriteFile(name, nil, 0o600) == nil {
				made = append(made, name)
			}
		}
	}()
	for errors.Is(m.plainOnce(branch), unix.EBUSY) { // it is asked about
	}
	close(stop)
	made := <-stopped
	if _, err := os.Lstat(filepath.Join(branch, "mine")); err != nil || workspace.Mounted(branch) != "" {
		t.Errorf("%v, %q", err, workspace.Mounted(branch))
	}
	if slices.ContainsFunc(made, func(name string) bool { _, err := os.Lstat(name); return errors.Is(err, fs.ErrNotExist) }) {
		t.Error("a file was lost")
	}
}

func (m *mountWorld) plainOnce(dir string) error {
	err := workspace.MakePlain(context.Background(), m.all, dir, m.dir)
	if !errors.Is(err, unix.EBUSY) {
		m.must(err)
	}
	return err
}

// TestATimeThatNo64BitsHold is the last second that they hold, in a branch by FUSE alone and in plain files.
func TestATimeThatNo64BitsHold(t *testing.T) {
	onBothForms(t, func(t *testing.T, alone bool) {
		m := newMountWorldOf(t, mkdirTop(t), alone)
		defer m.end()
		const year2300, last = 10_413_792_000, 9_223_372_036
		names := []string{"file", "new", "link", "sub"}
		m.write(filepath.Join(m.dir, "file"), "original")
		m.write(filepath.Join(m.dir, "sub", "file"), "original")
		dir := m.branch(m.take())
		m.write(filepath.Join(dir, "new"), "new")
		m.must(os.Symlink("file", filepath.Join(dir, "link")))
		times := []unix.Timespec{{Sec: year2300}, {Sec: year2300}}
		check := func(want int64) {
			t.Helper()
			for _, name := range names {
				info, err := os.Lstat(filepath.Join(dir, name))
				m.must(err)
				if got := info.ModTime().Unix(); got != want {
					t.Errorf("%s is from %s", name, info.ModTime().UTC())
				}
			}
		}
		for _, name := range names {
			m.must(unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(dir, name), times, unix.AT_SYMLINK_NOFOLLOW))
		}
		if alone {
			check(last)
		} else {
			check(year2300)
		}
		m.must(workspace.MakePlain(t.Context(), m.all, dir, m.dir))
		check(last)
	})
}

// TestTheStatusSaysThatLargeSnapshotsAreMounted, unless that was refused when it was last tried.
func TestTheStatusSaysThatLargeSnapshotsAreMounted(t *testing.T) {
	mounttest.Need(t)
	for server, want := range map[string]bool{mounttest.Server()[0]: true, "/nonexistent": false} {
		m := newMountWorldBy(t, mkdirTop(t), false, []string{server, mounttest.Server()[1]})
		defer m.end()
		m.write(filepath.Join(m.dir, "file"), "original")
		_, err := m.w.View(t.Context(), m.take())
		m.must(err)
		status := m.all.Status()
		if len(status) != 1 || strings.Contains(status[0].Views, "are mounted") != want {
			t.Errorf("%+v", status)
		}
	}
}
