package records_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// An operation that could not be kept on a full disk takes no number: the next one would be kept in its place.
func TestAnOperationThatWasNotKeptHasNoNumber(t *testing.T) {
	dir := disktest.Small(t, "1m")
	d, _, err := records.Open(filepath.Join(dir, "timeline.db"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, bytes.Repeat([]byte("x"), 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	first := &records.Operation{What: strings.Repeat("x", 300<<10)}
	if err := d.Log("space", first); err == nil {
		t.Fatal("the operation was kept on a full disk")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*records.Operation{first, {What: "second"}} {
		if err := d.Log("space", o); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := d.Operations("space"); err != nil || len(all) != 2 {
		t.Errorf("%d operations are kept, %v", len(all), err)
	}
}
