package objects_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
)

// store puts contents, each in a record of its own or with the one before it, and returns their IDs and the pack.
func store(t *testing.T, dir string, contents [][]byte) (ids []objects.ID, pack []byte) {
	t.Helper()
	s := open(t, dir)
	for i, c := range contents {
		id, err := s.Put(c)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		if i%2 == 1 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pack, err := os.ReadFile(filepath.Join(dir, "00000001.pack"))
	if err != nil {
		t.Fatal(err)
	}
	return ids, pack
}

func randomContents(n, size int) [][]byte {
	contents := make([][]byte, n)
	for i := range contents {
		contents[i] = make([]byte, size)
		for j := range contents[i] {
			contents[i][j] = byte(rand.Uint32()) //nolint:gosec // what cannot be compressed
		}
	}
	return contents
}

// TestADamageTakesOnlyWhatIsInIt, after opening too, in the last pack or in an earlier one; what it took is
// stored again when it is put again.
func TestADamageTakesOnlyWhatIsInIt(t *testing.T) {
	dir := t.TempDir()
	contents := randomContents(8, 100)
	ids, pack := store(t, dir, contents)
	for _, sealed := range []bool{false, true} {
		for at := 16; at < len(pack); at += 7 {
			damaged := bytes.Clone(pack)
			damaged[at] ^= 0x10
			err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "00000001.pack"), damaged, 0o600))
			if sealed {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, "00000002.pack"), pack[:16], 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			s := open(t, dir)
			damages := s.Check()
			last := at >= len(pack)*3/4
			lost := 0
			for i, id := range ids {
				got, err := s.Get(id)
				switch {
				case err == nil && !bytes.Equal(got, contents[i]):
					t.Fatalf("byte %d: the content %d is another one", at, i)
				case err != nil && (!errors.Is(err, objects.ErrMissing) || s.Has(id)):
					t.Fatalf("byte %d, content %d: %v", at, i, err)
				case err != nil:
					lost++
					if again, err := s.Put(contents[i]); err != nil || again != id {
						t.Fatal(err)
					}
				}
			}
			copied, err := os.ReadFile(filepath.Join(dir, "00000001.pack.cut"))
			if err == nil && (sealed || !last || !bytes.HasSuffix(damaged, copied)) {
				t.Fatalf("byte %d: %d bytes were cut off: %v", at, len(copied), damages)
			}
			if lost > 2 || lost > 0 && len(damages) == 0 && err != nil {
				t.Fatalf("byte %d: %d contents are lost: %v", at, lost, damages)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
			for i, id := range ids {
				if got, err := s.Get(id); err != nil || !bytes.Equal(got, contents[i]) {
					t.Fatalf("byte %d: the content %d was not stored again: %v", at, i, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
