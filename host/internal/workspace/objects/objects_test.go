package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
)

func open(t interface{ Fatal(...any) }, dir string) *objects.Store {
	s, err := objects.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWhatWasPutComesBack, after reopening and after collections too.
func TestWhatWasPutComesBack(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		at := filepath.Join(dir, string(rune('a'+n%26)), filepath.Base(t.Name()))
		defer func() { _ = os.RemoveAll(at) }()
		_ = os.RemoveAll(at)
		s := open(t, at)
		defer func() { _ = s.Close() }()
		want := map[objects.ID][]byte{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"put", "put", "put", "large", "flush", "reopen", "collect"}).Draw(t, "do") {
			case "put":
				put(t, s, want, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "content"))
			case "large":
				unit := rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "unit")
				put(t, s, want, bytes.Repeat(unit, rapid.IntRange(1, 6_000).Draw(t, "times")))
			case "flush":
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			case "reopen":
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, at)
			case "collect":
				live := map[objects.ID]bool{}
				for id := range want {
					if rapid.Bool().Draw(t, "live") {
						live[id] = true
					}
				}
				if _, err := s.Collect(context.Background(), rapid.SampledFrom([]objects.Waste{objects.Usual, objects.None}).Draw(t, "waste"), func(id objects.ID) bool { return live[id] }); err != nil {
					t.Fatal(err)
				}
				for id := range want {
					if !live[id] {
						delete(want, id)
					}
				}
			}
		}
		for id, content := range want {
			got, err := s.Get(id)
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("%s: %d bytes instead of %d, %v", id, len(got), len(content), err)
			}
		}
		if damages := s.Check(); len(damages) > 0 {
			t.Fatal(damages)
		}
	})
}

func put(t *rapid.T, s *objects.Store, want map[objects.ID][]byte, content []byte) {
	id, err := s.Put(content)
	if err != nil {
		t.Fatal(err)
	}
	want[id] = content
}

// TestACutPackLosesOnlyItsEnd, wherever it is cut, and says nothing wrong.
func TestACutPackLosesOnlyItsEnd(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "whole"))
	var ids []objects.ID
	contents := [][]byte{[]byte("one"), bytes.Repeat([]byte("two "), 1000), {}, []byte("three")}
	for _, c := range contents {
		id, err := s.Put(c)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "whole", "00000001.pack"))
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(whole) {
		cut := filepath.Join(dir, "cut")
		if err := errors.Join(os.RemoveAll(cut), os.MkdirAll(cut, 0o700), os.WriteFile(filepath.Join(cut, "00000001.pack"), whole[:size], 0o600)); err != nil {
			t.Fatal(err)
		}
		s := open(t, cut)
		missing := false
		for i, id := range ids {
			got, err := s.Get(id)
			switch {
			case errors.Is(err, objects.ErrMissing):
				missing = true
			case err != nil || !bytes.Equal(got, contents[i]):
				t.Fatalf("cut at %d, content %d: %q, %v", size, i, got, err)
			case missing:
				t.Fatalf("cut at %d: content %d is there, one before it is not", size, i)
			}
		}
		put, err := s.Put([]byte("four"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, cut)
		if got, err := s.Get(put); err != nil || string(got) != "four" {
			t.Fatalf("cut at %d, then put: %q, %v", size, got, err)
		}
		if damages := s.Check(); len(damages) > 0 {
			t.Fatal(damages)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestADamagedByteIsNoticed, wherever it is.
func TestADamagedByteIsNoticed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	content := []byte("a content that is long enough to be found in a pack")
	id, err := s.Put(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "00000001.pack")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x10
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := objects.Open(dir)
		if err != nil {
			continue // it says so
		}
		if got, err := s.Get(id); err == nil && !bytes.Equal(got, content) {
			t.Fatalf("byte %d: %q", i, got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStoresThatSharePacksAddToTheirOwn: what one of them writes is not in a pack of the other one, also after both were opened
// again.
func TestStoresThatSharePacksAddToTheirOwn(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	s := open(t, one)
	common, err := s.Put([]byte("common"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Share(two); err != nil {
		t.Fatal(err)
	}
	stores := []*objects.Store{s, open(t, two)}
	var own []objects.ID
	for round := range 2 {
		for i, s := range stores {
			id, err := s.Put(fmt.Appendf(nil, "%d of %d", round, i))
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			own = append(own, id)
		}
		stores = []*objects.Store{open(t, one), open(t, two)}
	}
	for i, s := range stores {
		if damages := s.Check(); len(damages) > 0 || !s.Has(common) {
			t.Errorf("store %d: %q", i, damages)
		}
		for k, id := range own {
			if s.Has(id) != (k%2 == i) {
				t.Errorf("store %d has what store %d wrote: %v", i, k%2, s.Has(id))
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
