//go:build linux

package tracked_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// sharing calls do with a room whose workspace is on a filesystem that shares extents, and whose store is not.
func sharing(t *testing.T, do func(t *testing.T, r *room, disk string)) {
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			disk := disktest.Sharing(t, kind)
			// What was written a moment ago is not cloned: its stat may hide a later change. The clock makes it old.
			options := tracked.Options{
				Workspace: filepath.Join(disk, "workspace"), Store: filepath.Join(t.TempDir(), "store"), Clock: func() time.Time { return time.Now().Add(time.Second) },
			}
			r := &room{T: t, workspace: options.Workspace, options: options}
			if err := os.Mkdir(r.workspace, 0o755); err != nil {
				t.Fatal(err)
			}
			r.open()
			t.Cleanup(func() { _ = r.p.Close() })
			do(t, r, disk)
		})
	}
}

// tick waits until what is written gets another time than what was written before.
func (r *room) tick() {
	r.Helper()
	at := filepath.Join(filepath.Dir(r.workspace), "tick")
	var first time.Time
	for {
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			r.Fatal(err)
		}
		info, err := os.Stat(at)
		if err != nil {
			r.Fatal(err)
		}
		if first.IsZero() {
			first = info.ModTime()
		}
		if info.ModTime().Sub(first) > 20*time.Millisecond {
			return
		}
		runtime.Gosched()
	}
}

func (r *room) must(errs ...error) {
	r.Helper()
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
}

// TestUnchangedFilesShareTheirExtents with the workspace, and everything else comes from the store.
func TestUnchangedFilesShareTheirExtents(t *testing.T) {
	sharing(t, func(t *testing.T, r *room, disk string) {
		at := func(name string) string { return filepath.Join(r.workspace, name) }
		const size = 1 << 20
		for _, name := range []string{"large", "edited", "touched", "gone", "closed", "linked"} {
			r.write(name, incompressible(size))
		}
		r.write("medium", incompressible(20_000))
		r.write("small", incompressible(100))
		r.write("sparse", nil)
		r.must(os.Truncate(at("sparse"), size), os.Link(at("linked"), at("again")), os.Chmod(at("closed"), 0o400), os.Chmod(at("medium"), 0o751),
			unix.Setxattr(at("medium"), "user.color", []byte("blue"), 0), os.Symlink("large", at("link")), os.Chtimes(at("medium"), time.Time{}, time.Unix(1e9, 5)))
		n := r.take()
		want := treetest.Read(t, r.workspace)
		r.tick()
		edited := incompressible(size)
		info, err := os.Stat(at("edited"))
		r.must(err)
		r.write("edited", edited)
		r.must(os.Chtimes(at("edited"), time.Time{}, info.ModTime()), os.Chmod(at("touched"), 0o640), os.Remove(at("gone"))) // the time is put back
		dir := filepath.Join(disk, "branch")
		r.must(r.p.Checkout(context.Background(), n, dir, false))
		if got := treetest.Read(t, dir); !slices.Equal(got, want) {
			t.Fatalf("it is\n%q\nwas\n%q", got, want)
		}
		for name, least := range map[string]int64{"large": size, "linked": size, "again": size, "closed": size, "medium": 20_000, "edited": 0, "touched": 0, "small": 0} {
			if shared := disktest.Shared(t, at(name), filepath.Join(dir, name)); shared < least || least == 0 && shared > 0 {
				t.Errorf("%s shares %d bytes, %d are expected", name, shared, least)
			}
		}
		f, err := os.OpenFile(filepath.Join(dir, "large"), os.O_WRONLY, 0)
		r.must(err)
		_, err = f.WriteAt([]byte("a branch"), 0)
		r.must(err, f.Close())
		if now, err := os.ReadFile(at("large")); err != nil || bytes.HasPrefix(now, []byte("a branch")) {
			t.Fatalf("the branch wrote to the workspace, %v", err)
		}
		view := filepath.Join(disk, "view")
		r.must(r.p.Checkout(context.Background(), n, view, true))
		if shared := disktest.Shared(t, at("medium"), filepath.Join(view, "medium")); shared < 20_000 {
			t.Errorf("the view shares %d bytes", shared)
		}
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		r.must(r.p.Checkout(context.Background(), n, elsewhere, false))
		if got := treetest.Read(t, elsewhere); !slices.Equal(got, want) {
			t.Fatalf("on another filesystem it is\n%q\nwas\n%q", got, want)
		}
	})
}

// TestAFileThatIsEditedWhileItIsCloned comes from the store.
func TestAFileThatIsEditedWhileItIsCloned(t *testing.T) {
	sharing(t, func(t *testing.T, r *room, disk string) {
		content := incompressible(100_000)
		r.write("a", content)
		r.write("b", content)
		n := r.take()
		want := treetest.Read(t, r.workspace)
		r.tick()
		tracked.Cloned(func(path string) {
			if path == "a" {
				r.write("a", incompressible(len(content)))
			}
		})
		defer tracked.Cloned(nil)
		dir := filepath.Join(disk, "branch")
		r.must(r.p.Checkout(context.Background(), n, dir, false))
		if got := treetest.Read(t, dir); !slices.Equal(got, want) {
			t.Fatalf("it is\n%q\nwas\n%q", got, want)
		}
		if shared := disktest.Shared(t, filepath.Join(r.workspace, "b"), filepath.Join(dir, "b")); shared < 100_000 {
			t.Errorf("the other file shares %d bytes", shared)
		}
	})
}

// TestACloneNeverHasAnotherContent, while a program writes to the files all the time.
func TestACloneNeverHasAnotherContent(t *testing.T) {
	sharing(t, func(t *testing.T, r *room, disk string) {
		was := map[string][]byte{}
		for _, name := range []string{"a", "b", "c", "d"} {
			was[name] = incompressible(50_000)
			r.write(name, was[name])
		}
		n := r.take()
		r.tick()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if f, err := os.OpenFile(filepath.Join(r.workspace, []string{"a", "b", "c", "d"}[i%4]), os.O_WRONLY, 0); err == nil {
					_, _ = f.WriteAt([]byte{byte(i)}, int64(i*997%50_000))
					_ = f.Close()
				}
			}
		}()
		defer func() { close(stop); <-stopped }()
		for range 20 {
			dir := filepath.Join(disk, "branch")
			r.must(r.p.Checkout(context.Background(), n, dir, false))
			for name, want := range was {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s has another content, %v", name, err)
				}
			}
			r.must(tracked.RemoveAll(dir))
			if _, _, err := r.p.Take(context.Background(), ""); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// besideOf is what the directory beside a workspace is called in which the views of a store are.
func besideOf(workspace, store string) string {
	sum := sha256.Sum256([]byte(store))
	return fmt.Sprintf(".tidemark-views-%s-%x", workspace, sum[:4])
}

// TestViewsGoWhereExtentsAreShared: into the home, unless it is elsewhere and a directory beside the workspace would share.
func TestViewsGoWhereExtentsAreShared(t *testing.T) {
	sharing(t, func(t *testing.T, r *room, disk string) {
		home, err := filepath.EvalSymlinks(t.TempDir())
		r.must(err)
		place := func(usual string) provider.Placement {
			t.Helper()
			p, err := provider.Place(r.workspace, home, usual)
			r.must(err)
			if p.Why == "" {
				t.Errorf("%+v does not say why", p)
			}
			return p
		}
		beside := filepath.Join(disk, besideOf("workspace", home))
		for _, files := range []int{0, 1} { // a workspace without a file too
			if files > 0 {
				r.write("file", nil)
			}
			if p := place(filepath.Join(home, "views")); p.Dir != beside || !p.Beside || !p.Shares {
				t.Errorf("%+v", p)
			}
			usual := filepath.Join(disk, "home", "views")
			if p := place(usual); p.Dir != usual || p.Beside || !p.Shares {
				t.Errorf("%+v", p)
			}
		}
		other, err := provider.Place(r.workspace, filepath.Join(home, "other"), filepath.Join(home, "other", "views"))
		if r.must(err); !other.Beside || other.Dir == beside {
			t.Errorf("another home has %s", other.Dir)
		}
		p := place(filepath.Join(home, "views"))
		r.must(p.Create(), p.Create())
		r.must(os.Mkdir(filepath.Join(disk, ".git"), 0o755))
		if p := place(filepath.Join(home, "views")); p.Beside || p.Shares {
			t.Errorf("within a repository: %+v", p)
		}
		r.must(os.Remove(filepath.Join(disk, ".git")), os.Chmod(beside, 0o777)) //nolint:gosec // what is refused
		if p := place(filepath.Join(home, "views")); p.Beside || p.Create() != nil {
			t.Errorf("where others can write: %+v", p)
		}
		if got := treetest.Read(t, r.workspace); len(got) != 2 {
			t.Errorf("something was left in the workspace: %q", got)
		}
	})
}
