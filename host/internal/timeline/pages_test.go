package timeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAListIsReadInPages: forwards and backwards, each moment is in one page.
func TestAListIsReadInPages(t *testing.T) {
	w := timelinetest.New(t)
	for i := range 11 {
		w.Edit(fmt.Sprint("edit ", i))
		w.Pass(time.Second)
	}
	if _, err := w.Moment("placed", "", 4.5); err != nil {
		t.Fatal(err)
	}
	page := func(p timeline.ListParams) *answers.List {
		t.Helper()
		p.Where, p.Limit = w.Here(), 4
		a, err := w.List(t.Context(), timelinetest.User, p)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ids := func(list []answers.ListMoment) (all []string) {
		for _, m := range list {
			all = append(all, m.ID)
		}
		return all
	}
	all := ids(w.Listed().Moments)
	for _, kinds := range [][]string{nil, {"edit"}} {
		var back, forth []string
		a := page(timeline.ListParams{Kinds: kinds})
		for back = ids(a.Moments); a.Omitted > 0; back = append(ids(a.Moments), back...) {
			a = page(timeline.ListParams{Kinds: kinds, Before: a.Moments[0].ID})
		}
		for a = page(timeline.ListParams{Kinds: kinds, After: "m0"}); ; a = page(timeline.ListParams{Kinds: kinds, After: a.Next}) {
			if forth = append(forth, ids(a.Moments)...); a.Next == "" {
				break
			}
		}
		want := all
		if kinds != nil { // without the first and the placed one
			want = slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == "m1" || id == "m13" })
		}
		if !slices.Equal(back, want) || !slices.Equal(forth, want) {
			t.Errorf("%q: backwards %q, forwards %q, want %q", kinds, back, forth, want)
		}
	}
	if a := page(timeline.ListParams{Before: "m1"}); len(a.Moments) != 0 || a.Omitted != 0 {
		t.Errorf("before the first are %+v", a)
	}
	if a := page(timeline.ListParams{Before: "+0:00:03"}); ids(a.Moments)[len(a.Moments)-1] != "m5" {
		t.Errorf("before a time are %q", ids(a.Moments))
	}
	_, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here(), Before: "m3", After: "m1"})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "not both")
	_, err = w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here(), Before: "yesterday"})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "before is")
}

// TestAListFollowsEveryChange: what a list has after changes of all kinds is what one has that reads everything from disk.
func TestAListFollowsEveryChange(t *testing.T) {
	w := timelinetest.New(t)
	w.Edit("begin")
	moments := timeline.Moments{Timeline: w.Timeline}
	for i, change := range []func(){
		func() { w.Edit("first") },
		func() { w.Edit("shares a snapshot, as nothing changed") },
		func() {
			if _, err := w.Moment("placed", "", 0.5); err != nil {
				t.Error(err)
			}
		},
		func() { w.Write("a", "two"); w.Edit("second") },
		func() {
			at := w.Now()
			moments.Checkpoint(t.Context(), timelinetest.User, "before", at)
			moments.Renamed("before", "renamed", at)
		},
		func() { w.Pass(-time.Hour); w.Write("a", "three"); w.Edit("after the clock was set back") },
		func() {
			for i := range 6 { // the last ones share the next snapshot
				w.Write("a", fmt.Sprint("burst ", i))
				w.Edit(fmt.Sprint("burst ", i))
			}
		},
		func() {
			time.Sleep(500 * time.Millisecond) // the snapshot that they share is taken
			if a := w.Listed(); a.Moments[len(a.Moments)-1].FsSnapshot == false {
				t.Errorf("%+v", a.Moments[len(a.Moments)-1])
			}
		},
		func() {
			if _, err := w.Prune(t.Context(), timelinetest.User, timeline.PruneParams{Where: w.Here(), Count: 2}); err != nil {
				t.Error(err)
			}
		},
	} {
		w.Pass(2 * time.Second)
		w.Listed()
		change()
		got := w.Listed()
		if i < 6 {
			continue // a restart ends a snapshot that is being taken, and the reading of the clocks
		}
		if i == 6 {
			if len(got.Moments) != 14 {
				t.Errorf("%d moments", len(got.Moments))
			}
			continue
		}
		w.Restart()
		moments.Timeline = w.Timeline
		if want := w.Listed(); !reflect.DeepEqual(got.Moments, want.Moments) || !reflect.DeepEqual(got.FsSnapshots, want.FsSnapshots) {
			t.Errorf("after change %d:\n%+v\nread from disk:\n%+v", i, got, want)
		}
	}
}

// "snapshot: { id, mount?, details? }": a snapshot with a view says where it is, in every list, and without one says nothing.
func TestListsHaveTheMountOfAView(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	w.Write("a", "two")
	w.Edit("second")
	requests := timeline.Requests{Timeline: w.Timeline}
	mounts := func() (all [2][2]string) {
		t.Helper()
		kept, err := requests.FsSnapshots(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range w.Listed().FsSnapshots {
			all[i] = [2]string{s.Snapshot.Mount, kept.FsSnapshots[i].Snapshot.Mount}
		}
		return all
	}
	if got := mounts(); got != [2][2]string{} {
		t.Errorf("without a view: %q", got)
	}
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	if got := mounts(); got != [2][2]string{{s.Mount, s.Mount}} {
		t.Errorf("%q, want %s of s1", got, s.Mount)
	}
}

// TestAListTellsTheCourse: each moment has the severity from itself to the next one, whichever are listed.
func TestAListTellsTheCourse(t *testing.T) {
	w := timelinetest.New(t)
	for i := range 4 {
		w.Edit(fmt.Sprint("edit ", i))
		w.Pass(time.Minute)
	}
	var from, to []time.Time
	broke := w.Listed().Moments[2].At.Add(time.Second)
	timeline.SetCourse(w.Timeline, func(_ context.Context, c *checkpoint.Client, workspace string, starts, ends []time.Time) []timeline.Stretch {
		if c != timelinetest.User || workspace != w.Dir {
			t.Errorf("%+v in %s", c, workspace)
		}
		from, to = starts, ends
		return []timeline.Stretch{{Severity: "error"}, {Severity: ""}, {Severity: "clean"}, {Severity: "warning"}, {Severity: "error", Since: broke}}[:len(starts)]
	})
	a := w.Listed()
	if b := a.Moments[4].BrokenSince; b == nil || b.Moment != "m3" || !b.At.Equal(broke) || a.Moments[3].BrokenSince != nil {
		t.Errorf("broken since %+v, want m3", b)
	}
	for i, want := range []report.Severity{"error", "", "clean", "warning", "error"} {
		m := a.Moments[i]
		if m.Severity != want || !from[i].Equal(m.At.Time) || i < 4 && !to[i].Equal(a.Moments[i+1].At.Time) || i == 4 && !to[i].IsZero() {
			t.Errorf("%+v, from %s to %s", m, from[i], to[i])
		}
	}
	if _, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here(), Before: "m4", Limit: 2}); err != nil || len(to) != 2 || !to[1].Equal(a.Moments[3].At.Time) {
		t.Errorf("%v, of a page: %v", err, to)
	}
	if _, err := w.EndSession(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here(), Limit: 1}); err != nil || to[0].IsZero() {
		t.Errorf("%v: an ended session goes on: %v", err, to)
	}
}

// TestTheCourseOfAMomentBeginsWithItsEdit: what an edit broke before its hook came is of its moment, also after a restart. What is
// removed or moved was so when its directory was written.
func TestTheCourseOfAMomentBeginsWithItsEdit(t *testing.T) {
	w := timelinetest.New(t)
	var from, to []time.Time
	set := func() {
		timeline.SetCourse(w.Timeline, func(_ context.Context, _ *checkpoint.Client, _ string, starts, ends []time.Time) []timeline.Stretch {
			from, to = starts, ends
			return make([]timeline.Stretch, len(starts))
		})
	}
	set()
	at := func(path string, written time.Time) {
		if err := os.Chtimes(filepath.Join(w.Dir, path), written, written); err != nil {
			t.Fatal(err)
		}
	}
	w.Write("a", "one")
	w.Write("src/old/b", "two")
	w.Edit("begin") // m2
	var edited []time.Time
	for _, change := range []func(now time.Time){
		func(now time.Time) { w.Write("a", "three"); at("a", now) },
		func(now time.Time) {
			if err := os.RemoveAll(filepath.Join(w.Dir, "src/old")); err != nil {
				t.Fatal(err)
			}
			at("src", now)
		},
		func(now time.Time) {
			if err := os.Rename(filepath.Join(w.Dir, "a"), filepath.Join(w.Dir, "src/c")); err != nil {
				t.Fatal(err)
			}
			at("src", now)
		},
	} {
		w.Pass(10 * time.Second)
		now := w.Now().Truncate(time.Millisecond)
		edited = append(edited, now)
		change(now)
		w.Pass(2 * time.Second)
		w.Edit("hook")
	}
	w.Edit("stop") // with the snapshot before
	check := func() {
		t.Helper()
		a := w.Listed()
		for i, want := range []time.Time{a.Moments[0].At.Time, a.Moments[1].At.Time, edited[0], edited[1], edited[2], a.Moments[5].At.Time} {
			if !from[i].Equal(want) || i > 0 && !to[i-1].Equal(want) {
				t.Errorf("%s begins at %s, the one before ends at %s, want %s", a.Moments[i].ID, from[i], to[max(0, i-1)], want)
			}
		}
	}
	check()
	w.Restart()
	set()
	check()
}

// TestShowingWatchesNothing: a list, a difference and a view of what was recorded begin to watch nothing. An agent that connects
// does, in the session that is open.
func TestShowingWatchesNothing(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	w.Write("a", "two")
	w.Edit("second")
	w.Restart()
	w.Write("b", "while no daemon ran")
	a := w.Listed()
	if len(a.Moments) != 3 || len(a.FsSnapshots) != 2 || a.Problem != "" {
		t.Fatalf("%+v", a)
	}
	if d, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: w.Here(), From: "m2", To: "m3"}); err != nil || len(d.Files) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: "m2"}); err != nil || w.Read(filepath.Join(s.Mount, "a")) != "one" {
		t.Errorf("%+v, %v", s, err)
	}
	if dirs := w.Workspaces.Dirs(); len(dirs) != 0 || w.Workspaces.Watched(w.Dir) {
		t.Errorf("%q are watched", dirs)
	}
	if err := w.Begin(t.Context(), w.Dir); err != nil {
		t.Fatal(err)
	}
	if a := w.Listed(); !w.Workspaces.Watched(w.Dir) || len(a.Moments) != 4 || a.Moments[3].Label != "files changed" {
		t.Errorf("the session does not go on: %+v", a.Moments)
	}
}

// TestAMomentIsShown: by its ID, its snapshot or a time, with what changed since the one before it in its session.
func TestAMomentIsShown(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one\n")
	w.Edit("first")
	w.Pass(time.Second)
	w.Write("a", "two\n")
	w.Edit("second")
	for moment, want := range map[string]string{"m3": "m3", "s2": "m3", "m1": "m1", "start": "m1"} {
		a, err := timeline.Show(t.Context(), w.Timeline, timelinetest.User, timeline.ShowParams{Where: w.Here(), Moment: moment})
		if err != nil || a.ID != want || (a.Diff == nil) != (want == "m1") {
			t.Errorf("%s: %+v, %v", moment, a, err)
		} else if a.Diff != nil && (a.Diff.From.Moment != "m2" || len(a.Diff.Files) != 1 || a.Label != "second") {
			t.Errorf("%+v", a)
		}
	}
	_, err := timeline.Show(t.Context(), w.Timeline, timelinetest.User, timeline.ShowParams{Where: w.Here(), Moment: "now"})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "not a recorded moment")
	_, err = timeline.Show(t.Context(), w.Timeline, timelinetest.User, timeline.ShowParams{Where: w.Here(), Moment: "m9"})
	timelinetest.Wants(t, err, usererr.NotFound, "no moment m9")
	w.Write("a", "three\n")
	if _, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: w.Here(), From: "m3"}); err != nil { // with a snapshot of its own
		t.Fatal(err)
	}
	_, err = timeline.Show(t.Context(), w.Timeline, timelinetest.User, timeline.ShowParams{Where: w.Here(), Moment: "s3"})
	timelinetest.Wants(t, err, usererr.NotFound, "s3 has no moment")
}
