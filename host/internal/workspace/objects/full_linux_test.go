package objects_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// TestACollectionWithoutRoomChangesNothing, where the filesystem makes no holes, and frees what is dead where it does.
func TestACollectionWithoutRoomChangesNothing(t *testing.T) {
	disk := disktest.Small(t, "16m")
	dir := filepath.Join(disk, "store")
	contents := randomContents(12, 1<<20)
	ids, _ := store(t, dir, contents)
	if err := os.WriteFile(filepath.Join(disk, "full"), make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	live := map[objects.ID]bool{}
	for i, id := range ids {
		live[id] = i%2 == 0
	}
	collect := func() (int64, error) {
		return s.Collect(context.Background(), objects.None, func(id objects.ID) bool { return live[id] })
	}
	has := func(all bool) {
		t.Helper()
		for i, id := range ids {
			got, err := s.Get(id)
			if there := err == nil && bytes.Equal(got, contents[i]); (all || live[id]) && !there || !all && !live[id] && s.Has(id) {
				t.Fatalf("content %d: %v", i, err)
			}
		}
		if damages := s.Check(); len(damages) > 0 {
			t.Fatal(damages)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
	}
	size := s.Size()
	end := objects.NoHoles()
	defer end()
	if freed, err := collect(); !objects.NoRoom(err) || freed != 0 || s.Size() != size {
		t.Fatalf("%d bytes were freed, %d of %d are stored, %v", freed, s.Size(), size, err)
	}
	has(true)
	end()
	if freed, err := collect(); err != nil || freed < 5<<20 || s.Size() != size-freed {
		t.Fatalf("%d bytes were freed, %d of %d are stored, %v", freed, s.Size(), size, err)
	}
	has(false)
	size = s.Size()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = open(t, dir); s.Size() != size {
		t.Fatalf("%d bytes instead of %d", s.Size(), size)
	}
	has(false)
	for i, id := range ids { // what was dead can come back
		if again, err := s.Put(contents[i]); err != nil || again != id {
			t.Fatal(err)
		}
		if i == 3 {
			break
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if got, err := s.Get(ids[i]); err != nil || !bytes.Equal(got, contents[i]) {
			t.Fatalf("content %d: %v", i, err)
		}
	}
}

// TestSharedContentsAreNotDugUp: another store has them, too, until it is removed.
func TestSharedContentsAreNotDugUp(t *testing.T) {
	disk := disktest.Small(t, "16m")
	dir, other := filepath.Join(disk, "store"), filepath.Join(disk, "other")
	contents := randomContents(12, 1<<20)
	ids, _ := store(t, dir, contents)
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	if err := s.Share(other); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "full"), make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	half := func(id objects.ID) bool { return id != ids[0] && id != ids[1] && id != ids[2] && id != ids[3] }
	if freed, err := s.Collect(context.Background(), objects.None, half); !objects.NoRoom(err) || freed != 0 {
		t.Fatalf("%d bytes were freed, %v", freed, err)
	}
	o := open(t, other)
	if damages := o.Check(); len(damages) > 0 {
		t.Fatal(damages)
	}
	for i, id := range ids {
		if got, err := o.Get(id); err != nil || !bytes.Equal(got, contents[i]) {
			t.Fatalf("content %d: %v", i, err)
		}
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	if freed, err := s.Collect(context.Background(), objects.None, half); err != nil || freed < 3<<20 {
		t.Fatalf("%d bytes were freed, %v", freed, err)
	}
}
