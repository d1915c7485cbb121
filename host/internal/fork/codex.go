package fork

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/installer/safefile"
)

// Program is the agent's program.
type Program struct {
	// Line is its command line so far, with the path of the program. Env is its whole environment.
	Line, Env []string
}

// codexPatience bounds the requests to Codex. maxReply bounds one reply in bytes.
const (
	codexPatience = 30 * time.Second
	maxReply      = 256 << 20
)

// Codex has Codex fork a conversation up to a point, for the branch's directory. Codex keeps whole turns: the turn in which the
// point is belongs to the copy only if it ended there.
func Codex(ctx context.Context, p Point, place Place, program Program) (*Conversation, error) {
	if !uuidForm().MatchString(p.Session) || !strings.HasSuffix(p.Transcript, p.Session+".jsonl") || !filepath.IsAbs(p.Transcript) {
		return nil, unknown("the agent's hook did not name its transcript as Codex does")
	}
	home := p.Transcript
	for range 5 { // sessions/2026/11/25/rollout-….jsonl
		home = filepath.Dir(home)
	}
	if p.Turn == "" {
		return nil, unknown("the turn of the moment is not known, and Codex keeps whole turns")
	}
	program.Env = append(slices.Clone(program.Env), "CODEX_HOME="+home)
	ctx, cancel := context.WithTimeout(ctx, codexPatience)
	defer cancel()
	if err := canFork(ctx, program); err != nil {
		return nil, err
	}
	s, err := startCodex(ctx, program, place.To)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var read struct {
		Thread struct{ Turns []struct{ ID, Status string } }
	}
	if err := s.ask("thread/read", map[string]any{"threadId": p.Session, "includeTurns": true}, &read); err != nil {
		return nil, err
	}
	turns := read.Thread.Turns
	i := 0
	for i < len(turns) && turns[i].ID != p.Turn {
		i++
	}
	if i == len(turns) {
		return nil, unknown("Codex does not have the turn of the moment")
	}
	if !p.Ended {
		i--
	}
	if i < 0 {
		return nil, unknown("the moment is in the first turn of the conversation, and Codex keeps whole turns")
	}
	if turns[i].Status == "inProgress" {
		return nil, unknown("the turn of the moment still runs")
	}
	var forked struct {
		Thread struct{ ID, Path, Cwd string }
	}
	if err := s.ask("thread/fork", map[string]any{"threadId": p.Session, "lastTurnId": turns[i].ID, "cwd": place.To}, &forked); err != nil {
		return nil, err
	}
	c := &Conversation{Method: ByAgent, Session: forked.Thread.ID, Path: forked.Thread.Path, Dir: place.To, Home: home, Messages: i + 1}
	if !uuidForm().MatchString(c.Session) || c.Session == p.Session {
		return nil, unknown("Codex answered without a new conversation")
	}
	if rel, err := filepath.Rel(home, c.Path); err != nil || !filepath.IsLocal(rel) {
		c.Path = "" // not a file that may be removed
	}
	if place.Leaves != nil {
		if err := place.Leaves(c.Path); err != nil {
			return nil, err
		}
	}
	if !p.Ended && !p.Asking {
		c.Cut = "turn"
		c.Note = "Codex keeps whole turns, so the conversation ends before the turn of the moment"
	}
	return c, nil
}

// canFork returns an error unless the installed version forks conversations up to a turn, by the schema that it prints.
func canFork(ctx context.Context, program Program) error {
	dir, err := os.MkdirTemp("", "tidemark-codex-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.CommandContext(ctx, program.Line[0], slices.Concat(program.Line[1:], []string{"app-server", "generate-json-schema", "--out", dir})...)
	cmd.Env, cmd.WaitDelay = program.Env, time.Second
	if err := cmd.Run(); err != nil {
		return unknown("the installed Codex does not print the schema of its app server: %v", err)
	}
	for name, fields := range map[string][]string{"ThreadForkParams": {"threadId", "lastTurnId", "cwd"}, "ThreadReadParams": {"threadId", "includeTurns"}} {
		data, err := safefile.Read(filepath.Join(dir, "v2", name+".json"), 4<<20)
		if err != nil {
			return unknown("the installed Codex cannot fork a conversation: its app server has no %s", name)
		}
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		}
		if err := json.Unmarshal(data, &schema); err != nil {
			return unknown("the schema of Codex's app server cannot be read: %v", err)
		}
		for _, field := range fields {
			if schema.Properties[field] == nil {
				return unknown("the installed Codex cannot fork a conversation up to a turn: %s has no %s", name, field)
			}
		}
		for _, field := range schema.Required {
			if !slices.Contains(fields, field) {
				return unknown("the installed Codex wants %s in %s, which is not known", field, name)
			}
		}
	}
	return nil
}

// codexServer is Codex's app server: one JSON object a line in both directions.
type codexServer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	id  int
}

func startCodex(ctx context.Context, program Program, dir string) (*codexServer, error) {
	s := &codexServer{cmd: exec.CommandContext(ctx, program.Line[0], slices.Concat(program.Line[1:], []string{"app-server"})...)}
	s.cmd.Env, s.cmd.Dir, s.cmd.WaitDelay = program.Env, dir, time.Second
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start Codex's app server: %w", err)
	}
	s.out = bufio.NewScanner(out)
	s.out.Buffer(nil, maxReply)
	client := map[string]any{"clientInfo": map[string]any{"name": "tidemark", "title": "Tidemark", "version": "1"}}
	if err := s.ask("initialize", client, &struct{}{}); err != nil {
		s.close()
		return nil, err
	}
	return s, s.send(map[string]any{"method": "initialized"})
}

func (s *codexServer) send(message any) error {
	data, err := json.Marshal(message)
	if err == nil {
		_, err = s.in.Write(append(data, '\n'))
	}
	return err
}

// ask sends a request and reads its result. Notifications before it are ignored.
func (s *codexServer) ask(method string, params, result any) error {
	s.id++
	if err := s.send(map[string]any{"id": s.id, "method": method, "params": params}); err != nil {
		return fmt.Errorf("Codex's app server has ended: %w", err)
	}
	for s.out.Scan() {
		var reply struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(s.out.Bytes(), &reply) != nil || reply.Method != "" || string(reply.ID) != fmt.Sprint(s.id) {
			continue
		}
		if reply.Error != nil {
			return unknown("Codex refused %s: %s", method, reply.Error.Message)
		}
		return json.Unmarshal(reply.Result, result)
	}
	return errors.Join(errors.New("Codex's app server did not answer "+method), s.out.Err())
}

// close ends the server.
func (s *codexServer) close() {
	_ = s.in.Close()
	done := make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		_ = s.cmd.Process.Kill()
		<-done
	}
}
