package workspace_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/testing/mounttest"
)

// failing is a directory of a filesystem that does not give the content of what is called denied… or broken…, to root either.
type failing struct{ *gofs.LoopbackNode }

func (n *failing) WrapChild(_ context.Context, child gofs.InodeEmbedder) gofs.InodeEmbedder {
	return &failing{child.(*gofs.LoopbackNode)}
}

func (n *failing) refused() syscall.Errno {
	switch name := filepath.Base(n.Path(nil)); {
	case strings.HasPrefix(name, "denied"):
		return syscall.EACCES
	case strings.HasPrefix(name, "broken"):
		return syscall.EIO
	}
	return 0
}

func (n *failing) Open(ctx context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if why := n.refused(); why != 0 {
		return nil, 0, why
	}
	return n.LoopbackNode.Open(ctx, flags)
}

func (n *failing) OpendirHandle(ctx context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if why := n.refused(); why != 0 {
		return nil, 0, why
	}
	return n.LoopbackNode.OpendirHandle(ctx, flags)
}

func (n *failing) Readlink(ctx context.Context) ([]byte, syscall.Errno) {
	if why := n.refused(); why != 0 {
		return nil, why
	}
	return n.LoopbackNode.Readlink(ctx)
}

// unread are the paths that cannot be read in [newUnreadWorld], with the errors.
var unread = map[string]error{"broken-file": unix.EIO, "broken-link": unix.EIO, "denied-dir": unix.EACCES, "denied-file": unix.EACCES, "src/denied-empty": unix.EACCES}

// newUnreadWorld makes a workspace of which some paths cannot be read. Release unmounts it.
func newUnreadWorld(t *testing.T, top string, alone bool, server []string) (m *mountWorld, release func()) {
	t.Helper()
	mounttest.Need(t)
	behind, dir := t.TempDir(), filepath.Join(top, "workspace")
	m = &mountWorld{t: t}
	for path, content := range map[string]string{"broken-file": "lost", "denied-dir/in": "hidden", "denied-file": "secret", "good": "good", "src/denied-empty": "", "src/good": "good"} {
		m.write(filepath.Join(behind, path), content)
	}
	m.must(os.Symlink("good", filepath.Join(behind, "broken-link")), os.MkdirAll(dir, 0o755)) //nolint:gosec // a test's
	root, err := gofs.NewLoopbackRoot(behind)
	m.must(err)
	mounted, err := gofs.Mount(dir, &failing{root.(*gofs.LoopbackNode)}, &gofs.Options{MountOptions: fuse.MountOptions{DirectMount: os.Geteuid() == 0, Logger: log.New(io.Discard, "", 0)}})
	m.must(err)
	release = func() {
		m.all.CloseDir(m.dir)
		m.must(mounted.Unmount())
	}
	return newMountWorldBy(t, top, alone, server), release
}

// failed fails unless what could not be read is an error in a directory, and all else is there.
func failed(t *testing.T, dir string) {
	t.Helper()
	for path, want := range unread {
		at := filepath.Join(dir, path)
		info, err := os.Lstat(at)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case info.IsDir():
			if names, err := os.ReadDir(at); !errors.Is(err, want) && !errors.Is(err, unix.EIO) {
				t.Errorf("%s has %v, %v", path, names, err)
			}
			if _, err := os.Lstat(filepath.Join(at, "in")); !errors.Is(err, want) && !errors.Is(err, unix.EIO) {
				t.Errorf("in %s: %v", path, err)
			}
		case info.Mode().Type() == fs.ModeSymlink:
			if target, err := os.Readlink(at); !errors.Is(err, want) {
				t.Errorf("%s leads to %q, %v", path, target, err)
			}
		case path != "src/denied-empty":
			if data, err := os.ReadFile(at); !errors.Is(err, want) && !errors.Is(err, unix.EIO) {
				t.Errorf("%s has %q, %v", path, data, err)
			}
			if to, err := os.Create(filepath.Join(t.TempDir(), "copy")); err != nil {
				t.Error(err)
			} else if from, err := os.Open(at); err == nil {
				if n, err := io.Copy(to, from); err == nil {
					t.Errorf("a copy of %s has %d bytes", path, n)
				}
				_, _ = from.Close(), to.Close()
			}
		}
	}
	for _, path := range []string{"good", "src/good"} {
		if data, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(data) != "good" {
			t.Errorf("%s has %q, %v", path, data, err)
		}
	}
}

// TestWhatCouldNotBeReadIsAnErrorInAMount: it is no empty file, list or link. In a branch it can be replaced and removed.
func TestWhatCouldNotBeReadIsAnErrorInAMount(t *testing.T) {
	onBothForms(t, func(t *testing.T, alone bool) {
		m, release := newUnreadWorld(t, mkdirTop(t), alone, mounttest.Server())
		defer m.end()
		defer release()
		number := m.take()
		view, branch := m.view(number), m.branch(number)
		failed(t, view)
		failed(t, branch)
		info, err := os.Stat(filepath.Join(view, "denied-file"))
		m.must(err)
		if info.Size() != int64(len("secret")) || info.Mode().Perm()&0o444 != 0 {
			t.Errorf("it has %d bytes and the mode %v", info.Size(), info.Mode())
		}
		m.must(workspace.Share(t.Context(), m.w, number, branch))
		m.all.Branch(branch, m.dir)
		w, err := m.all.Open(t.Context(), branch)
		m.must(err)
		s, _, err := w.Take(t.Context(), "", "", false)
		m.must(err)
		d, err := w.Diff(t.Context(), number, s.Number, compare.Options{})
		m.must(err)
		for _, f := range d.Files {
			if f.Path != "src/denied-empty" { // root opens it, and its size is known
				t.Errorf("%s of the branch differs from its start: %+v", f.Path, f)
			}
		}
		defer m.all.CloseDir(branch)
		m.write(filepath.Join(branch, "denied-file"), "new")
		m.has(filepath.Join(branch, "denied-file"), "new")
		m.must(os.Remove(filepath.Join(branch, "broken-file")))
	})
}

// TestWhatCouldNotBeReadIsLeftOutOfACopy, and named. Nobody made it again in the view.
func TestWhatCouldNotBeReadIsLeftOutOfACopy(t *testing.T) {
	m, release := newUnreadWorld(t, mkdirTop(t), false, nil)
	defer m.end()
	defer release()
	number := m.take()
	left := func(dir string) {
		t.Helper()
		var named []string
		for _, line := range workspace.Unnamed(m.w, dir) {
			path, why, _ := strings.Cut(line, ": ")
			if named = append(named, path); !strings.HasPrefix(why, "it could not be read when the snapshot was taken: ") {
				t.Errorf("%q", line)
			}
		}
		want := []string{"broken-file", "broken-link", "denied-dir", "denied-file", "src/denied-empty"}
		if !slices.Equal(named, want) {
			t.Errorf("%q are left out, want %q", named, want)
		}
		for _, path := range want {
			if _, err := os.Lstat(filepath.Join(dir, path)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", path, err)
			}
		}
		m.has(filepath.Join(dir, "good"), "good")
		m.has(filepath.Join(dir, "src/good"), "good")
	}
	view, err := m.w.View(t.Context(), number)
	m.must(err)
	left(view)
	made, err := os.Stat(view)
	m.must(err)
	again, err := m.w.View(t.Context(), number)
	m.must(err)
	left(again)
	if info, err := os.Stat(again); err != nil || !os.SameFile(info, made) {
		t.Errorf("the view was made again: %v", err)
	}
	branch := filepath.Join(m.top, "branches", "b")
	m.must(m.w.Clone(t.Context(), number, branch))
	left(branch)
	if _, err := m.w.Estimate(t.Context(), number, branch); err != nil {
		t.Error(err)
	}
}

// TestSpecialBitsAreThoseOfTheWorkspace, in mounts that give no privileges by them.
func TestSpecialBitsAreThoseOfTheWorkspace(t *testing.T) {
	onBothForms(t, func(t *testing.T, alone bool) {
		m := newMountWorldOf(t, mkdirTop(t), alone)
		defer m.end()
		m.write(filepath.Join(m.dir, "program"), "run")
		m.must(os.Mkdir(filepath.Join(m.dir, "shared"), 0o755)) //nolint:gosec // a test's
		set := map[string]uint32{"program": 0o6755, "shared": 0o3775}
		for path, mode := range set {
			m.must(unix.Chmod(filepath.Join(m.dir, path), mode))
		}
		number := m.take()
		view, branch := m.view(number), m.branch(number)
		confined(t, view, "ro")
		confined(t, branch, "rw")
		for path, mode := range set {
			for dir, want := range map[string]uint32{view: mode &^ 0o222, branch: mode} {
				var st unix.Stat_t
				if m.must(unix.Stat(filepath.Join(dir, path), &st)); st.Mode&0o7777 != want {
					t.Errorf("%s in %s has the mode %o, want %o", path, dir, st.Mode&0o7777, want)
				}
			}
		}
	})
}
