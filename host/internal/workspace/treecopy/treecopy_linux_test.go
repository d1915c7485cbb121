package treecopy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/treecopy"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// TestACopyIsWhatTheDirectoryIs, whatever was done in it.
func TestACopyIsWhatTheDirectoryIs(t *testing.T) {
	top := t.TempDir()
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp(top, "case")
		if err != nil {
			t.Fatal(err)
		}
		from, to := filepath.Join(base, "from"), filepath.Join(base, "to")
		if err := os.Mkdir(from, 0o755); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 20).Draw(t, "edits") {
			editor.Edit(t, from)
		}
		want := treetest.Read(t, from)
		if err := treecopy.Copy(context.Background(), from, to); err != nil {
			t.Fatal(err)
		}
		if got := treetest.Read(t, to); !slices.Equal(got, want) {
			t.Fatalf("the copy is\n%s\nand the directory\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if now := treetest.Read(t, from); !slices.Equal(now, want) {
			t.Fatalf("the directory is\n%s\nand was\n%s", strings.Join(now, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestPathsOfAnyLengthAreCopied, also those that no call of the system takes as a whole.
func TestPathsOfAnyLengthAreCopied(t *testing.T) {
	top := t.TempDir()
	from, to := filepath.Join(top, "from"), filepath.Join(top, "to")
	if err := os.Mkdir(from, 0o755); err != nil {
		t.Fatal(err)
	}
	at, err := os.OpenRoot(from)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 200)
	for i := range 40 { // 8,000 bytes
		if err := errors.Join(at.Mkdir(name, 0o755), at.WriteFile(fmt.Sprint("file", i), []byte(fmt.Sprint(i)), 0o600)); err != nil {
			t.Fatal(err)
		}
		deeper, err := at.OpenRoot(name)
		if err := errors.Join(err, at.Close()); err != nil {
			t.Fatal(err)
		}
		at = deeper
	}
	if err := errors.Join(at.Close(), treecopy.Copy(t.Context(), from, to)); err != nil {
		t.Fatal(err)
	}
	if at, err = os.OpenRoot(to); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if got, err := at.ReadFile(fmt.Sprint("file", i)); err != nil || string(got) != fmt.Sprint(i) {
			t.Errorf("%d has %q, %v", i, got, err)
		}
		deeper, err := at.OpenRoot(name)
		if err := errors.Join(err, at.Close()); err != nil {
			t.Fatal(err)
		}
		at = deeper
	}
	if err := at.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestACopyThatFailsNamesWhat: nothing outside is read, and nothing is written over.
func TestACopyThatFailsNamesWhat(t *testing.T) {
	top := t.TempDir()
	from, to, outside := filepath.Join(top, "from"), filepath.Join(top, "to"), filepath.Join(top, "outside")
	if err := errors.Join(os.MkdirAll(filepath.Join(from, "a", "b"), 0o755), os.Mkdir(outside, 0o755), os.WriteFile(filepath.Join(outside, "secret"), nil, 0o600), os.Symlink(outside, filepath.Join(from, "a", "link"))); err != nil {
		t.Fatal(err)
	}
	if err := treecopy.Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(to, "a", "link")); err != nil || target != outside {
		t.Errorf("%q, %v", target, err)
	}
	if err := treecopy.Copy(t.Context(), from, to); !errors.Is(err, os.ErrExist) {
		t.Errorf("over another one: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := treecopy.Copy(ctx, from, filepath.Join(top, "cancelled")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	small := filepath.Join(top, "small")
	if err := errors.Join(os.Mkdir(small, 0o700), unix.Mount("small", small, "tmpfs", 0, "size=1m")); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	defer func() { _ = unix.Unmount(small, unix.MNT_DETACH) }()
	if err := os.WriteFile(filepath.Join(from, "a", "b", "large"), make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := treecopy.Copy(t.Context(), from, filepath.Join(small, "to")); !errors.Is(err, unix.ENOSPC) || !strings.HasPrefix(err.Error(), "a/b/large: ") {
		t.Errorf("a full disk: %v", err)
	}
}
