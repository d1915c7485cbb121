package timeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAReportOnAWorkspaceIsOnThoseInItAsTheyAre: a restore of the outer one changes files of the inner one.
func TestAReportOnAWorkspaceIsOnThoseInItAsTheyAre(t *testing.T) {
	w := timelinetest.New(t)
	inner := filepath.Join(w.Dir, "packages", "web")
	w.Write("packages/web/a", "one")
	w.Allow(inner)
	w.Edit("first")
	if _, err := w.Record(t.Context(), inner, records.Moment{Label: "first"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(inner, "a")); err != nil {
		t.Fatal(err)
	}
	if recorded, err := w.Sync(t.Context(), w.Dir); !recorded || err != nil {
		t.Fatal(recorded, err)
	}
	list, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Dir: inner}})
	if err != nil || len(list.Moments) != 3 || list.Moments[2].Source != records.FromFiles || list.Moments[2].Changed != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := os.RemoveAll(inner); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sync(t.Context(), w.Dir); err != nil {
		t.Error(err)
	}
}
