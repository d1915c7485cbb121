package timeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAMomentIsAddedInEveryOpenWorkspace, also where one of them cannot have one: then the error names both.
func TestAMomentIsAddedInEveryOpenWorkspace(t *testing.T) {
	w := timelinetest.New(t)
	requests := timeline.Requests{Timeline: w.Timeline}
	_, err := requests.AddEverywhere(t.Context(), timelinetest.User, "too early")
	timelinetest.Wants(t, err, usererr.NotFound, "no workspace is open")

	other := filepath.Join(w.Top, "a library") // it comes first
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	w.Allow(other)
	w.Edit("first")
	if _, err := w.Record(t.Context(), other, records.Moment{Label: "first"}); err != nil {
		t.Fatal(err)
	}
	a, err := requests.AddEverywhere(t.Context(), timelinetest.User, "both")
	if err != nil || len(a.Moments) != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	if err := os.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	_, err = requests.AddEverywhere(t.Context(), timelinetest.User, "one")
	timelinetest.Wants(t, err, usererr.CodeOf(err), "added m")
	timelinetest.Wants(t, err, usererr.CodeOf(err), "no moment in "+other)
	if list := w.Listed().Moments; list[len(list)-1].Label != "one" {
		t.Errorf("%+v", list)
	}
}

// TestAListBeginsAfterTheStart, and ends now, as other calls name these.
func TestAListBeginsAfterTheStart(t *testing.T) {
	w := timelinetest.New(t)
	w.Edit("one")
	w.Edit("two")
	for name, want := range map[string]int{"after start": 2, "after now": 0, "before start": 0, "before now": 3} {
		p := timeline.ListParams{Where: w.Here(), After: strings.TrimPrefix(name, "after ")}
		if before, is := strings.CutPrefix(name, "before "); is {
			p.After, p.Before = "", before
		}
		if a, err := w.List(t.Context(), timelinetest.User, p); err != nil || len(a.Moments) != want {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}
