package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"tidemark.dev/tidemark/host/internal/filelock"
	"tidemark.dev/tidemark/host/internal/recording/screen"
)

// The file with the screens of a recording is beside it. It has what the terminal showed where each compressed stream begins,
// so that a reader replays at most one of these. It is made while a terminal is recorded, or when somebody asks for a frame, and
// can be made again.
const (
	screensSuffix = ".screens"
	// screensMagic begins it. Its number changes with what package screen dumps.
	screensMagic = "tidemark screens 1\n"
	// screenHead is the size of a record's head: the place of the stream, size of the terminal, length of the dump, checksum.
	screenHead = 8 + 2 + 2 + 4 + 4
	// maxDump bounds a dump, in bytes.
	maxDump = 8 << 20
)

// savedScreen is a record of the file of screens.
type savedScreen struct {
	stream     int64 // the body of the stream's first frame
	cols, rows int
	at         int64 // of the packed dump in the file
	length     int
	sum        uint32
}

// screens are the saved screens of a recording.
type screens struct {
	list []savedScreen // by their streams
	size int64         // where the whole records end
}

func screensPath(path string) string { return strings.TrimSuffix(path, Suffix) + screensSuffix }

// readScreens reads the heads of saved screens. A file that is missing, damaged or of another form has none. Heads that it has
// read before are not read again, as long as the last of them is still there.
func (r *Reader) readScreens(f io.ReaderAt) screens {
	r.knownMu.Lock()
	defer r.knownMu.Unlock()
	s := r.known
	if n := len(s.list); n == 0 {
		s = screens{}
	} else if again, ok := readScreen(f, s.list[n-1].at-screenHead); !ok || again != s.list[n-1] {
		s = screens{}
	}
	if s.size == 0 {
		start := make([]byte, len(screensMagic)+len(r.summary.ID)+1)
		if _, err := f.ReadAt(start, 0); err != nil || string(start) != screensMagic+r.summary.ID+"\n" {
			return s
		}
		s.size = int64(len(start))
	}
	for {
		one, ok := readScreen(f, s.size)
		if !ok || len(s.list) > 0 && one.stream <= s.list[len(s.list)-1].stream {
			r.known = s
			return s
		}
		s.list = append(s.list, one)
		s.size = one.at + int64(one.length)
	}
}

// readScreen reads the head of a saved screen, false if it is not whole or not one.
func readScreen(f io.ReaderAt, at int64) (savedScreen, bool) {
	head, last := make([]byte, screenHead), make([]byte, 1)
	if _, err := f.ReadAt(head, at); err != nil {
		return savedScreen{}, false
	}
	one := savedScreen{
		stream: int64(binary.LittleEndian.Uint64(head)), cols: int(binary.LittleEndian.Uint16(head[8:])), rows: int(binary.LittleEndian.Uint16(head[10:])),
		at: at + screenHead, length: int(binary.LittleEndian.Uint32(head[12:])), sum: binary.LittleEndian.Uint32(head[16:]),
	}
	if one.length == 0 || one.length > maxDump || one.cols == 0 || one.rows == 0 {
		return savedScreen{}, false
	}
	_, err := f.ReadAt(last, one.at+int64(one.length)-1)
	return one, err == nil
}

// savedBefore returns the terminal at the last stream up to one that has a saved screen, with the index of that stream. Without
// one it is the terminal at the beginning.
func (r *Reader) savedBefore(stream int) (*screen.Terminal, int) {
	path := screensPath(r.file.Name())
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() { // opening a pipe would block
		return screen.New(r.summary.Cols, r.summary.Rows), 0
	}
	f, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return screen.New(r.summary.Cols, r.summary.Rows), 0
	}
	defer func() { _ = f.Close() }()
	list := r.readScreens(f).list
	for i := sort.Search(len(list), func(i int) bool { return list[i].stream > r.frames[r.streams[stream]].body }) - 1; i >= 0; i-- {
		at := sort.Search(len(r.streams), func(k int) bool { return r.frames[r.streams[k]].body >= list[i].stream })
		if at == len(r.streams) || r.frames[r.streams[at]].body != list[i].stream {
			continue // of another file
		}
		if t, ok := load(f, list[i]); ok {
			return t, at
		}
	}
	return screen.New(r.summary.Cols, r.summary.Rows), 0
}

// load returns the terminal of a saved screen.
func load(f io.ReaderAt, s savedScreen) (*screen.Terminal, bool) {
	packed := make([]byte, s.length)
	if _, err := f.ReadAt(packed, s.at); err != nil || crc32.Checksum(packed, castagnoli) != s.sum {
		return nil, false
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDump))
	if err != nil {
		return nil, false
	}
	defer z.Close()
	dump, err := z.DecodeAll(packed, nil)
	if err != nil {
		return nil, false
	}
	t := screen.New(s.cols, s.rows)
	_, _ = t.Write(dump)
	return t, true
}

// madeScreen is the screen at the beginning of a stream.
type madeScreen struct {
	stream     int64
	cols, rows int
	dump       string
}

// saveScreens adds screens to the file of screens. Another process that adds some at the same time goes first: what it leaves
// out is made again by the next reader.
func (r *Reader) saveScreens(made []madeScreen) error {
	if len(made) == 0 {
		return nil
	}
	f, err := filelock.Open(screensPath(r.file.Name()))
	if err != nil {
		return err
	}
	there := r.readScreens(f)
	var b bytes.Buffer
	if there.size == 0 {
		b.WriteString(screensMagic + r.summary.ID + "\n")
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	defer func() { _ = z.Close() }()
	for _, m := range made {
		if n := len(there.list); n > 0 && m.stream <= there.list[n-1].stream || len(m.dump) > maxDump {
			continue
		}
		packed := z.EncodeAll([]byte(m.dump), nil)
		head := binary.LittleEndian.AppendUint64(nil, uint64(m.stream))
		head = binary.LittleEndian.AppendUint16(head, uint16(m.cols))
		head = binary.LittleEndian.AppendUint16(head, uint16(m.rows))
		head = binary.LittleEndian.AppendUint32(head, uint32(len(packed)))
		head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(packed, castagnoli))
		b.Write(head)
		b.Write(packed)
	}
	err = f.Truncate(there.size)
	if err == nil {
		_, err = f.WriteAt(b.Bytes(), there.size)
	}
	return errors.Join(err, f.Close())
}

// maxMade is how many screens are kept in memory until they are saved.
const maxMade = 64

// Frame returns the terminal as it was at a time, after the events of that time. It saves the screens that it makes on the way:
// without saved ones, the first call for a place of a recording reads everything before it. Without a place to save them, the
// next call takes as long.
func (r *Reader) Frame(at time.Duration) (*screen.Terminal, error) {
	if len(r.streams) == 0 {
		return screen.New(r.summary.Cols, r.summary.Rows), nil
	}
	last := max(0, sort.Search(len(r.streams), func(i int) bool { return r.startOf(i) > at })-1)
	t, err := r.beginning(last)
	if err == nil {
		err = r.replay(t, last, at)
	}
	return t, err
}

// FrameAt returns the terminal as it was after so many bytes of output, before the events that follow, and the time of the last
// event before. It saves screens like [Reader.Frame].
func (r *Reader) FrameAt(offset uint64) (t *screen.Terminal, at time.Duration, err error) {
	if offset > r.summary.Output {
		return nil, 0, fmt.Errorf("recording %s has %d bytes of output, and not %d", r.summary.ID, r.summary.Output, offset)
	}
	if offset == 0 || len(r.streams) == 0 {
		return screen.New(r.summary.Cols, r.summary.Rows), 0, nil
	}
	last := max(0, sort.Search(len(r.streams), func(i int) bool { return r.frames[r.streams[i]].offset >= offset })-1)
	if t, err = r.beginning(last); err != nil {
		return nil, 0, err
	}
	at = r.startOf(last)
	r.segment(last, func(e Event, failed error) bool {
		if err = failed; err != nil || e.Offset >= offset {
			return false
		}
		if e.Code == Output {
			e.Data = e.Data[:min(uint64(len(e.Data)), offset-e.Offset)]
		}
		Apply(t, e)
		at = e.At
		return true
	})
	return t, at, err
}

// beginning returns the terminal where a stream begins, and saves the screens that are made on the way.
func (r *Reader) beginning(last int) (*screen.Terminal, error) {
	t, from := r.savedBefore(last)
	var made []madeScreen
	for i := from; i <= last; i++ {
		if i > from {
			made = append(made, r.made(t, i))
		}
		if len(made) == maxMade || i == last {
			_ = r.saveScreens(made)
			made = made[:0]
		}
		if i == last {
			break
		}
		if err := r.replay(t, i, math.MaxInt64); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// made is the screen at the beginning of a stream.
func (r *Reader) made(t *screen.Terminal, stream int) madeScreen {
	cols, rows := t.Size()
	return madeScreen{r.frames[r.streams[stream]].body, cols, rows, t.Dump()}
}

// replay applies the events of a stream to a terminal, up to a time.
func (r *Reader) replay(t *screen.Terminal, stream int, until time.Duration) (failed error) {
	r.segment(stream, func(e Event, err error) bool {
		if failed = err; err != nil || e.At > until {
			return false
		}
		Apply(t, e)
		return true
	})
	return failed
}

// Keeper saves the screens of a recording while that is written. It is not safe for concurrent use.
type Keeper struct {
	r *Reader
	// t is the terminal where a stream begins.
	t      *screen.Terminal
	stream int
}

// Keep begins to save the screens of a recording.
func Keep(path string) (*Keeper, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	return &Keeper{r: r, t: screen.New(r.summary.Cols, r.summary.Rows)}, nil
}

// Step replays the next compressed stream, if that is complete, and saves the screen at its end. It reports whether it did. A
// screen that cannot be saved is left to the next reader.
func (k *Keeper) Step() (more bool, err error) {
	if k.stream+1 >= len(k.r.streams) {
		if err := k.r.Refresh(); err != nil || k.stream+1 >= len(k.r.streams) {
			return false, err
		}
	}
	if err := k.r.replay(k.t, k.stream, k.r.summary.Duration); err != nil {
		return false, err
	}
	k.stream++
	_ = k.r.saveScreens([]madeScreen{k.r.made(k.t, k.stream)})
	return true, nil
}

// Close ends that.
func (k *Keeper) Close() error { return k.r.Close() }

// Apply applies an event to a terminal.
func Apply(t *screen.Terminal, e Event) {
	switch e.Code {
	case Output:
		_, _ = t.Write(e.Data)
	case Resize:
		var cols, rows int
		if _, err := fmt.Sscanf(string(e.Data), "%dx%d", &cols, &rows); err == nil {
			t.Resize(cols, rows)
		}
	}
}

// startOf is when a compressed stream begins, and framesOf are its frames.
func (r *Reader) startOf(stream int) time.Duration {
	if at := r.streams[stream]; at > 0 {
		return r.frames[at-1].at
	}
	return 0
}

func (r *Reader) framesOf(stream int) []frame {
	end := len(r.frames)
	if stream+1 < len(r.streams) {
		end = r.streams[stream+1]
	}
	return r.frames[r.streams[stream]:end]
}
