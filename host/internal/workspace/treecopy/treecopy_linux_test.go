package treecopy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/treecopy"
	"tidemark.dev/tidemark/host/testing/disktest"
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

// TestACopySharesTheExtentsOfAFileThatIsTheSame, and of no other one. The directory that is copied is on another filesystem, as a mount is.
func TestACopySharesTheExtentsOfAFileThatIsTheSame(t *testing.T) {
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			top := disktest.Sharing(t, kind)
			from, like, other := t.TempDir(), filepath.Join(top, "like"), disktest.Small(t, "16m")
			content := func(seed byte) []byte {
				b := make([]byte, 700_000)
				_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
				return b
			}
			at := time.Unix(1_000_000_000, 123_456_000)
			write := func(dir, name string, content []byte, at time.Time) {
				t.Helper()
				name = filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, content, 0o640), os.Chtimes(name, at, at)); err != nil { //nolint:gosec // a test's
					t.Fatal(err)
				}
			}
			changed := content(2)
			changed[len(changed)-1]++
			larger := append(content(3), 0)
			for dir, seconds := range map[string]int{from: 0, like: 1} {
				write(dir, "dir/same", content(1), at)
				write(dir, "later", content(4), at.Add(time.Duration(seconds)*time.Second))
				write(dir, "small", []byte("small"), at)
			}
			write(from, "changed", content(2), at)
			write(like, "changed", changed, at)
			write(from, "larger", content(3), at)
			write(like, "larger", larger, at)
			write(from, "only here", content(5), at)
			write(from, "a directory there", content(6), at)
			write(from, "a link there", content(7), at)
			write(other, "a link there", content(7), at)
			if err := errors.Join(os.Mkdir(filepath.Join(like, "a directory there"), 0o755), os.Symlink(filepath.Join(other, "a link there"), filepath.Join(like, "a link there"))); err != nil {
				t.Fatal(err)
			}
			want := treetest.Read(t, from)
			for i, likes := range [][]string{{like}, {other, filepath.Join(top, "missing"), like}} {
				to := filepath.Join(top, fmt.Sprint("to", i))
				if err := treecopy.Copy(t.Context(), from, to, likes...); err != nil {
					t.Fatal(err)
				}
				if got := treetest.Read(t, to); !slices.Equal(got, want) {
					t.Fatalf("the copy is\n%s\nand the directory\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				for _, name := range []string{"dir/same", "later", "small", "changed", "larger"} {
					shared := disktest.Shared(t, filepath.Join(to, name), filepath.Join(like, name))
					if is := name == "dir/same"; is != (shared >= 600_000) || !is && shared > 0 {
						t.Errorf("%s shares %d bytes", name, shared)
					}
				}
			}
		})
	}
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
