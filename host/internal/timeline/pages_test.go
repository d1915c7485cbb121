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
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// TestAListIsReadInPages: forwards and backwards, each moment is in one page.
func TestAListIsReadInPages(t *testing.T) {
	w := newWorld(t)
	for i := range 11 {
		w.record(fmt.Sprint("edit ", i))
		w.pass(time.Second)
	}
	if _, err := w.add("placed", "", 4.5); err != nil {
		t.Fatal(err)
	}
	page := func(p timeline.ListParams) *timeline.List {
		t.Helper()
		p.Where, p.Limit = w.here(), 4
		a, err := w.List(t.Context(), user, p)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ids := func(list []timeline.ListMoment) (all []string) {
		for _, m := range list {
			all = append(all, m.ID)
		}
		return all
	}
	all := ids(w.list().Moments)
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
	_, err := w.List(t.Context(), user, timeline.ListParams{Where: w.here(), Before: "m3", After: "m1"})
	wants(t, err, usererr.InvalidArgument, "not both")
	_, err = w.List(t.Context(), user, timeline.ListParams{Where: w.here(), Before: "yesterday"})
	wants(t, err, usererr.InvalidArgument, "before is")
}

// TestAListFollowsEveryChange: what a list has after changes of all kinds is what one has that reads everything from disk.
func TestAListFollowsEveryChange(t *testing.T) {
	w := newWorld(t)
	w.record("begin")
	moments := timeline.Moments{Timeline: w.Timeline}
	for i, change := range []func(){
		func() { w.record("first") },
		func() { w.record("shares a snapshot, as nothing changed") },
		func() {
			if _, err := w.add("placed", "", 0.5); err != nil {
				t.Error(err)
			}
		},
		func() { w.write("a", "two"); w.record("second") },
		func() {
			at := w.now()
			moments.Checkpoint(t.Context(), user, "before", at)
			moments.Renamed("before", "renamed", at)
		},
		func() { w.pass(-time.Hour); w.write("a", "three"); w.record("after the clock was set back") },
		func() {
			for i := range 6 { // the last ones share the next snapshot
				w.write("a", fmt.Sprint("burst ", i))
				w.record(fmt.Sprint("burst ", i))
			}
		},
		func() {
			time.Sleep(500 * time.Millisecond) // the snapshot that they share is taken
			if a := w.list(); a.Moments[len(a.Moments)-1].FsSnapshot == false {
				t.Errorf("%+v", a.Moments[len(a.Moments)-1])
			}
		},
		func() {
			if _, err := w.Prune(t.Context(), user, timeline.PruneParams{Where: w.here(), Count: 2}); err != nil {
				t.Error(err)
			}
		},
	} {
		w.pass(2 * time.Second)
		w.list()
		change()
		got := w.list()
		if i < 6 {
			continue // a restart ends a snapshot that is being taken, and the reading of the clocks
		}
		if i == 6 {
			if len(got.Moments) != 14 {
				t.Errorf("%d moments", len(got.Moments))
			}
			continue
		}
		w.restart()
		moments.Timeline = w.Timeline
		if want := w.list(); !reflect.DeepEqual(got.Moments, want.Moments) || !reflect.DeepEqual(got.FsSnapshots, want.FsSnapshots) {
			t.Errorf("after change %d:\n%+v\nread from disk:\n%+v", i, got, want)
		}
	}
}

// "snapshot: { id, mount?, details? }": a snapshot with a view says where it is, in every list, and without one says nothing.
func TestListsHaveTheMountOfAView(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.record("first")
	w.write("a", "two")
	w.record("second")
	requests := timeline.Requests{Timeline: w.Timeline}
	mounts := func() (all [2][2]string) {
		t.Helper()
		kept, err := requests.FsSnapshots(t.Context(), user, timeline.SessionParams{Where: w.here()})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range w.list().FsSnapshots {
			all[i] = [2]string{s.Snapshot.Mount, kept.FsSnapshots[i].Snapshot.Mount}
		}
		return all
	}
	if got := mounts(); got != [2][2]string{} {
		t.Errorf("without a view: %q", got)
	}
	s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	if got := mounts(); got != [2][2]string{{s.Mount, s.Mount}} {
		t.Errorf("%q, want %s of s1", got, s.Mount)
	}
}

// TestAListTellsTheCourse: each moment has the severity from itself to the next one, whichever are listed.
func TestAListTellsTheCourse(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.record(fmt.Sprint("edit ", i))
		w.pass(time.Minute)
	}
	var from, to []time.Time
	timeline.SetCourse(w.Timeline, func(_ context.Context, c *checkpoint.Client, workspace string, starts, ends []time.Time) []diff.Severity {
		if c != user || workspace != w.dir {
			t.Errorf("%+v in %s", c, workspace)
		}
		from, to = starts, ends
		return []diff.Severity{"error", "", "clean", "warning", "clean"}[:len(starts)]
	})
	a := w.list()
	for i, want := range []diff.Severity{"error", "", "clean", "warning", "clean"} {
		m := a.Moments[i]
		if m.Severity != want || !from[i].Equal(m.At.Time) || i < 4 && !to[i].Equal(a.Moments[i+1].At.Time) || i == 4 && !to[i].IsZero() {
			t.Errorf("%+v, from %s to %s", m, from[i], to[i])
		}
	}
	if _, err := w.List(t.Context(), user, timeline.ListParams{Where: w.here(), Before: "m4", Limit: 2}); err != nil || len(to) != 2 || !to[1].Equal(a.Moments[3].At.Time) {
		t.Errorf("%v, of a page: %v", err, to)
	}
	if _, err := w.EndSession(t.Context(), user, timeline.SessionParams{Where: w.here()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.List(t.Context(), user, timeline.ListParams{Where: w.here(), Limit: 1}); err != nil || to[0].IsZero() {
		t.Errorf("%v: an ended session goes on: %v", err, to)
	}
}

// TestTheCourseOfAMomentBeginsWithItsEdit: what an edit broke before its hook came is of its moment, also after a restart. What is
// removed or moved was so when its directory was written.
func TestTheCourseOfAMomentBeginsWithItsEdit(t *testing.T) {
	w := newWorld(t)
	var from, to []time.Time
	set := func() {
		timeline.SetCourse(w.Timeline, func(_ context.Context, _ *checkpoint.Client, _ string, starts, ends []time.Time) []diff.Severity {
			from, to = starts, ends
			return make([]diff.Severity, len(starts))
		})
	}
	set()
	at := func(path string, written time.Time) {
		if err := os.Chtimes(filepath.Join(w.dir, path), written, written); err != nil {
			t.Fatal(err)
		}
	}
	w.write("a", "one")
	w.write("src/old/b", "two")
	w.record("begin") // m2
	var edited []time.Time
	for _, change := range []func(now time.Time){
		func(now time.Time) { w.write("a", "three"); at("a", now) },
		func(now time.Time) {
			if err := os.RemoveAll(filepath.Join(w.dir, "src/old")); err != nil {
				t.Fatal(err)
			}
			at("src", now)
		},
		func(now time.Time) {
			if err := os.Rename(filepath.Join(w.dir, "a"), filepath.Join(w.dir, "src/c")); err != nil {
				t.Fatal(err)
			}
			at("src", now)
		},
	} {
		w.pass(10 * time.Second)
		now := w.now().Truncate(time.Millisecond)
		edited = append(edited, now)
		change(now)
		w.pass(2 * time.Second)
		w.record("hook")
	}
	w.record("stop") // with the snapshot before
	check := func() {
		t.Helper()
		a := w.list()
		for i, want := range []time.Time{a.Moments[0].At.Time, a.Moments[1].At.Time, edited[0], edited[1], edited[2], a.Moments[5].At.Time} {
			if !from[i].Equal(want) || i > 0 && !to[i-1].Equal(want) {
				t.Errorf("%s begins at %s, the one before ends at %s, want %s", a.Moments[i].ID, from[i], to[max(0, i-1)], want)
			}
		}
	}
	check()
	w.restart()
	set()
	check()
}

// TestShowingWatchesNothing: a list, a difference and a view of what was recorded begin to watch nothing. An agent that connects
// does, in the session that is open.
func TestShowingWatchesNothing(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.record("first")
	w.write("a", "two")
	w.record("second")
	w.restart()
	w.write("b", "while no daemon ran")
	a := w.list()
	if len(a.Moments) != 3 || len(a.FsSnapshots) != 2 || a.Problem != "" {
		t.Fatalf("%+v", a)
	}
	if d, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.here(), From: "m2", To: "m3"}); err != nil || len(d.Files) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: "m2"}); err != nil || w.read(filepath.Join(s.Mount, "a")) != "one" {
		t.Errorf("%+v, %v", s, err)
	}
	if dirs := w.workspaces.Dirs(); len(dirs) != 0 || w.workspaces.Watched(w.dir) {
		t.Errorf("%q are watched", dirs)
	}
	if err := w.Begin(t.Context(), w.dir); err != nil {
		t.Fatal(err)
	}
	if a := w.list(); !w.workspaces.Watched(w.dir) || len(a.Moments) != 4 || a.Moments[3].Label != "files changed" {
		t.Errorf("the session does not go on: %+v", a.Moments)
	}
}

// TestAMomentIsShown: by its ID, its snapshot or a time, with what changed since the one before it in its session.
func TestAMomentIsShown(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one\n")
	w.record("first")
	w.pass(time.Second)
	w.write("a", "two\n")
	w.record("second")
	for moment, want := range map[string]string{"m3": "m3", "s2": "m3", "m1": "m1", "start": "m1"} {
		a, err := timeline.Show(t.Context(), w.Timeline, user, timeline.ShowParams{Where: w.here(), Moment: moment})
		if err != nil || a.ID != want || (a.Diff == nil) != (want == "m1") {
			t.Errorf("%s: %+v, %v", moment, a, err)
		} else if a.Diff != nil && (a.Diff.From.Moment != "m2" || len(a.Diff.Files) != 1 || a.Label != "second") {
			t.Errorf("%+v", a)
		}
	}
	_, err := timeline.Show(t.Context(), w.Timeline, user, timeline.ShowParams{Where: w.here(), Moment: "now"})
	wants(t, err, usererr.InvalidArgument, "not a recorded moment")
	_, err = timeline.Show(t.Context(), w.Timeline, user, timeline.ShowParams{Where: w.here(), Moment: "m9"})
	wants(t, err, usererr.NotFound, "no moment m9")
	w.write("a", "three\n")
	if _, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.here(), From: "m3"}); err != nil { // with a snapshot of its own
		t.Fatal(err)
	}
	_, err = timeline.Show(t.Context(), w.Timeline, user, timeline.ShowParams{Where: w.here(), Moment: "s3"})
	wants(t, err, usererr.NotFound, "s3 has no moment")
}
