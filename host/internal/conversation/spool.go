package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"tidemark.dev/tidemark/host/internal/redact"
)

// MaxSpool bounds the spool in bytes.
const MaxSpool = 1 << 20

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
	f, err := os.OpenFile(p.Path, os.O_CREATE|os.O_RDWR|os.O_APPEND|nonblock, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file. Remove it.", p.Path)
	case info.Size()+int64(len(line)) > MaxSpool:
		return errFull
	}
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Truncate(info.Size()))
	}
	return nil
}

// take returns the events of the spool and, after done was called, empties it.
func (p *Spool) take(each func(Event)) (damaged int, err error) {
	if info, err := os.Lstat(p.Path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return 0, nil
	}
	unlock, err := p.Lock(context.Background())
	if err != nil {
		return 0, err
	}
	defer unlock()
	f, err := os.OpenFile(p.Path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return 0, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSpool+1))
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
		_, e.Nonce, _ = strings.Cut(n.id, ":")
		each(e)
	}
	return damaged, os.Remove(p.Path)
}

// Drain records what hooks reported while no daemon ran.
func (s *Store) Drain() {
	if s.failed != nil || s.o.Spool == nil {
		return
	}
	damaged, err := s.o.Spool.take(func(e Event) {
		if err := s.record(&e); err != nil {
			s.o.Log.Info("an event of the spool was not recorded", "error", err)
		}
	})
	if err != nil || damaged > 0 {
		s.o.Log.Warn("the spool of hooks was not read completely", "damaged", damaged, "error", err)
	}
}
