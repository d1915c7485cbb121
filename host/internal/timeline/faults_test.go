package timeline_test

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// A full disk has no room for a view, and no other snapshot would be better.
func TestAViewThatFindsNoRoomSaysSo(t *testing.T) {
	w := timelinetest.OnSmallDisk(t)
	w.Write("a", "one")
	w.Edit("small")
	w.WriteLarge("a", 8)
	m := w.Edit("large")
	if m.Snapshot == 0 {
		t.Fatal(m.Reason)
	}
	_, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID()})
	if err == nil || !strings.Contains(err.Error(), "no space left on device. Free some space on the disk of ") || strings.Contains(err.Error(), "nearest") {
		t.Error(err)
	}
}
