package store

import (
	"bytes"
	"slices"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/event"
)

// TestRunsOfLinesOnDiskHaveThreeFields, as those of earlier programs have.
func TestRunsOfLinesOnDiskHaveThreeFields(t *testing.T) {
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	e.UseArrayEncodedStructs(true)
	if err := e.Encode([]struct{ At, Old, New int }{{1, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	former := bytes.Clone(b.Bytes())
	var read []event.Run
	if err := msgpack.NewDecoder(&b).Decode(&read); err != nil || !slices.Equal(read, []event.Run{{At: 1, Old: 2, New: 3}}) {
		t.Errorf("%+v, %v", read, err)
	}
	b.Reset()
	if err := e.Encode([]event.Run{{At: 1, Old: 2, New: 3, From: 4, To: 5}}); err != nil || !bytes.Equal(b.Bytes(), former) {
		t.Errorf("%x, %v", b.Bytes(), err)
	}
}
