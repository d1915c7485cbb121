package records_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// space is the workspace that is in testdata.
const space = "shop-4ffee755e2af"

// unpackOlder writes the file of format 1 in testdata: a session with five moments and an operation.
func unpackOlder(t *testing.T, path string) {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", "format1.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) (*records.DB, string) {
	t.Helper()
	d, notice, err := records.Open(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return d, notice
}

func labels(t *testing.T, d *records.DB, space string) (list []string) {
	t.Helper()
	all, err := d.Moments(space)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		list = append(list, m.Label)
	}
	return list
}

// A file that was written before records had checksums is read, and has them from then on.
func TestAFileOfAnOlderFormatIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.db")
	unpackOlder(t, path)
	for range 2 {
		d, notice := open(t, path)
		if notice != "" {
			t.Errorf("notice: %s", notice)
		}
		if got := labels(t, d, space); len(got) != 5 || got[0] != "session started" || got[3] != "moment 3" || got[4] != "restore s3" {
			t.Errorf("its moments are %q", got)
		}
		if all, err := d.Operations(space); err != nil || len(all) != 1 || all[0].What != "restore s3" {
			t.Errorf("its operations are %+v, %v", all, err)
		}
		if all, err := d.Sessions(); err != nil || len(all) != 1 || all[0].Workspace != "/tmp/shop" {
			t.Errorf("its sessions are %+v, %v", all, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	_ = b.View(func(tx *bbolt.Tx) error {
		if got := string(tx.Bucket([]byte("meta")).Get([]byte("format"))); got != "2" {
			t.Errorf("its format is %s", got)
		}
		return nil
	})
}

// A record that was damaged in a file of an older format is missed, too.
func TestADamagedRecordOfAnOlderFormatIsExplained(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.db")
	unpackOlder(t, path)
	b, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("workspaces")).Bucket([]byte(space)).Bucket([]byte("moments")).Put([]byte{0, 0, 0, 0, 0, 0, 0, 3}, []byte("damaged"))
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	d, notice := open(t, path)
	if got := labels(t, d, space); len(got) != 4 || !strings.Contains(notice, "1 of 7 records of the timeline are damaged") {
		t.Errorf("%q, %q", got, notice)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if copies, err := filepath.Glob(path + ".damaged-*"); err != nil || len(copies) != 1 {
		t.Errorf("copies: %q, %v", copies, err)
	}
}

// A moment of an older version has no exit status. It is read as it is, and so is the rest of its file.
func TestAMomentOfAnOlderVersionIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.db")
	unpackOlder(t, path)
	b, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	older, err := msgpack.Marshal(struct {
		Number        uint64
		Label, Source string
		Anchor        *records.Anchor
	}{6, "npm test failed", records.FromTestsFailed, nil})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(func(tx *bbolt.Tx) error {
		moments := tx.Bucket([]byte("workspaces")).Bucket([]byte(space)).Bucket([]byte("moments"))
		if err := moments.SetSequence(6); err != nil {
			return err
		}
		return moments.Put([]byte{0, 0, 0, 0, 0, 0, 0, 6}, older)
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	d, _ := open(t, path)
	defer func() { _ = d.Close() }()
	one := 1
	if err := d.Add(space, &records.Moment{Label: "new", Exit: &one}); err != nil {
		t.Fatal(err)
	}
	all, err := d.Moments(space)
	if err != nil || len(all) != 7 {
		t.Fatalf("%+v, %v", all, err)
	}
	if m := all[5]; m.Exit != nil || m.Label != "npm test failed" || m.Source != records.FromTestsFailed {
		t.Errorf("the older one is %+v", m)
	}
	if m := all[6]; m.Exit == nil || *m.Exit != 1 || m.Number != 7 {
		t.Errorf("the new one is %+v", m)
	}
}
