package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
)

// What a long conversation promises.
const (
	conversationCalls = 10_000
	// budgetRecordings is the time of the list, with a daemon that has just started too.
	budgetRecordings = 50 * time.Millisecond
	// listOverRead is how many times as long the list may take as reading the file and its checksums.
	listOverRead = 3
)

// conversation measures the list of recordings where one has a long conversation.
func (r *run) conversation() (err error) {
	dir, err := os.MkdirTemp("", "tmb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	now := time.Now()
	options := conversation.Options{
		Dir: filepath.Join(dir, "recordings"), Redactor: redact.Default(), Clock: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		Decided: func(string) grants.Decision { return grants.Decision{State: grants.Allowed} },
		Root:    func(string, ...string) (string, error) { return dir, nil },
	}
	s, err := conversation.Open(options)
	if err != nil {
		return err
	}
	n := r.third(conversationCalls)
	if err := longConversation(s, dir, n, func() { now = now.Add(time.Second) }); err != nil {
		return err
	}
	list := func(s *conversation.Store) {
		a, lerr := s.List(context.Background(), &checkpoint.Client{User: true}, conversation.ListParams{})
		if lerr != nil || len(a.Recordings) != 1 || a.Recordings[0].Calls != n {
			err = errors.Join(err, fmt.Errorf("the list is %+v: %w", a, lerr))
		}
	}
	var warm, cold []time.Duration
	for range r.third(60) {
		took, _ := timed(func() error { list(s); return nil })
		warm = append(warm, took)
	}
	s.Close()
	files, globErr := filepath.Glob(filepath.Join(options.Dir, "*.conversation"))
	if err = errors.Join(err, globErr); err != nil || len(files) != 1 {
		return fmt.Errorf("there are %d files: %w", len(files), err)
	}
	open := func() {
		s, oerr := conversation.Open(options)
		if err = errors.Join(err, oerr); oerr == nil {
			list(s)
			s.Close()
		}
	}
	for range r.third(30) {
		took, _ := timed(func() error { open(); return nil })
		cold = append(cold, took)
	}
	info, statErr := os.Stat(files[0])
	if err = errors.Join(err, statErr); err != nil {
		return err
	}
	t := r.sheet(fmt.Sprintf("A recorded conversation of %d calls, %s", n, mib(info.Size())))
	t.within("the list, p95", quantile(warm, .95), budgetRecordings, r.byLoop(), "")
	t.within("the list after a start of the daemon, p95", quantile(cold, .95), budgetRecordings, r.byLoop(), "")
	t.beside("the same / reading the file with checksums", r.third(30), listOverRead, open, func() { err = errors.Join(err, checksums(files[0])) })
	return errors.Join(err, t.print())
}

// longConversation records a session of Claude Code with a prompt for every 50 calls, half of which edit files.
func longConversation(s *conversation.Store, dir string, n int, tick func()) error {
	body := strings.Repeat("// a line of code\n", 20)
	record := func(e conversation.Event) error {
		tick()
		e.Agent, e.Session, e.Dir = "claude", "long", dir
		e.Describe()
		return s.Record(e)
	}
	for i := range n {
		turn := fmt.Sprintf("p%d", i/50)
		if i%50 == 0 {
			progress("conversation: %d of %d calls …", i, n)
			if err := record(conversation.Event{Kind: conversation.Prompt, Turn: turn, Text: fmt.Sprintf("prompt %d", i/50)}); err != nil {
				return err
			}
		}
		tool, input := "Bash", map[string]string{"command": fmt.Sprintf("npm test -- %d", i)}
		if i%2 == 0 {
			tool, input = "Edit", map[string]string{"file_path": filepath.Join(dir, fmt.Sprintf("src/f%d.ts", i%200)), "old_string": "a", "new_string": body}
		}
		data, err := json.Marshal(input)
		if err != nil {
			return err
		}
		// The hook after a call has both its input and its result.
		if err := record(conversation.Event{Kind: conversation.Result, Turn: turn, Call: fmt.Sprintf("toolu_%d", i), Tool: tool, Input: data, Output: json.RawMessage(`{"ok":true}`), Outcome: conversation.OK, DurationMs: 300}); err != nil {
			return err
		}
	}
	return nil
}

// checksums reads the lines of a file and their checksums.
func checksums(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	sum := uint32(0)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		sum ^= crc32.Checksum(lines.Bytes(), crc32.MakeTable(crc32.Castagnoli))
	}
	if sum == 0 {
		return errors.New("the file has no lines")
	}
	return lines.Err()
}
