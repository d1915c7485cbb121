package conversation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/installer/safefile"
)

// maxPart bounds what is read of a transcript at once, in bytes. A longer part is read in several steps.
const maxPart = 32 << 20

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
		s.reading.Go(func() { s.readTranscripts(f) })
	}
}

// readTranscripts reads what is new in the transcripts of a conversation.
func (s *Store) readTranscripts(f *file) {
	f.turn.Lock()
	defer f.turn.Unlock()
	f.mu.Lock()
	parse := parsers[f.head.Agent]
	paths := slices.Clone(f.transcripts)
	f.mu.Unlock()
	if parse == nil {
		return
	}
	for _, path := range paths {
		for more := true; more && s.life.Err() == nil; {
			var err error
			if more, err = s.readPart(f, path, parse); err != nil {
				if !errors.Is(err, fs.ErrNotExist) { // agents delete old ones
					s.o.Log.Info("cannot read an agent's transcript", "recording", f.id, "error", err)
				}
				break
			}
		}
	}
}

// readPart reads a part of a transcript from where the last one ended. More is true if there is another part.
func (s *Store) readPart(f *file, path string, parse parser) (more bool, err error) {
	file, size, err := openTranscript(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	f.mu.Lock()
	offset := f.offsets[path]
	f.mu.Unlock()
	if size < offset { // it was replaced
		offset = 0
	}
	part := min(size-offset, maxPart)
	if part == 0 {
		return false, nil
	}
	r := Read{Path: path}
	allowed := s.allowing()
	end, long, err := readLines(io.NewSectionReader(file, offset, part), func(_ bool, line []byte) bool {
		r.Lines++
		events, known, err := parse(line)
		if err != nil {
			return false
		}
		if !known {
			r.Unknown++
		}
		for i := range events {
			s.merge(f, &events[i], &r, allowed)
		}
		return true
	})
	if err != nil {
		return false, err
	}
	if r.Damaged = long; end == 0 && part == maxPart { // a line without an end
		end, r.Damaged = part, r.Damaged+1
	}
	if end == 0 {
		return false, nil // the last line is still being written
	}
	r.Offset = offset + end
	_, err = s.add(f, &Event{ID: string(synced) + ":" + Fresh(), Kind: synced, At: s.o.Clock().UnixMilli(), Agent: f.head.Agent, Session: f.head.Session, Read: &r})
	return err == nil && r.Offset < size && part == maxPart, err
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

// allowing returns what reports whether the user allows an event of a directory. It asks once for each directory.
func (s *Store) allowing() func(dir string) bool {
	answers := map[string]bool{}
	return func(dir string) bool {
		answer, ok := answers[dir]
		if !ok {
			_, err := s.o.Root(dir, grants.Conversation)
			answer = err == nil
			answers[dir] = answer
		}
		return answer
	}
}

// merge adds an event of a transcript, if no hook reported it. What was before the recording began is left out.
func (s *Store) merge(f *file, e *Event, r *Read, allowed func(string) bool) {
	if e.Dir == "" {
		e.Dir = f.head.Workspace
	}
	if e.At < f.head.Started-early.Milliseconds() || !allowed(e.Dir) {
		return
	}
	e.Agent, e.Session, e.Source = f.head.Agent, f.head.Session, FromTranscript
	e.Describe()
	e.Trim()
	e.Clean(s.o.Redactor)
	e.identify()
	added, err := s.add(f, e)
	switch {
	case err != nil:
		s.o.Log.Warn("cannot record an event of a transcript", "recording", f.id, "error", err)
	case added:
		r.Added++
	case e.Kind == Call || e.Kind == Result:
		if !slices.Contains(r.Seen, e.Call) {
			r.Seen = append(r.Seen, e.Call)
		}
	}
}

// early is how long before its first hook an agent may write the line of the same event.
const early = 5 * time.Second
