package conversation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation/callpaths"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
	"tidemark.dev/tidemark/installer/safefile"
)

// maxPart bounds what is read of a transcript at once, in bytes. A longer part is read in several steps.
const maxPart = 32 << 20

// How many parts of each transcript are read by a caller that waits for them, and by nobody's wait. What is left is for the next
// reading: [SourceCoverage.Unread] has it.
const (
	partsNow   = 4
	partsLater = 32
)

// maxSeen bounds [Read.Seen], so that its line is not too long.
const maxSeen = 10_000

// A parser returns the events of a line of a transcript. Known is false for a line of an unknown type, and err is not nil
// for one that is no JSON of this form.
type parser func(line []byte) (events []Event, known bool, err error)

// parsers are those of agents whose transcripts are read.
var parsers = map[string]parser{"claude": parseClaude, "codex": parseCodex}

// readLater reads the transcripts of a conversation soon.
func (s *Store) readLater(f *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.reading.Go(func() {
			s.Drain() // what hooks reported while the daemon hung tells since when there is a recording
			s.readTranscripts(f, partsLater)
		})
	}
}

// readTranscripts reads what is new in the transcripts of a conversation, at most a number of parts of each.
func (s *Store) readTranscripts(f *file, parts int) {
	f.mu.Lock()
	parse := parsers[f.head.Agent]
	paths := slices.Clone(f.transcripts)
	f.mu.Unlock()
	if parse == nil {
		return
	}
	for _, path := range paths {
		for n := 0; n < parts && s.life.Err() == nil; n++ {
			more, err := s.readPart(f, path, parse)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // agents delete old ones
				s.o.Log.Info("cannot read an agent's transcript", "recording", f.id, "error", err)
			}
			if !more {
				break
			}
		}
	}
}

// readPart reads a part of a transcript from where the last one ended. More is true if there is another part.
func (s *Store) readPart(f *file, path string, parse parser) (more bool, err error) {
	f.turn.Lock()
	defer f.turn.Unlock()
	file, size, err := openTranscript(path)
	if err != nil {
		f.leave(path, 0)
		return false, err
	}
	defer func() { _ = file.Close() }()
	f.mu.Lock()
	offset, since := f.offsets[path], f.head.Started-early.Milliseconds()
	if f.first != 0 {
		since = min(since, f.first)
	}
	since = max(since, f.forked) // what was before is a copy of the original's
	var binds []ownpath.Bind
	if f.seen != "" {
		binds = []ownpath.Bind{{Dir: f.head.Workspace, At: f.seen}}
	}
	f.mu.Unlock()
	if size < offset { // it was replaced
		offset = 0
	}
	part := min(size-offset, maxPart)
	f.leave(path, size-offset) // others may show the conversation before this part is in it
	if part == 0 {
		return false, nil
	}
	p := &partReader{s: s, f: f, parse: parse, since: since, allowed: s.allowing(), binds: binds, seen: map[string]bool{}, read: Read{Path: path, Offset: offset}}
	if f.head.Agent == "codex" {
		p.sub = codexSub(path, f.head.Session)
	}
	end, err := p.lines(file, offset, part)
	if err != nil {
		return false, err
	}
	if end == 0 && part < maxPart {
		f.leave(path, 0)
		return false, nil // the last line is still being written
	}
	p.read.Offset = offset + end
	if err := p.sync(); err != nil {
		return false, err
	}
	f.leave(path, size-offset-part)
	return p.read.Offset < size && part == maxPart, nil
}

// leave notes how many bytes of a transcript are left for the next reading.
func (f *file) leave(path string, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left[path] == bytes {
		return
	}
	if f.left == nil {
		f.left = map[string]int64{}
	}
	f.left[path], f.outline = bytes, nil
}

// partReader reads a part of a transcript.
type partReader struct {
	s       *Store
	f       *file
	parse   parser
	sub     string // the subagent whose transcript it is
	since   int64  // what was before is left out
	allowed func(dir string, at int64) bool
	read    Read
	// binds say at which other path the agent sees its workspace, nil for none.
	binds []ownpath.Bind
	// seen has what read.Seen has had.
	seen map[string]bool
	// failed is why the first event that could not be recorded was not.
	failed error
}

// lines reads the whole lines of a part, and returns the end of the last one. A line that is longer than a part ends with the
// part: the rest of it is no line, whatever it looks like.
func (p *partReader) lines(file io.ReaderAt, offset, part int64) (end int64, err error) {
	r := io.NewSectionReader(file, offset, part)
	begun, err := p.restOfLine(file, offset, r)
	if err != nil {
		return 0, err
	}
	parsed, bad := 0, 0
	end, damaged, err := readLines(r, func(_ bool, line []byte) bool {
		parsed++
		ok := p.line(line)
		if !ok {
			bad++
		}
		return ok
	})
	if err != nil {
		return 0, err
	}
	p.read.Lines, p.read.Damaged = p.read.Lines+parsed+damaged-bad, p.read.Damaged+damaged
	if p.failed != nil {
		p.s.o.Log.Warn("cannot record events of a transcript", "recording", p.f.id, "error", p.failed)
	}
	switch {
	case end > 0 || begun > 0 && begun < part:
		return begun + end, nil
	case part < maxPart:
		return 0, nil
	case begun == 0:
		p.read.Lines, p.read.Damaged = p.read.Lines+1, p.read.Damaged+1
	}
	return part, nil
}

// restOfLine reads what a part has of a line that began before it, and returns how long that is.
func (p *partReader) restOfLine(file io.ReaderAt, offset int64, r *io.SectionReader) (int64, error) {
	last := []byte{'\n'}
	if offset > 0 {
		if _, err := file.ReadAt(last, offset-1); err != nil {
			return 0, err
		}
	}
	if last[0] == '\n' {
		return 0, nil
	}
	var length int64
	for buf := make([]byte, buffer); ; {
		n, err := r.Read(buf)
		if at := bytes.IndexByte(buf[:n], '\n'); at >= 0 {
			length += int64(at) + 1
			_, err := r.Seek(length, io.SeekStart)
			return length, err
		}
		length += int64(n)
		if errors.Is(err, io.EOF) {
			return length, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// line reads a line. It returns false for a damaged one.
func (p *partReader) line(line []byte) bool {
	events, known, err := p.parse(line)
	if err != nil {
		return false
	}
	if !known {
		p.read.Unknown++
	}
	for i := range events {
		events[i].Sub = cmp.Or(events[i].Sub, p.sub)
		p.merge(&events[i])
	}
	return true
}

// openTranscript opens the file that a hook named.
func openTranscript(path string) (*os.File, int64, error) {
	if !filepath.IsAbs(path) || !strings.HasSuffix(path, ".jsonl") {
		return nil, 0, fmt.Errorf("%q is not the absolute path of a transcript", path)
	}
	f, info, err := safefile.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// allowing returns what reports whether the user allows an event of a directory at a time, in milliseconds since 1970. It asks
// once for each directory.
func (s *Store) allowing() func(dir string, at int64) bool {
	since := map[string]int64{}
	return func(dir string, at int64) bool {
		from, ok := since[dir]
		if !ok {
			if _, err := s.o.Root(dir, grants.Conversation); err != nil {
				from = math.MaxInt64
			} else if given := s.o.Decided(dir).Since(grants.Conversation); !given.IsZero() {
				from = given.UnixMilli()
			}
			since[dir] = from
		}
		return at >= from
	}
}

// merge adds an event of a transcript, if no hook reported it. What was before the recording began is left out. It is on disk
// with the next [partReader.sync]: after a crash before that, the part is read again.
func (p *partReader) merge(e *Event) {
	if e.Dir == "" {
		e.Dir = p.f.head.Workspace
	}
	if p.binds != nil {
		outside := func(path string) string { return ownpath.Outside(p.binds, path) }
		e.Dir, e.Input = outside(e.Dir), callpaths.Move(e.Input, outside)
	}
	if e.Kind == Prompt && e.Sub != "" { // its agent wrote it
		return
	}
	if e.At < p.since || !p.allowed(e.Dir, e.At) {
		return
	}
	e.At = min(e.At, p.s.o.Clock().UnixMilli())
	e.Agent, e.Session, e.Source = p.f.head.Agent, p.f.head.Session, FromTranscript
	e.Describe()
	e.Trim()
	e.Withhold(p.s.o.Decided)
	e.Clean(p.s.o.Redactor)
	e.identify()
	added, err := p.s.add(p.f, e)
	switch {
	case err != nil:
		p.read.Damaged++
		p.failed = cmp.Or(p.failed, err)
	case added:
		p.read.Added++
	case (e.Kind == Call || e.Kind == Result) && !p.seen[e.Call]:
		p.seen[e.Call] = true
		if p.read.Seen = append(p.read.Seen, e.Call); len(p.read.Seen) == maxSeen {
			p.failed = cmp.Or(p.failed, p.sync())
		}
	}
}

// sync adds what was found since the last call.
func (p *partReader) sync() error {
	r := p.read
	p.read = Read{Path: r.Path, Offset: r.Offset}
	_, err := p.s.add(p.f, &Event{ID: string(synced) + ":" + Fresh(), Kind: synced, At: p.s.o.Clock().UnixMilli(), Agent: p.f.head.Agent, Session: p.f.head.Session, Read: &r})
	return err
}

// early is how long before its first hook an agent may write the line of the same event.
const early = 5 * time.Second
