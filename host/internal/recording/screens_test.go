package recording_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/recording/screen"
)

// busy writes a recording of several compressed streams: a build log, a program that draws its screen, wide characters, sizes.
func busy(t testing.TB, w *recording.Writer, megabytes int) time.Duration {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var at time.Duration
	for n := 0; n < megabytes<<20; {
		at += time.Duration(r.IntN(40_000)) * time.Microsecond
		var b strings.Builder
		switch r.IntN(8) {
		case 0:
			b.WriteString("\x1b[?1049h\x1b[2J")
			for y := range 20 {
				fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[4%dm 漢字 %d ", y+1, r.IntN(70)+1, r.IntN(8), r.IntN(1e6))
			}
			b.WriteString("\x1b[0m\x1b[5;15r\x1b[15;1H\n\n")
		case 1:
			b.WriteString("\x1b[r\x1b[?1049l")
		default:
			for range 1 + r.IntN(60) {
				fmt.Fprintf(&b, "\x1b[3%dm%6d\x1b[0m build/%x/file_%d.go: compiled é😀\r\n", r.IntN(8), r.IntN(1e6), r.Uint64(), r.IntN(1e4))
			}
		}
		data := b.String()
		for data != "" { // cut anywhere
			k := 1 + r.IntN(len(data))
			add(t, w, at, recording.Output, data[:k])
			data = data[k:]
		}
		n += b.Len()
		if r.IntN(200) == 0 {
			add(t, w, at, recording.Resize, fmt.Sprintf("%dx%d", 60+r.IntN(60), 15+r.IntN(20)))
		}
		if r.IntN(30) == 0 {
			add(t, w, at, recording.Marker, fmt.Sprintf("m%d a command", n))
		}
		if r.IntN(10) == 0 {
			commit(t, w)
		}
	}
	return at
}

func open(t testing.TB, path string) *recording.Reader {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// replayed returns dumps of the screen at times, by replaying everything.
func replayed(t testing.TB, r *recording.Reader, times []time.Duration) []string {
	t.Helper()
	s := r.Summary()
	term := screen.New(s.Cols, s.Rows)
	var dumps []string
	for e, err := range r.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		for len(dumps) < len(times) && times[len(dumps)] < e.At {
			dumps = append(dumps, term.Dump())
		}
		recording.Apply(term, e)
	}
	for len(dumps) < len(times) {
		dumps = append(dumps, term.Dump())
	}
	return dumps
}

func TestAFrameIsWhatReplayingEverythingShows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+recording.Suffix)
	w := create(t, path)
	end := busy(t, w, 1)
	commit(t, w) // it is still being written
	r := open(t, path)
	rnd := rand.New(rand.NewPCG(3, 4))
	times := []time.Duration{0, end, end + time.Hour}
	for range 30 {
		times = append(times, time.Duration(rnd.Int64N(int64(end))))
	}
	slices.Sort(times)
	want := replayed(t, r, times)
	check := func(what string) {
		t.Helper()
		for _, i := range rnd.Perm(len(times)) {
			got, err := r.Frame(times[i])
			if err != nil {
				t.Fatal(err)
			}
			if got.Dump() != want[i] {
				t.Fatalf("%s: the frame at %s is\n%s\nnot\n%q", what, times[i], strings.Join(got.Text(), "\n"), want[i])
			}
		}
	}
	check("at first")
	screens := strings.TrimSuffix(path, recording.Suffix) + ".screens"
	saved, err := os.ReadFile(screens)
	if err != nil || len(saved) < 1000 {
		t.Fatalf("%d bytes of screens are saved: %v", len(saved), err)
	}
	check("with saved screens")
	for range 5 { // a damaged or torn file of screens changes nothing
		bad := slices.Clone(saved)
		if rnd.IntN(2) == 0 {
			bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
		} else {
			bad = bad[:rnd.IntN(len(bad))]
		}
		if err := os.WriteFile(screens, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		at := rnd.IntN(len(times))
		if got, err := r.Frame(times[at]); err != nil || got.Dump() != want[at] {
			t.Fatalf("with a damaged file of screens the frame at %s differs: %v", times[at], err)
		}
	}
	if err := os.Remove(screens); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup // several readers at once
	for range 2 {
		all.Go(func() {
			one, err := recording.Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range times {
				if got, err := one.Frame(times[i]); err != nil || got.Dump() != want[i] {
					t.Errorf("beside others the frame at %s differs: %v", times[i], err)
				}
			}
			_ = one.Close()
		})
	}
	all.Wait()
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
}

// TestTheFirstFrameNeedsOneStream: whoever keeps the screens while a recording is written leaves nothing to its first reader.
func TestTheFirstFrameNeedsOneStream(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+recording.Suffix)
	w := create(t, path)
	k, err := recording.Keep(path)
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	keep := func() {
		t.Helper()
		for more := true; more; steps++ {
			if more, err = k.Step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	keep()
	var end time.Duration
	for range 3 {
		end = busy(t, w, 1) // what comes again counts as of the end
		commit(t, w)
		keep()
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	screens := strings.TrimSuffix(path, recording.Suffix) + ".screens"
	before, err := os.ReadFile(screens)
	if err != nil || steps < 12 {
		t.Fatalf("%d steps: %v", steps, err)
	}
	r := open(t, path)
	times := []time.Duration{end / 5, end / 3, end / 2, end}
	for i, want := range replayed(t, r, times) {
		if got, err := r.Frame(times[i]); err != nil || got.Dump() != want {
			t.Errorf("the frame at %s differs: %v", times[i], err)
		}
	}
	if after, err := os.ReadFile(screens); err != nil || !slices.Equal(before, after) {
		t.Errorf("a reader changed the file of screens from %d to %d bytes: %v", len(before), len(after), err)
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
}

func TestRemovingARecordingRemovesItsScreens(t *testing.T) {
	s := recording.Store{Dir: t.TempDir()}
	w, err := s.Create(header)
	if err != nil {
		t.Fatal(err)
	}
	end := busy(t, w, 1)
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	r, err := s.Open(header.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Frame(end); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if files, _ := os.ReadDir(s.Dir); len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	if err := s.Remove(header.ID); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(s.Dir); len(files) != 0 {
		t.Fatalf("%v is left", files)
	}
}

// segment is a segment as the player reads it.
type segment struct {
	Snapshot struct {
		Cols, Rows int
		Init       string
	}
	Events [][3]any
}

func TestASegmentedExportHasWhatThePlayerRequires(t *testing.T) {
	for _, c := range []struct {
		name string
		idle time.Duration
		make func(w *recording.Writer)
	}{
		{"busy", 0, func(w *recording.Writer) { busy(t, w, 1) }},
		{"idle", 10 * time.Millisecond, func(w *recording.Writer) { busy(t, w, 1) }},
		{"empty", 0, func(*recording.Writer) {}},
		{"one moment", 0, func(w *recording.Writer) {
			for range 300 {
				add(t, w, time.Second, recording.Output, strings.Repeat("x", 1000))
			}
		}},
		{"a cut character", 0, func(w *recording.Writer) { add(t, w, time.Second, recording.Output, "\xe6\xbc") }},
	} {
		path := filepath.Join(t.TempDir(), "a"+recording.Suffix)
		w := create(t, path)
		c.make(w)
		if err := w.Finish(3); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "out")
		if err := recording.WriteSegmented(dir, open(t, path), c.idle); err != nil {
			t.Fatal(c.name, err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		var index recording.SegmentedIndex
		if err := json.Unmarshal(data, &index); err != nil {
			t.Fatal(err)
		}
		duration, _ := index.Duration.Float64()
		if c.idle > 0 && len(index.Times) == 0 {
			t.Error("no pause has both times")
		}
		before, markers := -1.0, 0
		term := screen.New(index.Term.Cols, index.Term.Rows)
		for i, ref := range index.Segments {
			start, _ := ref.Start.Float64()
			if start <= before && i > 0 || i == 0 && start != 0 || i > 0 && start >= duration {
				t.Fatalf("%s: segment %d of %d begins at %v after an event at %v, of %v", c.name, i, len(index.Segments), start, before, duration)
			}
			data, err := os.ReadFile(filepath.Join(dir, ref.URL))
			if err != nil {
				t.Fatal(err)
			}
			var s segment
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			if i > 0 && s.Events[0][0] != start {
				t.Errorf("%s: segment %d does not begin at its start", c.name, i)
			}
			loaded := screen.New(s.Snapshot.Cols, s.Snapshot.Rows)
			_, _ = loaded.Write([]byte(s.Snapshot.Init))
			if loaded.Dump() != term.Dump() {
				t.Errorf("%s: the snapshot of segment %d is not what the segments before it show", c.name, i)
			}
			for _, e := range s.Events {
				if at := e[0].(float64); at < before {
					t.Errorf("%s: an event at %v follows one at %v", c.name, at, before)
				} else {
					before = at
				}
				switch e[1] {
				case "o":
					_, _ = term.Write([]byte(e[2].(string)))
				case "r":
					recording.Apply(term, recording.Event{Code: recording.Resize, Data: []byte(e[2].(string))})
				case "m":
					markers++
				}
			}
		}
		if before != duration {
			t.Errorf("%s: the last event is at %v, of %v", c.name, before, duration)
		}
		if markers != len(index.Markers) {
			t.Errorf("%s: %d markers, %d in the index", c.name, markers, len(index.Markers))
		}
		if err := recording.WriteSegmented(dir, open(t, path), 0); err == nil {
			t.Error("an existing directory is overwritten")
		}
	}
}

func TestALiveRecordingIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+recording.Suffix)
	w := create(t, path)
	add(t, w, time.Second, recording.Output, "before \x1b[31mred \xe6\xbc")
	commit(t, w)
	live := recording.NewLive(open(t, path))
	var term *screen.Terminal
	var times []string
	next := func() bool {
		t.Helper()
		ended, err := live.Next(func(m any) bool {
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var start recording.LiveStart
			var e [3]any
			if json.Unmarshal(data, &start) == nil {
				term = screen.New(start.Cols, start.Rows)
				_, _ = term.Write([]byte(start.Init))
				times = append(times, start.Time.String())
			} else if err := json.Unmarshal(data, &e); err != nil {
				t.Fatal(err)
			} else {
				times = append(times, fmt.Sprint(e[0]))
				recording.Apply(term, recording.Event{Code: recording.Code(e[1].(string)[0]), Data: []byte(e[2].(string))})
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return ended
	}
	if next() {
		t.Error("it has ended")
	}
	next()                                           // nothing new
	add(t, w, time.Second, recording.Output, "\xa2") // the rest of a character, at the same time
	commit(t, w)
	next()
	add(t, w, time.Second, recording.Output, "!")
	add(t, w, 2*time.Second, recording.Resize, "30x5")
	add(t, w, 3*time.Second, recording.Output, "\r\nlast")
	commit(t, w)
	next()
	if got := strings.TrimSpace(strings.Join(term.Text(), "|")); strings.Trim(got, "|") != "before red 漢!|last" {
		t.Errorf("it shows %q", got)
	}
	if cols, rows := term.Size(); cols != 30 || rows != 5 {
		t.Errorf("its size is %dx%d", cols, rows)
	}
	if got := strings.Join(times, " "); got != "1.000 1 1 2 3" {
		t.Errorf("the times are %s", got)
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	if !next() {
		t.Error("it has not ended")
	}
}
