package tracked_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// TestADamagedByteLosesOneFile of one snapshot, after the store was opened again too.
func TestADamagedByteLosesOneFile(t *testing.T) {
	r := newRoom(t, tracked.Options{})
	contents := map[string][]byte{}
	var numbers []uint64
	for i := range 6 {
		name := fmt.Sprint("f", i)
		contents[name] = incompressible(20_000)
		r.write(name, contents[name])
		numbers = append(numbers, r.take())
	}
	if err := r.p.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.options.Store, "objects", "00000001.pack")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[bytes.Index(data, contents["f3"][10_000:])] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.open()
		if info, err := os.Stat(path); err != nil || info.Size() < int64(len(data)) {
			t.Fatalf("%d of %d bytes are left, %v", info.Size(), len(data), err)
		}
		if list := r.p.List(); len(list) != len(numbers) {
			t.Fatalf("%+v", list)
		}
		for i, n := range numbers {
			for j := range i + 1 {
				name := fmt.Sprint("f", j)
				e, err := r.p.Entry(n, name)
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				err = r.p.Content(&got, e)
				if is := bytes.Equal(got.Bytes(), contents[name]); is == (j == 3) || is != (err == nil) {
					t.Fatalf("s%d: %s is %d bytes, %v", n, name, got.Len(), err)
				}
			}
		}
		if damages := strings.Join(r.p.Check(), "\n"); !strings.Contains(damages, path+" is damaged") || strings.Contains(damages, "lost") || strings.Count(damages, "such as f3") != 3 {
			t.Fatal(damages)
		}
		if err := r.p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r.open()
}
