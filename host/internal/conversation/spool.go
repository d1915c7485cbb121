package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/installer/safefile"
)

// MaxSpool bounds the spool in bytes. What finds it full is counted there, in at most maxLost more bytes.
const (
	MaxSpool = 1 << 20
	maxLost  = 64 << 10
)

// SpoolName is the name of the spool in the directory of recordings.
const SpoolName = "hooks.spool"

// Spool is the file of events that hooks could not send. The next daemon reads it. Its lines are those of a conversation.
type Spool struct {
	Path string
	// Lock keeps other processes out until the returned function is called.
	Lock func(context.Context) (unlock func(), err error)
}

var errFull = errors.New("the spool is full: no daemon has read it")

// Add adds an event whose directory the user allows. Secrets in it are masked first.
func (p *Spool) Add(ctx context.Context, e Event, r *redact.Redactor) error {
	e.Clean(r)
	e.identify()
	line, err := e.line()
	if err != nil {
		return err
	}
	unlock, err := p.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := safefile.Own(p.Path, os.O_CREATE|os.O_RDWR|os.O_APPEND)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size()+int64(len(line)) > MaxSpool {
		return errors.Join(errFull, p.lose(f, info.Size(), e))
	}
	return appendTo(f, info.Size(), line)
}

// lose notes that an event of a conversation is missing.
func (p *Spool) lose(f *os.File, size int64, e Event) error {
	note := Event{Kind: lost, At: e.At, Agent: e.Agent, Session: e.Session, Dir: e.Dir}
	note.identify()
	line, err := note.line()
	if err != nil || max(size, MaxSpool)+int64(len(line)) > MaxSpool+maxLost {
		return err
	}
	return appendTo(f, size, line)
}

// appendTo writes a whole line at the end of a file, or nothing.
func appendTo(f *os.File, size int64, line []byte) error {
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	return nil
}

// take moves the spool away, so that no hook waits, and calls each with its events. Then it removes what it moved, unless each
// failed. What was left of an earlier call is taken first.
func (p *Spool) take(each func(Event) error) (damaged int, err error) {
	taken := p.Path + ".taken"
	for range 2 {
		if info, err := os.Lstat(taken); err == nil && info.Mode().IsRegular() {
			n, err := readSpool(taken, each)
			if damaged += n; err != nil {
				return damaged, err
			}
			if err := os.Remove(taken); err != nil {
				return damaged, err
			}
		}
		if !p.exists() {
			return damaged, nil
		}
		unlock, err := p.Lock(context.Background())
		if err != nil {
			return damaged, err
		}
		err = os.Rename(p.Path, taken)
		unlock()
		if err != nil {
			return damaged, err
		}
	}
	n, err := readSpool(taken, each)
	if err == nil {
		err = os.Remove(taken)
	}
	return damaged + n, err
}

// exists reports whether there is a spool.
func (p *Spool) exists() bool {
	info, err := os.Lstat(p.Path)
	return err == nil && info.Mode().IsRegular()
}

func readSpool(path string, each func(Event) error) (damaged int, err error) {
	f, _, err := safefile.Open(path)
	if err != nil {
		return 0, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSpool+maxLost))
	_ = f.Close()
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(data) {
		n, ok := parseLine(bytes.TrimSuffix(line, []byte("\n")))
		var e Event
		if !ok || json.Unmarshal(n.data, &e) != nil {
			damaged++
			continue
		}
		e.ID = string(n.id) // of its text as it was masked first: a masked text can be masked further
		if err := each(e); err != nil {
			return damaged, err
		}
	}
	return damaged, nil
}

// Drain records what hooks reported while no daemon ran.
func (s *Store) Drain() {
	if s.failed != nil || s.o.Spool == nil {
		return
	}
	s.draining.Lock()
	defer s.draining.Unlock()
	var late []Event
	damaged, err := s.o.Spool.take(func(e Event) error {
		moment, at := e.Moment, e.At
		added, err := s.record(&e)
		if added && len(moment) > 0 && s.o.Late != nil {
			late = append(late, Event{Moment: moment, At: at})
		}
		if errors.Is(err, errStopping) {
			return err
		}
		if err != nil {
			s.o.Log.Info("an event of the spool was not recorded", "error", err)
		}
		return nil
	})
	for _, e := range late {
		s.o.Late(e.Moment, time.UnixMilli(e.At))
	}
	if err != nil && !errors.Is(err, errStopping) || damaged > 0 {
		s.o.Log.Warn("the spool of hooks was not read completely", "damaged", damaged, "error", err)
	}
}

// drainSoon is [Store.Drain], without a wait.
func (s *Store) drainSoon() {
	if s.o.Spool == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && !s.drains {
		s.drains = true
		s.reading.Go(func() {
			s.Drain()
			s.mu.Lock()
			s.drains = false
			s.mu.Unlock()
		})
	}
}
