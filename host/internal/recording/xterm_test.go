package recording_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/recording"
)

// xtermStream is what xterm.js is fed with, part by part.
type xtermStream struct {
	Cols  int      `json:"cols"`
	Rows  int      `json:"rows"`
	Parts []string `json:"parts"`
	Each  bool     `json:"each"`
}

// xtermShown is what it shows after a stream, or after each of its parts.
type xtermShown struct {
	Lines     []string
	X, Y      int
	Alternate bool
}

// inTime reports whether an event of an export, whose time has milliseconds, is not after a time.
func inTime(e [3]any, at time.Duration) bool {
	return int64(math.Round(e[0].(float64)*1000)) <= at.Milliseconds()
}

// TestXtermShowsTheSameAfterASeek seeks 200 times at random in a segmented export, and in frames, and compares what xterm.js shows then
// with what it shows when it plays everything up to that time. The size does not change, because xterm.js joins lines again.
func TestXtermShowsTheSameAfterASeek(t *testing.T) {
	root, err := filepath.Abs("../../../package.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(root), "node_modules", "@xterm", "headless")); err != nil {
		t.Skip("@xterm/headless is not installed: run npm ci")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node.js is not installed")
	}
	r := rand.New(rand.NewPCG(9, 9))
	path := filepath.Join(t.TempDir(), "a"+recording.Suffix)
	w := create(t, path)
	at := time.Duration(0)
	for n := 0; n < 700_000; {
		at += time.Duration(1+r.IntN(60)) * time.Millisecond
		var b strings.Builder
		switch r.IntN(12) {
		case 0:
			b.WriteString("\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H")
		case 1:
			b.WriteString("\x1b[0m\x1b[?25h\x1b[?1049l")
		case 2:
			fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[7m 漢字😀 %d \x1b[27m\x1b[K", 1+r.IntN(24), 1+r.IntN(60), r.IntN(1e6))
		default:
			for range 1 + r.IntN(40) {
				fmt.Fprintf(&b, "\x1b[3%dm%6d\x1b[0m build/%x/file_%d.go: compiled é%s\r\n", r.IntN(8), r.IntN(1e6), r.Uint64(), r.IntN(1e4), strings.Repeat("─", r.IntN(60)))
			}
		}
		add(t, w, at, recording.Output, b.String())
		n += b.Len()
		if r.IntN(10) == 0 {
			commit(t, w)
		}
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	rec := open(t, path)
	dir := filepath.Join(t.TempDir(), "out")
	if err := recording.WriteSegmented(dir, rec, 0); err != nil {
		t.Fatal(err)
	}
	var index recording.SegmentedIndex
	read := func(name string, into any) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read("index.json", &index)
	segments := make([]segment, len(index.Segments))
	for i, ref := range index.Segments {
		read(ref.URL, &segments[i])
	}
	if len(segments) < 4 {
		t.Errorf("only %d segments", len(segments))
	}
	times := make([]time.Duration, 200)
	if testing.Short() {
		times = times[:20]
	}
	for i := range times {
		times[i] = time.Duration(r.Int64N(int64(at))).Truncate(time.Millisecond)
	}
	slices.Sort(times)
	whole := xtermStream{Cols: header.Cols, Rows: header.Rows, Each: true}
	part, next := strings.Builder{}, 0
	for e, err := range rec.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		for next < len(times) && times[next] < e.At {
			whole.Parts = append(whole.Parts, part.String())
			part.Reset()
			next++
		}
		if e.Code == recording.Output {
			part.Write(e.Data)
		}
	}
	var sought, frames []xtermStream
	for _, at := range times {
		i := 0
		for i+1 < len(segments) && inTime(segments[i+1].Events[0], at) {
			i++
		}
		s := segments[i]
		one := xtermStream{Cols: s.Snapshot.Cols, Rows: s.Snapshot.Rows, Parts: []string{s.Snapshot.Init}}
		for _, e := range s.Events {
			if inTime(e, at) && e[1] == "o" {
				one.Parts = append(one.Parts, e[2].(string))
			}
		}
		sought = append(sought, one)
		frame, err := rec.Frame(at)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, xtermStream{Cols: header.Cols, Rows: header.Rows, Parts: []string{frame.Dump()}})
	}
	input, err := json.Marshal(append(append([]xtermStream{whole}, sought...), frames...))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "screen/testdata/xterm.cjs", root)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []xtermShown
	if err := json.Unmarshal(out, &got); err != nil || len(got) != 3*len(times) {
		t.Fatalf("%d screens, %v", len(got), err)
	}
	for i, at := range times {
		for k, what := range []string{"the segmented export", "the frame"} {
			if seek := got[(k+1)*len(times)+i]; !reflect.DeepEqual(seek, got[i]) {
				t.Fatalf("%s at %s shows\n%s\nnot\n%s", what, at, strings.Join(seek.Lines, "\n"), strings.Join(got[i].Lines, "\n"))
			}
		}
	}
}
