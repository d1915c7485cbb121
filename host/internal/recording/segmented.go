package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/recording/screen"
)

// segmentLength is how much text a segment of an export has, in bytes, about. A player replays at most one to seek.
const segmentLength = 128 << 10

// SegmentedIndex is the file index.json of a recording in segments. asciinema-player reads it (3.18, format "segmented").
// Times are seconds.
type SegmentedIndex struct {
	Version  int              `json:"version"`
	Duration json.Number      `json:"duration"`
	Term     SegmentedSize    `json:"term"`
	Segments []SegmentedRef   `json:"segments"`
	Markers  [][2]any         `json:"markers,omitempty"`
	Times    [][2]json.Number `json:"times,omitempty"`
}

// SegmentedSize is the size of a terminal in cells.
type SegmentedSize struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// SegmentedRef names the file of a segment.
type SegmentedRef struct {
	Start json.Number `json:"start"`
	URL   string      `json:"url"`
}

// WriteSegmented writes a recording as files of a new directory: index.json and the segments that it names. Each segment begins
// with what the terminal showed, so that a player seeks without the others. A pause that is longer than idle is shortened, 0
// keeps all; then times in the index has a pair after each such pause: the time in the export, and in the recording.
func WriteSegmented(dir string, r *Reader, idle time.Duration) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	s := r.Summary()
	w := &segmentedWriter{dir: dir, screen: screen.New(s.Cols, s.Rows)}
	w.index.Version, w.index.Term = 1, SegmentedSize{s.Cols, s.Rows}
	c := newCaster(idle, w.event)
	c.shortened = func(shown, recorded time.Duration) {
		w.index.Times = append(w.index.Times, [2]json.Number{json.Number(seconds(shown)), json.Number(seconds(recorded))})
	}
	w.begin(0)
	err := c.run(r)
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot write the recording to %s: %w", dir, err), os.RemoveAll(dir))
	}
	return nil
}

// segmentedWriter writes the segments of a recording.
type segmentedWriter struct {
	dir    string
	screen *screen.Terminal
	index  SegmentedIndex
	// open is the segment that is being made: its events as JSON, with commas. text is the length of their text.
	open bytes.Buffer
	text int
	// start is when it begins, at the time of the event before.
	start, at time.Duration
	err       error
}

// begin begins a segment.
func (w *segmentedWriter) begin(at time.Duration) {
	cols, rows := w.screen.Size()
	init, err := jsonOf(w.screen.Dump())
	w.err = errors.Join(w.err, err)
	w.open.Reset()
	fmt.Fprintf(&w.open, `{"snapshot":{"cols":%d,"rows":%d,"init":%s},"events":[`, cols, rows, init)
	w.text, w.start = 0, at
}

// event adds an event. A segment begins only at a time that is after all events before it.
func (w *segmentedWriter) event(at time.Duration, code, data string) {
	if w.text >= segmentLength && at > w.at {
		w.end()
		w.begin(at)
	}
	w.add(at, code, data)
	switch code {
	case "o":
		_, _ = w.screen.Write([]byte(data))
	case "r":
		Apply(w.screen, Event{Code: Resize, Data: []byte(data)})
	case "m":
		w.index.Markers = append(w.index.Markers, [2]any{json.Number(seconds(at)), data})
	}
}

func (w *segmentedWriter) add(at time.Duration, code, data string) {
	if c := w.open.Bytes(); c[len(c)-1] != '[' {
		w.open.WriteByte(',')
	}
	text, err := jsonOf(data)
	w.err = errors.Join(w.err, err)
	fmt.Fprintf(&w.open, "\n[%s,%q,%s]", seconds(at), code, text)
	w.text += len(data)
	w.at = at
}

// end writes the segment to its file.
func (w *segmentedWriter) end() {
	name := fmt.Sprintf("%d.json", len(w.index.Segments))
	w.index.Segments = append(w.index.Segments, SegmentedRef{json.Number(seconds(w.start)), name})
	w.open.WriteString("\n]}\n")
	w.err = errors.Join(w.err, os.WriteFile(filepath.Join(w.dir, name), w.open.Bytes(), 0o600))
}

// finish writes the last segment, and then the index. The player wants an event at the end, which is after all starts.
func (w *segmentedWriter) finish() error {
	end := max(w.at, w.start+time.Millisecond)
	if w.text == 0 || end > w.at {
		w.add(end, "o", "")
	}
	w.end()
	if w.err != nil {
		return w.err
	}
	w.index.Duration = json.Number(seconds(end))
	index, err := json.MarshalIndent(w.index, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, "index.json"), append(index, '\n'), 0o600)
}
