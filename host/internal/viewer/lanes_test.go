package viewer

import (
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/protocol"
)

// A section without a row of its own is a lane, too, and its entries can be read.
func TestASectionWithoutARowIsAPlainLane(t *testing.T) {
	now := time.Date(2026, 1, 23, 10, 30, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	s := capture.New(capture.DefaultLimits(), noise.Default(), now)
	seen := &event.Inspection{Head: event.Head{At: now.UnixMilli(), Subject: event.InWorkspace("/srv/shop")}, Op: event.Snapshot}
	if err := capture.NewSink(s, "debugger", clock).Append(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	v := s.View(now)
	lanes := withPlain(sections[0])
	if len(lanes) != len(capture.Sections) {
		t.Fatalf("%d lanes of %d sections", len(lanes), len(capture.Sections))
	}
	for _, lane := range lanes {
		if lane.Section != capture.VariablesSection {
			continue
		}
		out := &protocol.ViewTimeline{}
		next := lane.lane(&laneReader{left: 10, out: out}, v, 0, nil)
		if next != 2 || len(out.Lanes) != 1 || out.Lanes[0].Lane != "variables" || out.Lanes[0].Marks != string(protocol.MarkClean) {
			t.Errorf("the lane is %+v, next %d", out.Lanes, next)
		}
		if e := lane.at(&entrySearch{}, v, 1); e.Lane != "variables" || e.Position != 1 || e.At != seen.At {
			t.Errorf("the entry is %+v", e)
		}
	}
}
