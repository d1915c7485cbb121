package records_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/seed"
)

// filled writes a file of two workspaces, and returns what it has.
func filled(t *testing.T, path string) []string {
	t.Helper()
	d, _ := open(t, path)
	for _, space := range []string{"shop-1", "blog-2"} {
		s := &records.Session{Workspace: "/srv/" + space, Started: time.Unix(1, 0)}
		if err := d.Begin(s, "s"); err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			if err := d.Add(space, &records.Moment{Session: s.ID, Label: fmt.Sprintf("moment %d of %s", i, space), At: time.Unix(int64(i), 0)}); err != nil {
				t.Fatal(err)
			}
			if i%10 > 0 {
				continue
			}
			if err := d.Log(space, &records.Operation{Session: s.ID, What: fmt.Sprintf("restore s%d", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	has := everything(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return has
}

// everything returns what a file has, a line for each record.
func everything(t *testing.T, d *records.DB) (list []string) {
	t.Helper()
	all, err := d.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		list = append(list, fmt.Sprintf("%+v", *s))
	}
	for _, space := range []string{"shop-1", "blog-2"} {
		moments, err := d.Moments(space)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range moments {
			list = append(list, fmt.Sprintf("%s %+v", space, *m))
		}
		operations, err := d.Operations(space)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range operations {
			list = append(list, fmt.Sprintf("%s %+v", space, *o))
		}
	}
	return list
}

// What is different in a damaged file is explained, once more at each start until the user moves the copy. What is whole is
// still there, and new moments overwrite none.
func TestWhatADamageCostIsExplained(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.db")
	want := filled(t, path)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	run := seed.For(t)
	partly, costs := 0, 0
	for i := range 400 {
		r := rand.New(rand.NewPCG(run, uint64(i)))
		data := bytes.Clone(whole)
		how := "a byte"
		switch at := r.IntN(len(data)/page) * page; r.IntN(3) {
		case 0:
			data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
		case 1:
			how = "a number of a page"
			binary.LittleEndian.PutUint32(data[at+16+4*r.IntN(60):], uint32(r.IntN(1<<r.IntN(31))))
		default:
			how = "the count of a page"
			binary.LittleEndian.PutUint16(data[at+10:], uint16(r.IntN(40)))
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "timeline.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		d, notice, err := records.Open(path, time.Now())
		if err != nil { // such as another format
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%d, %s: %v", i, how, err)
			}
			continue
		}
		got := everything(t, d)
		if !slices.Equal(got, want) {
			costs++
			if notice == "" {
				t.Errorf("%d, %s: nothing explains that %d of %d are left", i, how, len(got), len(want))
			}
			if len(got) > 0 {
				partly++
			}
		}
		for _, line := range got {
			if !slices.Contains(want, line) {
				t.Errorf("%d, %s: nobody wrote %s", i, how, line)
			}
		}
		for _, space := range []string{"shop-1", "blog-2"} {
			if err := d.Add(space, &records.Moment{Label: "after"}); err != nil {
				t.Errorf("%d, %s: %v", i, how, err)
			}
		}
		if after := everything(t, d); len(after) != len(got)+2 {
			t.Errorf("%d, %s: %d records and two new ones are %d", i, how, len(got), len(after))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		copies, _ := filepath.Glob(path + ".damaged-*")
		if (len(copies) > 0) != strings.Contains(notice, path+".damaged-") {
			t.Errorf("%d, %s: %q kept %q", i, how, notice, copies)
		}
		d, again := open(t, path)
		if (len(copies) > 0) != strings.Contains(again, path+".damaged-") {
			t.Errorf("%d, %s: the next start says %q", i, how, again)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d damages cost something, %d of them not everything", costs, partly); partly == 0 {
		t.Error("every damage cost everything")
	}
}

// Sessions that move take their records along, without a damage.
func TestWhatMovesKeepsItsChecksums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timeline.db")
	filled(t, path)
	d, _ := open(t, path)
	all, err := d.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Move(all[:1], "shop-1", "blog-2"); err != nil {
		t.Fatal(err)
	}
	if err := d.Add("blog-2", &records.Moment{Label: "after"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(all[1].ID); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, notice := open(t, path)
	defer func() { _ = d.Close() }()
	if got := labels(t, d, "blog-2"); notice != "" || len(got) != 61 || got[0] != "moment 0 of shop-1" || got[60] != "after" {
		t.Errorf("%q, %q", notice, got)
	}
	if got := labels(t, d, "shop-1"); len(got) > 0 {
		t.Errorf("the former one has %q", got)
	}
}
