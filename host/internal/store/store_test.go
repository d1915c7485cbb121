package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

var epoch = time.Date(2026, 1, 23, 10, 30, 0, 0, time.UTC)

func small(n int) capture.Limits {
	l := capture.Limit{Count: n, Bytes: 1 << 20}
	return capture.Limits{capture.Console: l, capture.Network: l, capture.WebSocket: l, capture.Actions: l, capture.DOM: l, capture.Variables: l, capture.Files: l}
}

// fataler is a test, or one try of a property.
type fataler interface{ Fatal(...any) }

func open(t fataler, path string, limits store.Limits) *store.Store {
	s, notice, err := store.Open(path, limits, epoch)
	if err != nil || notice != "" {
		t.Fatal(err, notice)
	}
	return s
}

// commit writes what a capture has collected, at once.
func commit(t fataler, s *store.Store, c *capture.Store, now time.Time) {
	d := c.Drain(now)
	if err := s.Commit(d, nil); err != nil {
		t.Fatal(err)
	}
	c.Kept(d)
}

func restore(t fataler, s *store.Store, limits capture.Limits, now time.Time) *capture.Store {
	st, problems := s.State()
	if len(problems) > 0 || st == nil {
		t.Fatal("no state: ", problems)
	}
	past, err := s.Past(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer past.Close()
	return capture.Restore(limits, noise.Default(), now, st, past)
}

// activity is a random event of tab 7, in each of several worlds.
func activity(t *rapid.T, i int, worlds ...*enginetest.World) {
	var do func(w *enginetest.World)
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 11:
		how := rapid.SampledFrom([]string{"load", "reload"}).Draw(t, "how")
		do = func(w *enginetest.World) {
			w.Send("navigation", fmt.Sprintf(`"how":%q,"url":%q`, how, enginetest.Page+"/"))
		}
	case 12:
		do = rapid.SampledFrom([]func(*enginetest.World){
			func(w *enginetest.World) { w.Log("debug", "[vite] hot updated: /src/app.js") },
			func(w *enginetest.World) { w.Log("warning", "[vite] Failed to reload /src/app.js") },
			func(w *enginetest.World) { w.Socket("received", `{"type":"update","assets":[]}`) },
		}).Draw(t, "told")
	case 0, 1, 2:
		level := rapid.SampledFrom([]string{"error", "warning", "log"}).Draw(t, "level")
		do = func(w *enginetest.World) { w.Log(level, fmt.Sprintf("message %d", i)) }
	case 3, 4, 5:
		path, status := fmt.Sprintf("/api/%c", 'a'+rapid.IntRange(0, 5).Draw(t, "endpoint")), rapid.SampledFrom([]int{200, 200, 404, 500, 0}).Draw(t, "status")
		do = func(w *enginetest.World) { w.Request("GET", path, status, float64(i)) }
	case 6:
		op := rapid.SampledFrom([]string{"open", "received", "sent", "close"}).Draw(t, "op")
		do = func(w *enginetest.World) { w.Socket(op, "frame") }
	case 7:
		do = func(w *enginetest.World) { w.Send("action", fmt.Sprintf(`"action":"click","target":"button %d"`, i)) }
	case 8:
		op, id := rapid.SampledFrom([]string{"appeared", "changed", "gone"}).Draw(t, "op"), rapid.IntRange(1, 4).Draw(t, "id")
		do = func(w *enginetest.World) { w.Element(op, id, ".error", fmt.Sprintf("text %d", i)) }
	case 9:
		do = func(w *enginetest.World) {
			w.Send("navigation", fmt.Sprintf(`"how":"history","url":%q`, fmt.Sprintf("%s/page/%d", enginetest.Page, i)))
		}
	case 10:
		about := rapid.SampledFrom([]event.Subject{event.InTab(1, ""), event.InWorkspace("/srv/shop"), {Kind: event.Process, Number: 4711, Place: "/srv/shop"}}).Draw(t, "subject")
		do = func(w *enginetest.World) {
			w.Inspect(event.Inspection{Head: event.Head{Subject: about}, Op: event.Hit, Name: "tp-1", Values: []string{"i", fmt.Sprint(i)}})
		}
	}
	if do == nil {
		e := event.FileChange{
			Path: fmt.Sprintf("src/%c.ts", 'a'+rapid.IntRange(0, 5).Draw(t, "file")), Counted: rapid.Bool().Draw(t, "counted"), Added: i, Size: int64(i) << 30,
			Change: rapid.SampledFrom([]string{event.FileAdded, event.FileModified, event.FileRemoved, event.FileRenamed}).Draw(t, "change"),
			From:   "old.ts", Before: rapid.Uint64().Draw(t, "before"), After: rapid.Uint64().Draw(t, "after"), Snapshot: uint64(i), By: "Edit",
			Lines: []event.Run{{At: i + 1, Old: 1, New: 1}}, Columns: []event.Columns{{From: 1, To: i + 2}},
		}
		do = func(w *enginetest.World) { w.ChangeFile("/srv/shop", e) }
	}
	for _, w := range worlds {
		do(w)
		w.Pass(time.Second)
	}
}

// TestARestartChangesNothing drives a capture whose store is closed and opened again at random, and one
// that never is; both must hold and answer the same.
func TestARestartChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		path := filepath.Join(dir, "journal.db")
		limits := small(rapid.IntRange(3, 20).Draw(rt, "limit"))
		w, all := enginetest.New(t, limits), enginetest.New(t, small(1000))
		disk := open(rt, path, store.DefaultLimits())
		defer func() { _ = disk.Close() }()
		w.Store.Keep()
		for i := range rapid.IntRange(1, 80).Draw(rt, "events") {
			activity(rt, i, w, all)
			switch rapid.IntRange(0, 12).Draw(rt, "then") {
			case 0, 1, 2, 3:
				commit(rt, disk, w.Store, w.Now)
			case 4:
				commit(rt, disk, w.Store, w.Now)
				if err := disk.Close(); err != nil {
					rt.Fatal(err)
				}
				disk = open(rt, path, store.DefaultLimits())
				same(rt, w.Store.View(w.Now), restore(rt, disk, limits, w.Now).View(w.Now))
			}
		}
		commit(rt, disk, w.Store, w.Now)
		restored := restore(rt, disk, limits, w.Now)
		same(rt, w.Store.View(w.Now), restored.View(w.Now))
		past, err := disk.Past(w.Store.Index())
		if err != nil {
			rt.Fatal(err)
		}
		defer past.Close()
		// Whatever has left the buffers is read from the disk: the same as from buffers that hold all.
		at := epoch.Add(time.Duration(rapid.IntRange(0, 80).Draw(rt, "since")) * time.Second)
		deep := w.Store.View(w.Now).Behind(past)
		a, b := encode(rt, all.Store.View(w.Now), at), encode(rt, deep, at)
		if a != b {
			rt.Fatalf("since %s\nall in memory: %s\nfrom the disk: %s", at, a, b)
		}
	})
}

// TestARestartKeepsTheUpdatesOfPages: also those of Next.js, which logs the end of builds that changed nothing in the page.
func TestARestartKeepsTheUpdatesOfPages(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	disk := open(t, filepath.Join(t.TempDir(), "journal.db"), store.DefaultLimits())
	defer func() { _ = disk.Close() }()
	w.Store.Keep()
	for _, happens := range []func(){
		func() { w.Send("navigation", `"how":"load","url":"`+enginetest.Page+`/"`) },
		func() { w.Socket("received", `{"type":"turbopack-connected"}`) },
		func() { w.Socket("received", `{"type":"building"}`) },
		func() { w.Log("info", "[Fast Refresh] done in 12ms") }, // a build of a route
		func() { w.Socket("received", `{"type":"building"}`) },
		func() { w.Socket("received", `{"type":"serverComponentChanges"}`) },
		func() { w.Log("info", "[Fast Refresh] done in 13ms") },
		func() { w.Log("debug", "[vite] hot updated: /src/app.js") },
		func() { w.Send("navigation", `"how":"reload","url":"`+enginetest.Page+`/"`) },
	} {
		happens()
		w.Pass(time.Second)
	}
	commit(t, disk, w.Store, w.Now)
	was, is := w.Store.View(w.Now), restore(t, disk, capture.DefaultLimits(), w.Now).View(w.Now)
	if list := updates(was); len(list) != 4 {
		t.Errorf("updates:\n%s", strings.Join(list, "\n"))
	}
	sameUpdates(t, was, is)
}

func encode(t fataler, v *capture.View, at time.Time) string {
	r := diff.Compute(v.MomentAt(at), v, window.Options{Noise: noise.Default()})
	data, err := report.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func same(t *rapid.T, a, b *capture.View) {
	t.Helper()
	sameUpdates(t, a, b)
	for _, s := range capture.Sections {
		sameEntries(t, string(s), a.Events(s, 0), b.Events(s, 0))
	}
	if a.Now().Pos != b.Now().Pos {
		t.Fatalf("positions: %+v, restored %+v", a.Now().Pos, b.Now().Pos)
	}
	for k, e := range a.Endpoints.All {
		if other, ok := b.Endpoints.Get(k); !ok || other != e {
			t.Fatalf("endpoint %+v: %+v, restored %+v", k, e, other)
		}
	}
	if a.Endpoints.Len() != b.Endpoints.Len() || len(a.DOMState.Elements()) != len(b.DOMState.Elements()) || !reflect.DeepEqual(a.DOMState.URLs(), b.DOMState.URLs()) {
		t.Fatalf("endpoints %d, restored %d; elements %v, restored %v; addresses %v, restored %v", a.Endpoints.Len(), b.Endpoints.Len(), a.DOMState.Elements(), b.DOMState.Elements(), a.DOMState.URLs(), b.DOMState.URLs())
	}
	for k, n := range a.DOMState.Elements() {
		if b.DOMState.Elements()[k] != n {
			t.Fatalf("element %+v: %d, restored %d", k, n, b.DOMState.Elements()[k])
		}
	}
	early := a.Started
	if x, y := a.MomentAt(early), b.MomentAt(early); x.Endpoints.Len() != y.Endpoints.Len() || x.Pos != y.Pos {
		t.Fatalf("at the start: %d endpoints from %+v, restored %d from %+v", x.Endpoints.Len(), x.Pos, y.Endpoints.Len(), y.Pos)
	}
}

// updates are those that what is in the buffers shows.
func updates(v *capture.View) (list []string) {
	shown := map[int64]bool{}
	for _, s := range []capture.Section{capture.ConsoleSection, capture.WebSocketSection, capture.DOMSection} {
		for _, e := range v.Events(s, 0) {
			shown[e.Header().At] = true
		}
	}
	for _, u := range v.Updates.From(0) {
		if shown[u.At] {
			list = append(list, fmt.Sprintf("%+v", *u))
		}
	}
	return list
}

func sameUpdates(t fataler, a, b *capture.View) {
	if x, y := updates(a), updates(b); !slices.Equal(x, y) {
		t.Fatal("updates:\n" + strings.Join(x, "\n") + "\nrestored:\n" + strings.Join(y, "\n"))
	}
}

func sameEntries(t *rapid.T, what string, a, b iter.Seq2[uint64, event.Event]) {
	t.Helper()
	held := map[uint64]event.Event{}
	for pos, e := range a {
		held[pos] = e
	}
	for pos, e := range b {
		if held[pos] == nil || !reflect.DeepEqual(held[pos], e) {
			t.Fatalf("%s %d: %+v, restored %+v", what, pos, held[pos], e)
		}
		delete(held, pos)
	}
	if len(held) > 0 {
		t.Fatalf("%s: %d entries are not restored", what, len(held))
	}
}

func TestAnAcknowledgementFollowsTheCommit(t *testing.T) {
	w := enginetest.New(t, small(10))
	disk := open(t, filepath.Join(t.TempDir(), "journal.db"), store.DefaultLimits())
	defer func() { _ = disk.Close() }()
	w.Store.Keep()
	w.Log("log", "one")
	w.Log("log", "two")
	if n := w.Store.Acknowledged("i", "s"); n != 1 {
		t.Errorf("acknowledged up to %d before anything was written", n)
	}
	d := w.Store.Drain(w.Now)
	w.Log("log", "three")
	if err := disk.Commit(d, nil); err != nil {
		t.Fatal(err)
	}
	w.Store.Kept(d)
	if n := w.Store.Acknowledged("i", "s"); n != 3 {
		t.Errorf("acknowledged up to %d, want 3: the third is not written", n)
	}
}

func TestTheOldestIsLetGoOf(t *testing.T) {
	w := enginetest.New(t, small(5))
	path := filepath.Join(t.TempDir(), "journal.db")
	disk := open(t, path, store.Limits{Bytes: 60 << 10, Age: 100 * time.Hour, Aged: retention.Wall(func() time.Time { return w.Now })})
	defer func() { _ = disk.Close() }()
	w.Store.Keep()
	for i := range 400 {
		for j := range 20 {
			w.Log("error", fmt.Sprintf("message %d %d %x", i, j, i*7919*j))
		}
		w.Pass(time.Minute)
		commit(t, disk, w.Store, w.Now)
	}
	if n := disk.Bytes(); n > 60<<10 || n < 20<<10 {
		t.Errorf("%d bytes are held", n)
	}
	past, err := disk.Past(w.Store.Index())
	if err != nil {
		t.Fatal(err)
	}
	first := past.First()[capture.Console]
	past.Close()
	if first <= 1 || first > 7990 {
		t.Errorf("the oldest is %d", first)
	}
	// What is older than the age goes too.
	w.Pass(1000 * time.Hour)
	for range 80 {
		w.Log("log", "fresh")
		commit(t, disk, w.Store, w.Now)
	}
	past, err = disk.Past(w.Store.Index())
	if err != nil {
		t.Fatal(err)
	}
	defer past.Close()
	if first := past.First()[capture.Console]; first <= 7600 {
		t.Errorf("the oldest is %d", first)
	}
}

// TestASetClockDropsNothing: neither what was written before it was set forward, nor what was written until it was corrected. All
// of it is dropped when it is old.
func TestASetClockDropsNothing(t *testing.T) {
	const day, years = 24 * time.Hour, 2 * 365 * 24 * time.Hour
	w := enginetest.New(t, small(5))
	ran := time.Duration(0)
	clock := retention.NewClock(func() retention.Reading { return retention.Reading{At: w.Now, Boot: "a", Ran: ran} }, nil, func([]byte) {})
	disk := open(t, filepath.Join(t.TempDir(), "journal.db"), store.Limits{Bytes: 64 << 20, Age: 7 * day, Aged: clock.Age})
	defer func() { _ = disk.Close() }()
	w.Store.Keep()
	log := func() {
		for range 80 { // enough for whole blocks
			w.Log("error", "failed")
			w.Request("GET", "/api", 500, 5)
			commit(t, disk, w.Store, w.Now)
		}
	}
	first := func() map[capture.Section]uint64 {
		t.Helper()
		past, err := disk.Past(w.Store.Index())
		if err != nil {
			t.Fatal(err)
		}
		defer past.Close()
		f := past.First()
		return map[capture.Section]uint64{capture.ConsoleSection: f[capture.Console], capture.NetworkSection: f[capture.Network]}
	}
	for _, step := range []time.Duration{years, -years, 0} {
		log()
		w.Pass(step)
	}
	for section, now := range first() {
		if now != 1 {
			t.Errorf("%s begins at %d after the clock was set", section, now)
		}
	}
	for range 9 {
		w.Pass(day)
		ran += day
		w.Log("log", "fresh") // the network has only what is old
		commit(t, disk, w.Store, w.Now)
	}
	log()
	for section, now := range first() {
		if now <= 160 { // those of before the clock was corrected
			t.Errorf("%s begins at %d", section, now)
		}
	}
}

// TestADamagedFileNeverStopsAnything flips bytes and cuts the file off at random: it is opened or set
// aside with a word, what is read of it is right or missing, and nothing panics.
func TestADamagedFileNeverStopsAnything(t *testing.T) {
	w := enginetest.New(t, small(5))
	whole := filepath.Join(t.TempDir(), "journal.db")
	disk := open(t, whole, store.DefaultLimits())
	w.Store.Keep()
	for i := range 300 {
		w.Log("error", fmt.Sprintf("message %d", i))
		w.Request("GET", fmt.Sprintf("/api/%c", 'a'+i%20), 200, 5)
		w.Element("appeared", i, ".error", fmt.Sprint(i))
		w.Pass(time.Second)
		if i%3 == 0 {
			commit(t, disk, w.Store, w.Now)
		}
	}
	commit(t, disk, w.Store, w.Now)
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	if runtime.GOOS == "windows" { // a file that a panic left mapped cannot be removed until this process ends
		if top, err = os.MkdirTemp("", "damaged"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(top) }()
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		path := filepath.Join(dir, "journal.db")
		broken := append([]byte(nil), data...)
		if rapid.Bool().Draw(rt, "cut") {
			broken = broken[:rapid.IntRange(0, len(broken)-1).Draw(rt, "length")]
		} else {
			for range rapid.IntRange(1, 40).Draw(rt, "flips") {
				broken[rapid.IntRange(0, len(broken)-1).Draw(rt, "where")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
			}
		}
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			rt.Fatal(err)
		}
		disk, notice, err := store.Open(path, store.DefaultLimits(), epoch)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = disk.Close() }()
		if strings.Contains(notice, "set aside") {
			if kept, err := filepath.Glob(path + ".damaged-*"); err != nil || len(kept) != 1 || !strings.Contains(notice, kept[0]) {
				rt.Fatalf("%s: %v %v", notice, kept, err)
			}
		}
		st, problems := disk.State()
		if st == nil {
			if notice == "" && len(problems) == 0 {
				rt.Fatal("nothing is left, and nothing is explained")
			}
			return
		}
		past, err := disk.Past(nil)
		if err != nil {
			return
		}
		defer past.Close()
		restored := capture.Restore(small(1000), noise.Default(), epoch, st, past)
		view, left := restored.View(epoch), 0
		for pos, e := range view.Console().From(0) {
			if e.Text != fmt.Sprintf("message %d", pos-1) {
				rt.Fatalf("position %d holds %q", pos, e.Text)
			}
			left++
		}
		past.Close()
		if left < 300 && notice == "" && len(problems)+len(disk.Damaged()) == 0 {
			rt.Fatalf("%d of 300 messages are left, and nothing is explained", left)
		}
		// And it can be written to, or says that it cannot.
		restored.Keep()
		if err := disk.Commit(restored.Drain(epoch), nil); err != nil && !strings.Contains(err.Error(), "damaged") {
			rt.Fatal(err)
		}
	})
}

// TestNamesThatAreDamagedAreExplained changes one byte of the name of each part of a journal, so that it is found no more.
func TestNamesThatAreDamagedAreExplained(t *testing.T) {
	w := enginetest.New(t, small(1000))
	path := filepath.Join(t.TempDir(), "journal.db")
	disk := open(t, path, store.DefaultLimits())
	w.Store.Keep()
	w.Log("error", "boom")
	w.Request("GET", "/api/cart", 500, 5)
	checkpoints, err := store.EncodeCheckpoints([]checkpoint.Checkpoint{{Name: "before", Moment: w.Store.View(w.Now).Now()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.Commit(w.Store.Drain(w.Now), map[string][]byte{store.CheckpointsKey: checkpoints}); err != nil {
		t.Fatal(err)
	}
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"meta", "format", "state", "gaps", store.CheckpointsKey, string(capture.ConsoleSection), string(capture.NetworkSection)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			damaged := append([]byte(nil), name...)
			damaged[1] ^= 1
			if err := os.WriteFile(path, bytes.ReplaceAll(whole, []byte(name), damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			disk, notice, err := store.Open(path, store.DefaultLimits(), epoch)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = disk.Close() }()
			if _, problems := disk.State(); notice == "" && len(problems) == 0 {
				t.Error("nothing is explained")
			}
		})
	}
}

func TestTwentyCheckpointsOfTwoHundredEndpointsTakeUnder100KiB(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	var list []checkpoint.Checkpoint
	for i := range checkpoint.MaxNamed {
		for j := range 200 {
			w.Request("GET", fmt.Sprintf("/api/resources/kind%c%c/details", 'a'+j%20, 'a'+j/20), 200+i%2, float64(i*j)+.1)
		}
		list = append(list, checkpoint.Checkpoint{Name: fmt.Sprintf("step_%c", 'a'+i), Moment: w.Store.View(w.Now).Now()})
	}
	data, err := store.EncodeCheckpoints(list)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 100<<10 {
		t.Errorf("%d bytes before compression", len(data))
	}
	disk := open(t, filepath.Join(t.TempDir(), "journal.db"), store.DefaultLimits())
	defer func() { _ = disk.Close() }()
	w.Store.Keep()
	if err := disk.Commit(w.Store.Drain(w.Now), map[string][]byte{store.CheckpointsKey: data}); err != nil {
		t.Fatal(err)
	}
	again, _, problems := disk.Readers(capture.NewIndex())
	if len(problems) > 0 || len(again) != len(list) {
		t.Fatal(len(again), problems)
	}
	for i, c := range again {
		if c.Name != list[i].Name || c.Pos != list[i].Pos || !c.At.Equal(list[i].At) || c.Endpoints.Len() != 200 {
			t.Errorf("%+v, want %+v", c, list[i])
		}
		for k, e := range list[i].Endpoints.All {
			if got, _ := c.Endpoints.Get(k); got != e {
				t.Fatalf("%+v: %+v, want %+v", k, got, e)
			}
		}
	}
}

func TestAKeeperTriesAgainAndLosesNothing(t *testing.T) {
	w := enginetest.New(t, small(1000))
	path := filepath.Join(t.TempDir(), "journal.db")
	full := errors.New("no space left on device")
	opened := make(chan bool, 1)
	var broken atomic.Bool
	broken.Store(true)
	k := store.NewKeeper(store.KeeperOptions{
		Open: func() (*store.Store, error) {
			if broken.Load() {
				return nil, full
			}
			s, _, err := store.Open(path, store.DefaultLimits(), epoch)
			opened <- true
			return s, err
		},
		Capture: w.Store, Checkpoints: func() ([]checkpoint.Checkpoint, uint64) { return nil, 0 }, Readers: func() []checkpoint.ClientState { return nil },
		Kept: func() {}, Clock: func() time.Time { return epoch }, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	w.Log("log", "before")
	if err := k.Sync(ctx); !errors.Is(err, full) || k.Problem() != full.Error() {
		t.Errorf("%v, problem %q", err, k.Problem())
	}
	if n := w.Store.Acknowledged("i", "s"); n > 1 {
		t.Errorf("acknowledged up to %d though nothing could be written", n)
	}
	broken.Store(false)
	w.Log("log", "after")
	if err := k.Sync(ctx); err != nil || k.Problem() != "" {
		t.Errorf("%v, problem %q", err, k.Problem())
	}
	<-opened
	if n := w.Store.Acknowledged("i", "s"); n != 3 {
		t.Errorf("acknowledged up to %d, want 3", n)
	}
	cancel()
	<-done
	if err := k.Disk().Close(); err != nil {
		t.Fatal(err)
	}
	disk := open(t, path, store.DefaultLimits())
	defer func() { _ = disk.Close() }()
	var texts []string
	for _, e := range restore(t, disk, small(1000), epoch).View(epoch).Console().From(0) {
		texts = append(texts, e.Text)
	}
	if strings.Join(texts, " ") != "before after" {
		t.Errorf("kept: %q", texts)
	}
}

// TestABufferIsFilledFromNotMuchMoreThanItHolds: entries that are read and leave the buffer at once delay a start.
func TestABufferIsFilledFromNotMuchMoreThanItHolds(t *testing.T) {
	limits := capture.DefaultLimits()
	for section, fields := range map[string]string{
		"console":   `"level":"log","via":"console","text":%q,"url":"http://localhost:5173/src/app.js","line":42,"column":7`,
		"websocket": `"id":"1234.56","url":"ws://localhost:5173/live","op":"received","text":%q`,
		"network":   `"id":"1234.5","method":"GET","url":"http://localhost:5173/api/items/7","resource":"fetch","status":200,"started":1,"duration":1.5,"mime":"application/json","response_headers":{"content-type":"application/json"},"response_body":%q`,
		"action":    `"action":"click","target":%q,"selector":"#pay"`,
	} {
		for _, text := range []string{"short", strings.Repeat("a kettle ", 40)} {
			w := enginetest.New(t, capture.Limits{})
			s := open(t, filepath.Join(t.TempDir(), "journal.db"), store.DefaultLimits())
			w.Store.Keep()
			for range 130 {
				var raw []string
				for range 200 {
					raw = append(raw, w.Event(section, fmt.Sprintf(fields, text)))
				}
				w.SendAll(raw)
				commit(t, s, w.Store, w.Now)
			}
			of := capture.Section(section)
			if section == "action" {
				of = capture.ActionsSection
			}
			restored := restore(t, s, limits, w.Now)
			live, again := w.Store.View(w.Now), restored.View(w.Now)
			if from, want := again.FirstInRing(of), live.FirstInRing(of); from != want || want == 1 {
				t.Errorf("%s: the buffer begins at %d, before at %d", section, from, want)
			}
			past, err := s.Past(nil)
			if err != nil {
				t.Fatal(err)
			}
			tail := past.Tail(of, limits[of.Track()], restored.Index())
			next := again.Now().Pos[of.Track()]
			if read, held := next-tail.From, next-again.FirstInRing(of); len(text) > 100 && float64(read) > 1.35*float64(held) {
				t.Errorf("%s: %d entries are read for %d", section, read, held)
			} else {
				t.Logf("%s of %d bytes: %d entries are read for %d", section, len(text), read, held)
			}
			past.Close()
			_ = s.Close()
		}
	}
}
