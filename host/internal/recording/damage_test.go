package recording_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/recording"
)

// TestDamageIsAGap: a changed bit costs the stream in which it is, from its frame on, and is told. Everything else has its times
// and places.
func TestDamageIsAGap(t *testing.T) {
	const streams, each, chunk = 5, 300, 1024 // a stream ends after 256 KiB
	path := filepath.Join(t.TempDir(), "a")
	w := create(t, path)
	random := rand.New(rand.NewPCG(1, 2))
	var sizes []int64
	for i := range streams * each {
		data := make([]byte, chunk)
		for k := range data {
			data[k] = byte(random.IntN(256))
		}
		at := time.Duration(i) * 10 * time.Millisecond
		add(t, w, at, recording.Output, string(data))
		if i%100 == 50 {
			add(t, w, at, recording.Ended, fmt.Sprintf(`{"text":"make %d","offset":%d}`, i, w.Offset()))
		}
		if i%40 == 0 {
			commit(t, w)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, info.Size())
		}
	}
	if err := w.Finish(3); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := read(t, path, 0)
	places := map[string]bool{}
	for _, e := range want {
		places[fmt.Sprint(e.At, e.Offset, string(rune(e.Code)), string(e.Data))] = true
	}
	body := rapid.IntRange(600, len(whole)-60)
	head := rapid.Custom(func(t *rapid.T) int {
		return int(rapid.SampledFrom(sizes).Draw(t, "frame")) + rapid.IntRange(0, 28).Draw(t, "of its head")
	})
	rapid.Check(t, func(rt *rapid.T) {
		damaged := append([]byte(nil), whole...)
		at := rapid.OneOf(body, head).Draw(rt, "byte")
		damaged[at] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		path := filepath.Join(t.TempDir(), "b")
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			rt.Fatal(err)
		}
		got, s := read(t, path, 0)
		var output, missing uint64
		var last recording.Event
		for _, e := range got {
			if e.At < last.At || e.Offset < last.Offset {
				rt.Fatalf("%s at %d follows %s at %d", e.At, e.Offset, last.At, last.Offset)
			}
			last = e
			if e.Code == recording.Dropped {
				var g recording.Gap
				if err := json.Unmarshal(e.Data, &g); err != nil || g.Why != "the file is damaged here" {
					rt.Fatalf("%q: %v", e.Data, err)
				}
				missing += g.Bytes
				continue
			}
			if e.Code == recording.Output {
				output += uint64(len(e.Data))
			}
			if !places[fmt.Sprint(e.At, e.Offset, string(rune(e.Code)), string(e.Data))] {
				rt.Fatalf("%s at %d was never recorded there", e.At, e.Offset)
			}
		}
		if total := uint64(streams * each * chunk); output+missing != total || s.Output != total {
			rt.Fatalf("%d bytes and %d missing of %d; the summary has %d", output, missing, total, s.Output)
		}
		if missing == 0 || missing > 300<<10 {
			rt.Fatalf("one bit costs %d bytes", missing)
		}
		checkMissing(rt, path, got, missing)
		if !s.Finished || s.Status != 3 || last.Code != recording.Exit && missing == 0 {
			rt.Fatalf("the end: %+v", s)
		}
	})
}

// checkMissing: [recording.Reader.Missing] agrees with the gaps of the events, before and behind these.
func checkMissing(t *rapid.T, path string, events []recording.Event, missing uint64) {
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if n, damaged, err := r.Missing(r.Summary().Duration); n != missing || !damaged || err != nil {
		t.Fatalf("%d bytes are missing, and not %d: %v %v", n, missing, damaged, err)
	}
	for i, e := range events {
		if e.Code != recording.Dropped || i == 0 {
			continue
		}
		if n, damaged, err := r.Missing(events[i-1].At - 1); i > 1 && (n != 0 || damaged || err != nil) {
			t.Fatalf("%d bytes are missing before the damage: %v %v", n, damaged, err)
		}
		return
	}
}

// TestDamageBeforeATornEndIsAGap: the last frame that is whole in length is damaged, and the next one is cut off.
func TestDamageBeforeATornEndIsAGap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := create(t, path)
	sizes := make([]int64, 3)
	for i := range sizes {
		add(t, w, time.Duration(i)*time.Second, recording.Output, fmt.Sprint("part ", i, "\n"))
		commit(t, w)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes[i] = info.Size()
	}
	if err := w.Abandon(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[sizes[1]-1] ^= 1
	if err := os.WriteFile(path, data[:sizes[2]-1], 0o600); err != nil {
		t.Fatal(err)
	}
	got, s := read(t, path, 0)
	if len(got) != 2 || string(got[0].Data) != "part 0\n" || got[1].Code != recording.Dropped || s.Output != 14 || s.Torn == 0 {
		t.Errorf("%+v, %+v", got, s)
	}
}
