package conversation

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Settings are the user's limits of stored conversations, the section [recordings] of config.toml.
type Settings struct {
	// Days is after how many days without an event a conversation is deleted. 0 means 7.
	Days float64 `toml:"days"`
	// MiB is what all conversations may take on disk. 0 means 1024.
	MiB int64 `toml:"mib"`
}

// Check returns an error for a setting that is out of range.
func (s Settings) Check() error {
	if s.Days < 0 || s.Days > 3650 || s.MiB < 0 || s.MiB > 1<<20 {
		return errors.New("days must be from 0 to 3650, and mib from 0 to 1048576")
	}
	return nil
}

func (s Settings) age() time.Duration {
	return time.Duration(cmp.Or(s.Days, 7) * 24 * float64(time.Hour))
}

func (s Settings) bytes() int64 { return cmp.Or(s.MiB, 1024) << 20 }

// Options configure [Open].
type Options struct {
	// Dir is the directory of the files.
	Dir string
	// Root returns the workspace that a directory is in, or an error where the user does not allow these grants.
	Root func(dir string, needed ...string) (string, error)
	// Decided returns the user's decision about a path, which need not exist.
	Decided func(path string) grants.Decision
	// Formerly returns the directories in which workspaces at or below a directory were before they were moved. It may be nil.
	Formerly func(dir string) []string
	Redactor *redact.Redactor
	Settings Settings
	// Spool is the file of what hooks reported while no daemon ran.
	Spool *Spool
	// Late gets the moments of events in the spool that were not recorded, in their order, with the times of the events. It may be
	// nil.
	Late  func(moment json.RawMessage, at time.Time)
	Clock func() time.Time
	// Age tells how old a conversation is. Nil is [retention.Never].
	Age retention.Age
	Log *slog.Logger
}

// Store has the conversations on disk. It is safe for concurrent use.
type Store struct {
	o Options
	// failed is why nothing can be recorded, nil in the usual case.
	failed error
	// reading are the transcripts that are being read.
	reading sync.WaitGroup
	life    context.Context
	end     context.CancelFunc
	// draining is locked while the spool is read.
	draining sync.Mutex

	mu    sync.Mutex
	files map[string]*file // by their recording's ID
	// folded are those with a folder, the last used one at the end.
	folded []*file
	// pruned is when old conversations were deleted last.
	pruned time.Time
	// drains is true while the spool is read later.
	drains, closed bool
}

// file is one conversation.
type file struct {
	id, path string

	mu   sync.Mutex
	head head
	// failed is why it cannot be read.
	failed error
	// fresh is true until the file is created.
	fresh bool
	// out is open while there are events, nil before.
	out           *os.File
	read          bool
	size          int64
	first, last   int64
	prompts, runs int // calls
	damaged       int
	cut           bool // [Info.Cut]
	// known are the events by ID. It is nil for a file that was only listed.
	known map[string]source
	// sources is true where known has them: a list needs none.
	sources bool
	// offsets are how far transcripts were read, by path.
	offsets map[string]int64
	// left is how much of transcripts was left for the next reading, in bytes, by path.
	left map[string]int64
	// transcripts are their paths, in the order in which hooks named them.
	transcripts []string
	// seen is the path at which the agent sees its workspace, "" for the workspace's own one.
	seen string
	// forked is when the session began as a fork of another one, 0 for any other.
	forked int64
	// folder has the events, nil where nobody needs it.
	folder *folder
	// outline is made of folder, nil after another event.
	outline *Outline
	removed bool

	// turn is occupied while transcripts are read.
	turn sync.Mutex
}

// source is where an event is from.
type source struct {
	// transcript is true for an event that only a transcript has. Open is true for a result whose outcome is not known, untimed for
	// one whose duration is not.
	transcript, open, untimed bool
	// withheld is [Event.Withheld].
	withheld bool
}

// Open opens the conversations of a directory, and creates it.
func Open(o Options) (*Store, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the directory of recorded conversations: %w", err)
	}
	if o.Age == nil {
		o.Age = retention.Never
	}
	s := &Store{o: o, files: map[string]*file{}}
	s.life, s.end = context.WithCancel(context.Background())
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot list the recorded conversations: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok {
			continue
		}
		path := filepath.Join(o.Dir, e.Name())
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() == 0 && os.Remove(path) == nil {
			continue // a crash at its creation
		}
		s.files[id] = &file{id: id, path: path}
	}
	s.prune(o.Age, o.Settings)
	s.drainSoon()
	return s, nil
}

// Broken returns a store that records nothing and answers every call with an error.
func Broken(err error) *Store { return &Store{failed: err} }

// Close ends the store, with everything on disk.
func (s *Store) Close() {
	if s.failed != nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	files := s.all()
	s.mu.Unlock()
	s.end()
	s.reading.Wait()
	for _, f := range files {
		f.mu.Lock()
		if f.out != nil {
			_ = f.out.Close()
			f.out = nil
		}
		f.mu.Unlock()
	}
}

// all returns the files by their ID. The caller has the lock.
func (s *Store) all() []*file {
	var list []*file
	for _, f := range s.files {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *file) int { return cmp.Compare(a.id, b.id) })
	return list
}

// recordingID names the recording of an agent's session.
func recordingID(agent, session string) string {
	sum := sha256.Sum256([]byte(agent + "\x00" + session))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(agent))
	return cmp.Or(name[:min(len(name), 20)], "agent") + "-" + hex.EncodeToString(sum[:5])
}

var (
	errRemoved  = errors.New("the recording was removed")
	errStopping = errors.New("the daemon is stopping")
)

// Record records an event of an agent. It returns after the event is on disk.
func (s *Store) Record(e Event) error {
	if s.failed != nil {
		return s.failed
	}
	if s.o.Spool != nil && s.o.Spool.exists() {
		s.drainSoon()
	}
	_, err := s.record(&e)
	return err
}

// NotAllowed is what became of an event in a directory without the grant.
const NotAllowed = "the user does not allow recordings here"

// Hook is [Store.Record] for a hook: it returns what became of the event. It never fails, because an agent must not notice
// what prevents the recording.
func (s *Store) Hook(e Event) string {
	err := s.Record(e)
	switch {
	case err == nil:
		return "the conversation was recorded as " + recordingID(e.Agent, e.Session)
	case usererr.CodeOf(err) == usererr.NotAllowed:
		return NotAllowed
	case s.failed == nil:
		s.o.Log.Warn("cannot record an agent's conversation", "directory", e.Dir, "error", err)
	}
	return "the conversation was not recorded: " + err.Error()
}

// record adds an event to its conversation. It returns false for one that is known.
func (s *Store) record(e *Event) (added bool, err error) {
	if e.Session == "" || e.Agent == "" || e.Dir == "" {
		return false, errors.New("the event names no agent, session or directory")
	}
	root, err := s.o.Root(e.Dir, grants.Conversation)
	if err != nil {
		return false, err
	}
	e.Moment = nil
	if now := s.o.Clock().UnixMilli(); e.At <= 0 || e.At > now {
		e.At = now
	}
	if resolved, err := grants.Resolve(e.Dir); err == nil {
		e.Dir = resolved
	}
	e.Withhold(s.o.Decided)
	e.Clean(s.o.Redactor)
	e.identify()
	f, err := s.fileOf(e, root)
	if err != nil {
		return false, err
	}
	added, err = s.add(f, e)
	if errors.Is(err, errRemoved) {
		if f, err = s.fileOf(e, root); err == nil {
			added, err = s.add(f, e)
		}
	}
	if err == nil && added && quiet[e.Kind] {
		s.readLater(f)
	}
	return added, err
}

// quiet are the kinds of events after which an agent has written its transcript.
var quiet = map[Kind]bool{SessionStart: true, Prompt: true, Stop: true, SubagentStop: true, SessionEnd: true, Compact: true}

// fileOf returns the file of an event's conversation.
func (s *Store) fileOf(e *Event, root string) (*file, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errStopping
	}
	id := recordingID(e.Agent, e.Session)
	f := s.files[id]
	if f == nil {
		f = &file{id: id, path: filepath.Join(s.o.Dir, id+suffix), fresh: true, head: head{Format: format, Agent: e.Agent, Session: e.Session, Workspace: root, Started: e.At}}
		s.files[id] = f
	}
	return f, nil
}

// add adds an event to a file. It returns false for one that is known.
func (s *Store) add(f *file, e *Event) (bool, error) {
	if err := s.room(f); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.removed {
		return false, errRemoved
	}
	if err := f.open(); err != nil {
		return false, err
	}
	return f.append(e)
}

// open makes a file ready for events. The caller has its lock.
func (f *file) open() (err error) {
	if f.known == nil || !f.sources {
		f.read, f.sources = false, true
	}
	if err := f.load(); err != nil || f.out != nil {
		return err
	}
	if !f.fresh {
		f.out, err = extend(f.path, f.size)
		return err
	}
	if f.out, err = create(f.path, f.head); err != nil {
		return err
	}
	f.fresh = false
	info, err := f.out.Stat()
	if err == nil {
		f.size = info.Size()
	}
	return err
}

// load reads what a file has, once. The caller has its lock.
func (f *file) load() error {
	if f.read {
		return f.failed
	}
	f.read, f.known, f.offsets = true, map[string]source{}, map[string]int64{}
	f.first, f.last, f.prompts, f.runs, f.transcripts = 0, 0, 0, 0, nil
	if f.fresh {
		return nil
	}
	listed := tally{file: f}
	f.head, f.size, f.damaged, f.failed = readFile(f.path, func(n entry) {
		if !f.sources {
			listed.add(n)
			return
		}
		has := func(field string) bool { return bytes.Contains(n.data, []byte(field)) }
		from := source{has(`"source":"transcript"`), !has(`"outcome":"`), !has(`"duration_ms":`), has(`"withheld":true`)}
		f.note(n.kind, n.at, string(n.id), from, n.transcripts())
	})
	if info, err := os.Lstat(f.path); err == nil {
		f.cut = info.Size() > f.size
	}
	return f.failed
}

// note adds an event to the figures of a file.
func (f *file) note(kind Kind, at int64, id string, from source, e *Event) {
	was, known := f.known[id]
	switch {
	case known:
		from = source{from.transcript && was.transcript, from.open && was.open, from.untimed && was.untimed, from.withheld || was.withheld}
	case kind == Prompt:
		f.prompts++
	case kind == Call && loose(id[2:]) != "": // its result counts
	case kind == Result, kind == Call:
		if _, other := f.known[otherID(kind, id)]; !other {
			f.runs++
		}
	}
	f.known[id] = from
	f.noteAll(kind, at, e)
}

// noteAll adds to the figures of a file what each event has.
func (f *file) noteAll(kind Kind, at int64, e *Event) {
	if kind != synced {
		if f.first == 0 || at < f.first {
			f.first = at
		}
		f.last = max(f.last, at)
	}
	if e != nil && e.Read != nil {
		f.offsets[e.Read.Path] = e.Read.Offset
	}
	if e != nil && e.Transcript != "" && !slices.Contains(f.transcripts, e.Transcript) {
		f.transcripts = append(f.transcripts, e.Transcript)
	}
	if e != nil && e.Seen != "" {
		f.seen = e.Seen
	}
	if e != nil && e.Kind == SessionStart && e.Text == fork {
		f.forked = e.At
	}
}

// fork is what Claude Code and Codex name as the source of a session that continues a copy of another one.
const fork = "fork"

// tally is [file.note] for a list, which needs no source of an event: it keeps hashes alone.
type tally struct {
	file *file
	seed maphash.Seed
	seen map[uint64]struct{}
}

// usual is for how many events there is room at once.
const usual = 1 << 14

func (t *tally) add(n entry) {
	if t.seen == nil {
		t.seed, t.seen = maphash.MakeSeed(), make(map[uint64]struct{}, usual)
	}
	t.file.noteAll(n.kind, n.at, n.transcripts())
	id, count := n.id, &t.file.prompts
	switch {
	case n.kind == Prompt:
	case n.kind != Call && n.kind != Result, n.kind == Call && bytes.HasPrefix(id[2:], []byte(looseMark)):
		return
	default:
		id, count = id[2:], &t.file.runs // the same for a call and its result
	}
	h := maphash.Bytes(t.seed, id)
	if _, known := t.seen[h]; !known {
		t.seen[h] = struct{}{}
		*count++
	}
}

// transcripts returns the event of a line that may name a transcript, nil for another.
func (n entry) transcripts() *Event {
	if n.kind == Call || n.kind == Result || !bytes.Contains(n.data, []byte(`"transcript":`)) && !bytes.Contains(n.data, []byte(`"read":`)) {
		return nil
	}
	e, _ := n.event()
	return e
}

// otherID returns the ID of a call's other event: of its result for its call, and the reverse.
func otherID(kind Kind, id string) string {
	if kind == Call {
		return string(Result) + id[1:]
	}
	return string(Call) + id[1:]
}

// append adds an event to an open file. The caller has its lock.
func (f *file) append(e *Event) (bool, error) {
	other := f.known[otherID(e.Kind, e.ID)]
	if e.Kind == Result && other.withheld && !e.Withheld {
		e.withhold()
	}
	from := source{e.Source == FromTranscript, e.Outcome == "", e.DurationMs == 0, e.Withheld}
	if was, known := f.known[e.ID]; known {
		switch {
		case (was.open && !from.open || was.untimed && !from.untimed) && from.transcript && e.Kind == Result:
			e.Input, e.Output = nil, nil // the outcome or the duration is missing alone
		case from.transcript || !was.transcript:
			return false, nil
		}
	}
	if _, called := f.known[otherID(e.Kind, e.ID)]; e.Kind == Result && called {
		e.Input = nil // the call has it
	}
	line, err := e.line()
	if err != nil {
		return false, err
	}
	if _, err = f.out.Write(line); err == nil && e.Source != FromTranscript { // [partReader.merge]
		err = f.out.Sync()
	}
	if err != nil {
		_ = os.Truncate(f.path, f.size) // a part of the line
		return false, fmt.Errorf("cannot record the conversation: %w", err)
	}
	f.size += int64(len(line))
	f.note(e.Kind, e.At, e.ID, from, e)
	if f.folder != nil {
		f.folder.add(e)
		f.outline = nil
	}
	return true, nil
}
