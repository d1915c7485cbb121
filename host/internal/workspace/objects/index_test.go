package objects

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// TestTheIndexIsAMap, with IDs that want the same slots too.
func TestTheIndexIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x index
		want := map[ID]place{}
		for i := range rapid.IntRange(1, 400).Draw(t, "steps") {
			var id ID
			binary.LittleEndian.PutUint64(id[:], rapid.SampledFrom([]uint64{0, 1, 62, 63, 64, 127, 1 << 40}).Draw(t, "home"))
			id[31] = byte(rapid.IntRange(0, 20).Draw(t, "rest"))
			if rapid.IntRange(0, 2).Draw(t, "step") == 0 {
				x.remove(id)
				delete(want, id)
			} else {
				at := place{uint32(i), 2, 3} //nolint:gosec // a small number
				x.set(id, at)
				want[id] = at
			}
			if x.used != len(want) || int(x.rows)-len(x.unused) != x.used {
				t.Fatal(x.used, x.rows, len(x.unused), len(want))
			}
			if at, ok := x.get(id); ok != (want[id] != place{}) || at != want[id] {
				t.Fatal(id, at, want[id])
			}
		}
		for id, at := range want {
			if got, ok := x.get(id); !ok || got != at {
				t.Fatal(id, got, at)
			}
		}
	})
}
