package records_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// A moment of an older version has no exit status. It is read as it is.
func TestAMomentOfAnOlderVersionIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.db")
	d, _, err := records.Open(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	one := 1
	if err := d.Add("space", &records.Moment{Label: "new", Exit: &one}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	older, err := msgpack.Marshal(struct {
		Number        uint64
		Label, Source string
		Anchor        *records.Anchor
	}{2, "npm test failed", records.FromTestsFailed, nil})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("workspaces")).Bucket([]byte("space")).Bucket([]byte("moments")).Put([]byte{0, 0, 0, 0, 0, 0, 0, 2}, older)
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if d, _, err = records.Open(path, time.Now()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	all, err := d.Moments("space")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if m := all[0]; m.Exit == nil || *m.Exit != 1 {
		t.Errorf("the new one is %+v", m)
	}
	if m := all[1]; m.Exit != nil || m.Label != "npm test failed" || m.Source != records.FromTestsFailed {
		t.Errorf("the older one is %+v", m)
	}
}
