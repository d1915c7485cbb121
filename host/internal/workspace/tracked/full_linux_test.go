package tracked_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/killtest"
)

// free returns how many bytes of a filesystem are free.
func free(t *testing.T, dir string) int64 {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Bavail) * st.Bsize //nolint:gosec // a small filesystem
}

// fill takes the rest of a filesystem, but for some bytes.
func fill(t *testing.T, dir string, leave int64) {
	t.Helper()
	if n := free(t, dir) - leave; n > 0 {
		if err := os.WriteFile(filepath.Join(dir, "filled"), make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// newFullRoom is a workspace whose store fills its disk: snapshots of one file, each with another content, until there is no
// room.
func newFullRoom(t *testing.T, leave int64) (r *room, contents map[uint64][]byte) {
	disk := disktest.Small(t, "40m")
	workspace := filepath.Join(t.TempDir(), "workspace")
	r = &room{T: t, workspace: workspace, options: tracked.Options{Workspace: workspace, Store: filepath.Join(disk, "store"), Clock: time.Now}}
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	r.open()
	t.Cleanup(func() { _ = r.p.Close() })
	contents = map[uint64][]byte{}
	for range 9 {
		content := incompressible(5_000_000)
		r.write("f", content)
		s, _, err := r.p.Take(context.Background(), "")
		if err != nil {
			if !objects.NoRoom(err) {
				t.Fatal(err)
			}
			break
		}
		contents[s.Number] = content
	}
	if len(contents) < 5 {
		t.Fatalf("only %d snapshots found room", len(contents))
	}
	fill(t, disk, leave)
	return r, contents
}

// TestPruningAFullDiskFreesRoom, whether a little is free or nothing.
func TestPruningAFullDiskFreesRoom(t *testing.T) {
	for _, leave := range []int64{1 << 20, 0} {
		r, contents := newFullRoom(t, leave)
		before := free(t, r.options.Store)
		choice, err := r.p.Retain(context.Background(), provider.Policy{Bytes: 16 << 20}, retention.Never, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(choice.Delete) == 0 || choice.Left > 16<<20 || free(t, r.options.Store)-before < 10<<20 {
			t.Fatalf("%+v, %d bytes are free, %d were", choice, free(t, r.options.Store), before)
		}
		whole := func() {
			t.Helper()
			if list := r.p.List(); len(list) != len(contents)-len(choice.Delete) {
				t.Fatalf("%+v", list)
			}
			for n, content := range contents {
				if !slices.Contains(choice.Delete, n) {
					r.has(n, "f", content)
				}
			}
			if damages := r.p.Check(); len(damages) > 0 {
				t.Fatal(damages)
			}
		}
		whole()
		size := r.p.Size()
		if err := r.p.Close(); err != nil {
			t.Fatal(err)
		}
		r.open()
		if again := r.p.Size(); again != size {
			t.Fatalf("%d bytes, %d after opening", size, again)
		}
		whole()
		// There is room again, for what was deleted too.
		for n, content := range contents {
			if slices.Contains(choice.Delete, n) {
				r.write("f", content)
				r.has(r.take(), "f", content)
				break
			}
		}
		if _, err := r.p.Prune(context.Background()); err != nil {
			t.Fatal(err)
		}
		if u, err := r.p.Usage(context.Background()); err != nil || u.Reclaimable > 1<<20 || u.Total() != r.p.Size() {
			t.Fatalf("%+v, %d bytes, %v", u, r.p.Size(), err)
		}
	}
}

// TestAPruneThatFreesNothingDeletesNothing: where not even its own record has room, or the new history.
func TestAPruneThatFreesNothingDeletesNothing(t *testing.T) {
	disk := disktest.Small(t, "8m")
	workspace := filepath.Join(t.TempDir(), "workspace")
	r := &room{T: t, workspace: workspace, options: tracked.Options{Workspace: workspace, Store: filepath.Join(disk, "store"), Clock: time.Now}}
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	r.open()
	t.Cleanup(func() { _ = r.p.Close() })
	r.write("large", incompressible(4<<20))
	for range 3 {
		r.write("small", incompressible(100))
		r.take()
	}
	if err := os.Remove(filepath.Join(r.options.Store, "reserve")); err != nil {
		t.Fatal(err)
	}
	fill(t, disk, 0)
	size := r.p.Size()
	for range 2 {
		if _, err := r.p.Prune(context.Background(), 1); !objects.NoRoom(err) || !strings.Contains(err.Error(), "No snapshot was deleted") {
			t.Fatal(err)
		}
		if list := r.p.List(); len(list) != 3 || r.p.Size() > size+1000 {
			t.Fatalf("%+v, %d of %d bytes", list, r.p.Size(), size)
		}
		if damages := r.p.Check(); len(damages) > 0 {
			t.Fatal(damages)
		}
		if err := r.p.Close(); err != nil {
			t.Fatal(err)
		}
		r.open()
	}
	if err := os.Remove(filepath.Join(disk, "filled")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.p.Prune(context.Background(), 1); err != nil || len(r.p.List()) != 2 {
		t.Fatalf("%+v, %v", r.p.List(), err)
	}
}

// TestAPruneThatFreesNothingBringsItsSnapshotsBack: the history was rewritten already when it turns out that the contents that
// stay have no room to be copied.
func TestAPruneThatFreesNothingBringsItsSnapshotsBack(t *testing.T) {
	disk := disktest.Small(t, "8m")
	workspace := filepath.Join(t.TempDir(), "workspace")
	r := &room{T: t, workspace: workspace, options: tracked.Options{Workspace: workspace, Store: filepath.Join(disk, "store"), Clock: time.Now}}
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	r.open()
	t.Cleanup(func() { _ = r.p.Close() })
	contents := map[uint64][]byte{}
	for n := range uint64(2) { // in the first snapshot's pack, half of each record is needed by the second one
		for i := range 200 {
			if content := incompressible(8_000); n == 0 || i%2 == 0 {
				r.write(fmt.Sprint("f", i), content)
				if i == 0 {
					contents[n+1] = content
				}
			}
		}
		r.take()
	}
	fill(t, disk, 0)
	size := r.p.Size()
	for range 2 {
		if _, err := r.p.Prune(context.Background(), 1); !objects.NoRoom(err) || !strings.Contains(err.Error(), "No snapshot was deleted") {
			t.Fatal(err)
		}
		if list := r.p.List(); len(list) != 2 || r.p.Size() > size+100_000 {
			t.Fatalf("%+v, %d of %d bytes", list, r.p.Size(), size)
		}
		for n, content := range contents {
			r.has(n, "f0", content)
		}
		if damages := r.p.Check(); len(damages) > 0 {
			t.Fatal(damages)
		}
		if err := r.p.Close(); err != nil {
			t.Fatal(err)
		}
		r.open()
	}
	if err := os.Remove(filepath.Join(disk, "filled")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.p.Prune(context.Background(), 1); err != nil || len(r.p.List()) != 1 || r.p.Size() > size*2/3 {
		t.Fatalf("%+v, %v", r.p.List(), err)
	}
}

// TestRetainDeletesNothingInVain, on a full disk: the newest snapshot needs all contents.
func TestRetainDeletesNothingInVain(t *testing.T) {
	disk := disktest.Small(t, "40m")
	workspace := filepath.Join(t.TempDir(), "workspace")
	r := &room{T: t, workspace: workspace, options: tracked.Options{Workspace: workspace, Store: filepath.Join(disk, "store"), Clock: time.Now}}
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	r.open()
	t.Cleanup(func() { _ = r.p.Close() })
	references := map[uint64]string{}
	for i := range 6 {
		r.write(fmt.Sprint("r", i), incompressible(8_000_000))
		s, _, err := r.p.Take(context.Background(), "")
		if (err != nil) != (i == 5) || err != nil && !objects.NoRoom(err) {
			t.Fatal(i, err)
		}
		if err == nil && i != 1 {
			references[s.Number] = "m1, mine"
		}
	}
	list := r.p.List()
	choice, err := r.p.Retain(context.Background(), provider.Policy{Bytes: 10 << 20}, retention.Never, references)
	if len(choice.Delete) > 0 || len(r.p.List()) != len(list) || err == nil && choice.Over < 20<<20 {
		t.Fatalf("%+v, %v", choice, err)
	}
}

// contentOf is the content of a snapshot's file.
func contentOf(name string) []byte {
	content := make([]byte, 300_000)
	_, _ = rand.NewChaCha8(objects.IDOf([]byte(name))).Read(content)
	return content
}

// fullVictim takes snapshots until the disk is full, and then deletes some.
func fullVictim(v killtest.Process, dir string) {
	workspace := filepath.Join(dir, "workspace")
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "small", "store"), Clock: time.Now})
	v.Must(err)
	for {
		v.Say("take")
		name := fmt.Sprint(rand.Uint64()) //nolint:gosec // a test's edits
		v.Must(os.WriteFile(filepath.Join(workspace, "f"), contentOf(name), 0o600))
		s, _, err := p.Take(context.Background(), name)
		if err == nil {
			v.Say("taken", s.Number)
			continue
		}
		if !objects.NoRoom(err) {
			v.Must(err)
		}
		var some []uint64
		for _, s := range p.List() {
			if rand.IntN(2) == 0 { //nolint:gosec // which ones
				some = append(some, s.Number)
			}
		}
		v.Say("prune", strings.Trim(fmt.Sprint(some), "[]"))
		_, err = p.Prune(context.Background(), some...)
		v.Must(err)
		v.Say("pruned")
	}
}

// TestAKilledPruneOfAFullDiskLosesNothing that it was not to delete.
func TestAKilledPruneOfAFullDiskLosesNothing(t *testing.T) {
	killtest.Victim(fullVictim)
	disk := disktest.Small(t, "6m")
	dir := filepath.Dir(disk)
	workspace := filepath.Join(dir, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	returned, doomed := map[uint64]bool{}, map[uint64]bool{}
	hunt := killtest.Hunt{
		Dir: dir, Steps: []string{"prune"}, Short: 2, Usual: 4,
		Said: func(step, rest string) {
			for text := range strings.FieldsSeq(rest) {
				n, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				if step == "prune" {
					doomed[n] = true
				} else {
					returned[n] = true
				}
			}
			if step == "pruned" {
				maps.DeleteFunc(returned, func(n uint64, _ bool) bool { return doomed[n] })
				clear(doomed)
			}
		},
		Survived: func(string) {
			p := openProvider(t, workspace, filepath.Join(disk, "store"), nil)
			defer func() { _ = p.Close() }()
			there := map[uint64]bool{}
			for _, s := range p.List() {
				there[s.Number] = true
				e, err := p.Entry(s.Number, "f")
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				if err := p.Content(&got, e); err != nil || !bytes.Equal(got.Bytes(), contentOf(s.Label)) {
					t.Fatalf("s%d is %d bytes, %v", s.Number, got.Len(), err)
				}
			}
			for n := range returned {
				if !there[n] && !doomed[n] {
					t.Fatalf("s%d is not there, %v are", n, slices.Sorted(maps.Keys(there)))
				}
			}
			maps.DeleteFunc(returned, func(n uint64, _ bool) bool { return !there[n] })
			clear(doomed)
			for _, damage := range p.Check() {
				if !strings.Contains(damage, "was not whole") {
					t.Fatal(damage)
				}
			}
		},
	}
	hunt.Run(t)
}

// TestACheckMissesAFileThatIsStillOpen, before the end of the process loses what is in it.
func TestACheckMissesAFileThatIsStillOpen(t *testing.T) {
	r := newRoom(t, tracked.Options{})
	r.write("f", []byte("content"))
	r.take()
	path := filepath.Join(r.options.Store, "objects", "00000001.pack")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if damages := r.p.Check(); len(damages) != 1 || !strings.HasPrefix(damages[0], path+" does not exist any more") {
		t.Fatalf("%q", damages)
	}
}
