package recording_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/usererr"
)

var header = recording.Header{ID: "t20260102-030405-abcd", Command: "bash", Dir: "/w", Started: time.Unix(1_700_000_000, 0).UTC(), Cols: 80, Rows: 24, Term: "xterm"}

func create(t testing.TB, path string) *recording.Writer {
	t.Helper()
	w, err := recording.Create(path, header)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t testing.TB, path string, from time.Duration) (list []recording.Event, s recording.Summary) {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for e, err := range r.Events(from) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list, r.Summary()
}

func add(t testing.TB, w *recording.Writer, at time.Duration, code recording.Code, data string) {
	t.Helper()
	if err := w.Append(at, code, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, w *recording.Writer) {
	t.Helper()
	if err := w.Commit(false); err != nil {
		t.Fatal(err)
	}
}

func TestEventsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "a")
		w := create(t, path)
		var want []string
		var at time.Duration
		var offset uint64
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			at += time.Duration(rapid.IntRange(0, 2_000_000).Draw(rt, "passed")) * time.Microsecond
			code := rapid.SampledFrom([]recording.Code{recording.Output, recording.Input, recording.Resize, recording.Marker}).Draw(rt, "code")
			data := strings.Repeat(rapid.StringN(0, 20, -1).Draw(rt, "data"), rapid.SampledFrom([]int{1, 3, 9000}).Draw(rt, "times"))
			add(t, w, at, code, data)
			want = append(want, fmt.Sprint(at, offset, string(rune(code)), data))
			if code == recording.Output {
				offset += uint64(len(data))
			}
			if rapid.IntRange(0, 3).Draw(rt, "commit") == 0 {
				commit(t, w)
			}
		}
		if err := w.Finish(3); err != nil {
			rt.Fatal(err)
		}
		want = append(want, fmt.Sprint(at, offset, "x", "3"))
		events, s := read(t, path, 0)
		var got []string
		for _, e := range events {
			got = append(got, fmt.Sprint(e.At, e.Offset, string(rune(e.Code)), string(e.Data)))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("%d events, want %d", len(got), len(want))
		}
		if !s.Finished || s.Status != 3 || s.Duration != at || s.Output != offset || s.Torn != 0 || s.Command != "bash" {
			rt.Errorf("summary %+v", s)
		}
	})
}

// TestATornEndIsCut cuts a file at every byte: what was committed before is there, and nothing else.
func TestATornEndIsCut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	w := create(t, path)
	sizes := []int64{}
	for i := range 5 {
		add(t, w, time.Duration(i)*time.Second, recording.Output, fmt.Sprintf("line %d\r\n", i))
		commit(t, w)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	if err := w.Abandon(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, "b")
	for n := sizes[0]; n <= sizes[4]; n++ {
		if err := os.WriteFile(torn, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		want := 0
		for want < 5 && sizes[want] <= n {
			want++
		}
		events, s := read(t, torn, 0)
		if len(events) != want || s.Torn != n-sizes[want-1] || s.Finished {
			t.Fatalf("at %d: %d events, want %d; %+v", n, len(events), want, s)
		}
	}
	// A last frame of which only some pages reached the disk.
	copy(whole[sizes[3]+40:], make([]byte, 8))
	if err := os.WriteFile(torn, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if events, s := read(t, torn, 0); len(events) != 4 || s.Torn == 0 {
		t.Errorf("%d events of a torn last frame, %+v", len(events), s)
	}
}

func TestReadingFromATimeBeginsInItsSegment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := create(t, path)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		add(t, w, time.Duration(i)*time.Second, recording.Output, strings.Repeat(fmt.Sprintf("%x ", r.Uint64()), 60))
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	all, _ := read(t, path, 0)
	for _, from := range []time.Duration{0, time.Second, 777 * time.Second, 1999 * time.Second} {
		part, _ := read(t, path, from)
		if len(part) == 0 || part[0].At > from {
			t.Fatalf("from %s: %d events", from, len(part))
		}
		skipped := all[len(all)-len(part):]
		for i := range part {
			if part[i].At != skipped[i].At || part[i].Offset != skipped[i].Offset || !bytes.Equal(part[i].Data, skipped[i].Data) {
				t.Fatalf("from %s: event %d is %v, %d", from, i, part[i].At, part[i].Offset)
			}
		}
		if read := all[len(all)-1].Offset - part[0].Offset; from > 1990*time.Second && read > 300<<10 {
			t.Errorf("reading from the end reads %d bytes", read)
		}
	}
}

func cast(t testing.TB, path string, o recording.CastOptions) []string {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var b bytes.Buffer
	if err := recording.WriteCast(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(b.String()), "\n")
}

// TestAnExportEndsNoScript of a page that has it as data.
func TestAnExportEndsNoScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := create(t, path)
	text := "</script><!--<script>\u2028"
	add(t, w, time.Millisecond, recording.Output, text)
	add(t, w, 2*time.Millisecond, recording.Marker, "m1 </SCRIPT>")
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(cast(t, path, recording.CastOptions{Version: 3}), "\n")
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	dir := filepath.Join(t.TempDir(), "segments")
	if err := recording.WriteSegmented(dir, r, 0); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"0.json", "index.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got += string(data)
	}
	if strings.Contains(got, "</") || strings.Contains(got, "<!") || strings.Contains(got, "\u2028") {
		t.Error(got)
	}
	var event []any
	if err := json.Unmarshal([]byte(cast(t, path, recording.CastOptions{Version: 2})[1]), &event); err != nil || event[2] != text {
		t.Errorf("%v, %v", event, err)
	}
}

func TestCast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := create(t, path)
	status := 2
	add(t, w, 400*time.Microsecond, recording.Output, "a<\xe2\x82")
	add(t, w, 800*time.Microsecond, recording.Resize, "100x30")
	add(t, w, 1200*time.Microsecond, recording.Output, "\xac>")
	add(t, w, 60*time.Second, recording.Ended, string(recording.Encode(recording.Command{Text: "npm\ntest", Status: &status})))
	add(t, w, 60*time.Second, recording.Dropped, string(recording.Encode(recording.Gap{Bytes: 12, Why: "flood"})))
	add(t, w, 60*time.Second, recording.Marker, "m4 npm\ntest (exit 2)")
	add(t, w, 60*time.Second, recording.Marker, "m5 a label")
	add(t, w, 61*time.Second, recording.Input, "\xff")
	add(t, w, 61*time.Second, recording.Output, "\xe2\x82")
	if err := w.Finish(7); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"version":3,"term":{"cols":80,"rows":24,"type":"xterm"},"timestamp":1700000000,"command":"bash","title":"bash"}`,
		`[0.000, "o", "a<"]`, `[0.001, "r", "100x30"]`, `[0.000, "o", "€>"]`, `[59.999, "m", "m4 npm test (exit 2)"]`,
		`[0.000, "m", "12 bytes not recorded: flood"]`, `[0.000, "m", "m5 a label"]`, `[1.000, "i", "�"]`, `[0.000, "x", "7"]`, `[0.000, "o", "�"]`,
	}
	if got := cast(t, path, recording.CastOptions{Version: 3}); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	got := cast(t, path, recording.CastOptions{Version: 2, IdleLimit: 2 * time.Second})
	if got[0] != `{"version":2,"width":80,"height":24,"timestamp":1700000000,"idle_time_limit":2,"command":"bash","title":"bash"}` ||
		got[4] != `[2.001, "m", "m4 npm test (exit 2)"]` || got[len(got)-1] != `[3.001, "o", "�"]` {
		t.Errorf("v2: %s", strings.Join(got, "\n"))
	}
}

func TestTTYRec(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := create(t, path)
	add(t, w, 1500*time.Microsecond, recording.Output, "a\xff")
	add(t, w, time.Second, recording.Resize, "100x30")
	add(t, w, 2*time.Second, recording.Output, "b")
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var b bytes.Buffer
	if err := recording.WriteTTYRec(&b, r); err != nil {
		t.Fatal(err)
	}
	want := "\x00\xf1\x53\x65" + "\xdc\x05\x00\x00" + "\x02\x00\x00\x00" + "a\xff" + "\x02\xf1\x53\x65" + "\x00\x00\x00\x00" + "\x01\x00\x00\x00" + "b"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// TestTimesDoNotDrift has events that are closer than the unit of the format.
func TestTimesDoNotDrift(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := create(t, path)
	for i := range 10_000 {
		add(t, w, time.Duration(i)*400*time.Microsecond, recording.Output, "x")
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, line := range cast(t, path, recording.CastOptions{Version: 3})[1:] {
		var e []any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		sum += e[0].(float64)
	}
	if want := 3.9996; sum < want-0.001 || sum > want+0.001 {
		t.Errorf("the intervals add up to %f s, want %f", sum, want)
	}
}

func TestStore(t *testing.T) {
	s := recording.Store{Dir: filepath.Join(t.TempDir(), "terminals")}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if list, err := s.List(t.Context()); len(list) > 0 || err != nil {
		t.Fatal(list, err)
	}
	var ids []string
	for i := range 4 {
		h := header
		h.ID, h.Name, h.Started = recording.NewID(now.Add(time.Duration(i)*time.Hour)), fmt.Sprint("n", i), now.Add(time.Duration(i)*time.Hour)
		w, err := s.Create(h)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, h.ID)
		if i == 1 { // it stays open
			t.Cleanup(func() { _ = w.Abandon() })
		} else if err := w.Finish(0); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(s.Dir, h.ID+recording.Suffix)
		if err := os.Chtimes(path, h.Started, h.Started); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 4 || list[0].ID != ids[0] || list[3].ID != ids[3] || list[1].Finished || !list[2].Finished {
		t.Fatalf("%+v, %v", list, err)
	}
	for name, want := range map[string]string{"": ids[3], "n2": ids[2], ids[0]: ids[0]} {
		r, err := s.Open(name)
		if err != nil || r.Summary().ID != want {
			t.Errorf("%q: %v, %v", name, r, err)
		}
		_ = r.Close()
	}
	for _, name := range []string{"n9", "t20260102-030405-zzzz", "../x", "t20260102-030405-0000"} {
		if _, err := s.Open(name); usererr.CodeOf(err) != usererr.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Remove(ids[1]); usererr.CodeOf(err) != usererr.AlreadyExists {
		t.Errorf("one that is being written is removed: %v", err)
	}
	if err := s.Remove(ids[2]); err != nil {
		t.Error(err)
	}
	if err := s.Remove(ids[2]); usererr.CodeOf(err) != usererr.NotFound {
		t.Error(err)
	}
	done, err := s.Prune(retention.Wall(func() time.Time { return now.Add(2 * time.Hour) }), retention.Policy{Age: 30 * time.Minute})
	if err != nil || len(done.Deleted) != 1 || done.Deleted[0] != ids[0] || done.Freed == 0 {
		t.Errorf("by age: %+v, %v", done, err)
	}
	done, err = s.Prune(retention.Wall(func() time.Time { return now }), retention.Policy{Bytes: 1})
	if err != nil || len(done.Deleted) != 1 || done.Deleted[0] != ids[3] {
		t.Errorf("by size: %+v, %v", done, err)
	}
}

// FuzzOpen reads files that no recorder wrote.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a")
	w := create(f, path)
	add(f, w, time.Second, recording.Output, "hello")
	if err := w.Finish(0); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "b")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := recording.Open(path)
		if err != nil {
			return
		}
		defer func() { _ = r.Close() }()
		for _, err := range r.Events(0) {
			if err != nil {
				return
			}
		}
		if err := recording.WriteCast(&bytes.Buffer{}, r, recording.CastOptions{Version: 3}); err != nil {
			t.Error(err)
		}
	})
}

// TestADamagedRecordingIsNotMissing: without a readable one, the error says what could not be read.
func TestADamagedRecordingIsNotMissing(t *testing.T) {
	s := recording.Store{Dir: t.TempDir()}
	if _, err := s.Open(""); err == nil || !strings.Contains(err.Error(), "there are no recordings yet") {
		t.Error(err)
	}
	path := filepath.Join(s.Dir, recording.NewID(header.Started)+recording.Suffix)
	for kind, put := range map[string]func() error{
		"damaged":   func() error { return os.WriteFile(path, []byte("x"), 0o600) },
		"directory": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"", "one"} {
			if _, err := s.Open(id); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "no recordings yet") {
				t.Errorf("%s, %q: %v", kind, id, err)
			}
		}
	} // An older recording is not shown in place of a newer one that is damaged.
	older := recording.NewID(header.Started.Add(-time.Hour))
	w, err := recording.Create(filepath.Join(s.Dir, older+recording.Suffix), header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(""); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), older) {
		t.Errorf("beside an older one: %v", err)
	}
}
