package timeline_test

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// refusing is a directory of a filesystem that has only names in UTF-8, without colons.
type refusing struct{ *fs.LoopbackNode }

func (n *refusing) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &refusing{child.(*fs.LoopbackNode)}
}

func refused(name string) syscall.Errno {
	switch {
	case !utf8.ValidString(name):
		return syscall.EILSEQ
	case strings.Contains(name, ":"):
		return syscall.EINVAL
	}
	return 0
}

func (n *refusing) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if why := refused(name); why != 0 {
		return nil, why
	}
	return n.LoopbackNode.Lookup(ctx, name, out)
}

func (n *refusing) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if why := refused(name); why != 0 {
		return nil, nil, 0, why
	}
	return n.LoopbackNode.Create(ctx, name, flags, mode, out)
}

// mountRefusing mounts such a filesystem on a directory.
func mountRefusing(t *testing.T, dir string) {
	t.Helper()
	behind := t.TempDir()
	root, err := fs.NewLoopbackRoot(behind)
	if err != nil {
		t.Fatal(err)
	}
	server, err := fs.Mount(dir, &refusing{root.(*fs.LoopbackNode)}, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: os.Geteuid() == 0, Logger: log.New(io.Discard, "", 0)}})
	if err != nil {
		t.Skipf("cannot mount a filesystem of FUSE here: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(tracked.RemoveAll(filepath.Join(dir, "branches")), tracked.RemoveAll(filepath.Join(dir, "workspaces")), server.Unmount()); err != nil {
			t.Error(err)
		}
	})
}

// TestNamesThatTheFilesystemOfViewsRefuses: a view and a branch lack them and say so. A branch does not count them as deleted.
func TestNamesThatTheFilesystemOfViewsRefuses(t *testing.T) {
	w := timelinetest.New(t)
	w.Stop()
	dir := filepath.Join(w.Top, "refusing")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mountRefusing(t, dir)
	for _, name := range []string{"workspaces", "branches"} {
		at := filepath.Join(w.Top, name)
		if err := errors.Join(os.RemoveAll(at), os.Mkdir(filepath.Join(dir, name), 0o700), os.Symlink(filepath.Join(dir, name), at)); err != nil {
			t.Fatal(err)
		}
	}
	w.Start()
	t.Cleanup(func() { w.Stop(); w.Start() }) // for what is unmounted before
	for _, path := range []string{"good", "a:b", "bad\xff", "src/good", "src/c:d", "x:y/in/it", "x:y/too", "hard:1"} {
		w.Write(path, path+"\n")
	}
	link := func(from, to string) {
		t.Helper()
		if err := os.Link(filepath.Join(w.Dir, from), filepath.Join(w.Dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	link("hard:1", "hard-2")
	link("hard:1", "hard-3")
	link("good", "link:4")
	if err := os.Symlink("good", filepath.Join(w.Dir, "sym:link")); err != nil {
		t.Fatal(err)
	}
	w.Edit("first")
	want := []string{"a:b", "bad\xff", "hard:1", "link:4", "src/c:d", "sym:link", "x:y"}
	whole := func(at string, unnamed []string) {
		t.Helper()
		var named []string
		for _, line := range unnamed {
			path, why, _ := strings.Cut(line, ": ")
			if named = append(named, path); why != "the filesystem here has no such names" {
				t.Errorf("%q", line)
			}
		}
		if !slices.Equal(named, want) {
			t.Errorf("%q are left out, want %q", named, want)
		}
		for path, content := range map[string]string{"good": "good\n", "src/good": "src/good\n", "hard-2": "hard:1\n", "hard-3": "hard:1\n"} {
			if got := w.Read(filepath.Join(at, path)); got != content {
				t.Errorf("%s has %q", path, got)
			}
		}
		one, err := os.Stat(filepath.Join(at, "hard-2"))
		if err != nil {
			t.Fatal(err)
		}
		if two, err := os.Stat(filepath.Join(at, "hard-3")); err != nil || !os.SameFile(one, two) {
			t.Errorf("the hard links are not one file: %v", err)
		}
	}
	for _, state := range []string{"new", "again", "after a restart"} {
		if state == "after a restart" {
			w.Restart()
		}
		s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: "s1"})
		if err != nil {
			t.Fatal(state, err)
		}
		whole(s.Mount, s.Unnamed)
	}
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: "s1", Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	whole(b.Workspace, b.Unnamed)
	if err := os.WriteFile(filepath.Join(b.Workspace, "good"), []byte("changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: moments.Where{Dir: b.Workspace}, From: "start"})
	if err != nil || len(d.Files) != 1 || d.Files[0].Path != "good" {
		t.Errorf("the branch differs from its start in %+v, %v", d, err)
	}
}

// TestNamesThatTheFilesystemOfTheWorkspaceRefuses: a restore names them, and restores the others where the user leaves them.
func TestNamesThatTheFilesystemOfTheWorkspaceRefuses(t *testing.T) {
	w := timelinetest.New(t)
	for _, path := range []string{"good", "a:b", "bad\xff", "x:y/in/it", "x:y/too", "src/good"} {
		w.Write(path, path)
	}
	w.Edit("first")
	w.Stop()
	if err := errors.Join(os.RemoveAll(w.Dir), os.Mkdir(w.Dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	mountRefusing(t, w.Dir)
	w.Start()
	t.Cleanup(func() { w.Stop(); w.Start() })
	p := operations.RestoreParams{Where: w.Here(), To: "s1"}
	plan, err := w.Operations.Restore(t.Context(), timelinetest.User, p)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, line := range plan.Blocked {
		path, why, _ := strings.Cut(line, ": ")
		if named = append(named, path); why != "cannot write it: the filesystem here has no such names" {
			t.Errorf("%q", line)
		}
	}
	if want := []string{"a:b", "bad\xff", "x:y"}; !slices.Equal(named, want) {
		t.Errorf("%q are refused, want %q", named, want)
	}
	p.Leave, p.Confirm = true, true
	if r, err := w.Operations.Restore(t.Context(), timelinetest.User, p); err != nil || !r.Done || w.Read(filepath.Join(w.Dir, "good")) != "good" || w.Read(filepath.Join(w.Dir, "src/good")) != "src/good" {
		t.Errorf("%+v, %v", r, err)
	}
}
