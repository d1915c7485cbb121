package fork

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// opencodePatience bounds the requests to opencode, with the start of its server.
const opencodePatience = 90 * time.Second

// openSession is what opencode's IDs of sessions look like.
var openSession = lazyregexp.New(`^ses_[0-9A-Za-z]{1,64}$`)

// openEntry is a message of opencode: the user's, or a step of its agent.
type openEntry struct {
	Info struct {
		ID, Role string
		Time     struct{ Created, Completed float64 } // in milliseconds
	}
	Parts []struct {
		Type   string
		CallID string
		State  struct {
			Status string
			Time   struct{ End float64 }
		}
	}
}

// whole reports whether all calls of a message have ended.
func (e *openEntry) whole() bool {
	for _, p := range e.Parts {
		if p.Type == "tool" && p.State.Status != "completed" && p.State.Status != "error" {
			return false
		}
	}
	return e.Info.Role != "assistant" || e.Info.Time.Completed != 0
}

// OpenCode has opencode fork a conversation up to a point, for the branch's directory. It keeps whole steps: the model's message
// with all of its calls.
func OpenCode(ctx context.Context, p Point, place Place, program Program) (*Conversation, error) {
	if !openSession().MatchString(p.Session) {
		return nil, unknown("the agent's plugin did not name its session as opencode does")
	}
	ctx, cancel := context.WithTimeout(ctx, opencodePatience)
	defer cancel()
	s, err := startOpenCode(ctx, program, place.To)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.canFork(ctx); err != nil {
		return nil, err
	}
	var all []openEntry
	if err := s.ask(ctx, http.MethodGet, "/session/"+p.Session+"/message", nil, &all); err != nil {
		return nil, err
	}
	end, note := endOfOpen(all, p)
	if end == 0 {
		return nil, ErrEmpty
	}
	body := map[string]string{}
	if end < len(all) {
		body["messageID"] = all[end].Info.ID // which is left out
	}
	var made struct{ ID string }
	if err := s.ask(ctx, http.MethodPost, "/session/"+p.Session+"/fork", body, &made); err != nil {
		return nil, err
	}
	if !openSession().MatchString(made.ID) || made.ID == p.Session {
		return nil, unknown("opencode answered without a new session")
	}
	if err := s.move(ctx, made.ID, end, place, program); err != nil {
		return nil, errors.Join(err, s.ask(ctx, http.MethodDelete, "/session/"+made.ID, nil, nil))
	}
	c := &Conversation{Method: Forked, Session: made.ID, Dir: place.To, Messages: end, Note: note}
	if note != "" {
		c.Cut = "step"
	}
	return c, nil
}

// move makes a fork one of the branch's directory, with the paths of the branch. A fork belongs to the directory of the original,
// and only an import of opencode changes that.
func (s *openServer) move(ctx context.Context, session string, messages int, place Place, program Program) error {
	var whole struct {
		Info     json.RawMessage   `json:"info"`
		Messages []json.RawMessage `json:"messages"`
	}
	if place.Title != "" {
		if err := s.ask(ctx, http.MethodPatch, "/session/"+session, map[string]string{"title": place.Title}, nil); err != nil {
			return err
		}
	}
	err := errors.Join(s.ask(ctx, http.MethodGet, "/session/"+session, nil, &whole.Info), s.ask(ctx, http.MethodGet, "/session/"+session+"/message", nil, &whole.Messages))
	switch {
	case err != nil:
		return err
	case len(whole.Messages) != messages:
		return unknown("opencode copied %d messages of %d", len(whole.Messages), messages)
	}
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false) // else paths in <path>, as in opencode's results, would follow an escape
	if err := enc.Encode(whole); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tidemark-opencode-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "session.json")
	if err := os.WriteFile(file, place.withLinks(data.Bytes()).renamed(data.Bytes()), 0o600); err != nil {
		return err
	}
	if err := s.ask(ctx, http.MethodDelete, "/session/"+session, nil, nil); err != nil { // an import keeps what is there
		return err
	}
	cmd := exec.CommandContext(ctx, program.Line[0], slices.Concat(program.Line[1:], []string{"import", "--pure", file})...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = append(slices.Clone(program.Env), "PWD="+s.dir), s.dir, time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return unknown("opencode cannot import the fork: %v: %.200s", err, out)
	}
	var moved struct{ Directory string }
	var there []json.RawMessage
	err = errors.Join(s.ask(ctx, http.MethodGet, "/session/"+session, nil, &moved), s.ask(ctx, http.MethodGet, "/session/"+session+"/message", nil, &there))
	if err == nil && (moved.Directory != place.To || len(there) != messages) {
		err = unknown("opencode imported %d messages of %d for %s", len(there), messages, moved.Directory)
	}
	return err
}

// endOfOpen returns how many messages are before a point. Note says what of the last step was left out.
func endOfOpen(all []openEntry, p Point) (end int, note string) {
	turn := slices.IndexFunc(all, func(e openEntry) bool { return p.Turn != "" && e.Info.ID == p.Turn })
	switch at := float64(p.At.UnixMilli()); {
	case p.Asking && turn >= 0:
		return turn, ""
	case p.Ended && turn >= 0:
		end = turn + 1
		for end < len(all) && all[end].Info.Role != "user" {
			end++
		}
	default:
		call := slices.IndexFunc(all, func(e openEntry) bool { return p.Call != "" && e.endOf(p.Call) != 0 })
		if call >= 0 {
			end, at = call+1, all[call].endOf(p.Call)
		} else {
			for end < len(all) && all[end].Info.Time.Created <= at {
				end++
			}
		}
		if end > 0 && all[end-1].last(call < 0) > at {
			end--
			note = "opencode keeps whole steps, so the conversation ends before the step of the moment"
		}
	}
	if end > 0 && !all[end-1].whole() {
		end--
		note = "a step that still runs was left out"
	}
	return end, note
}

// endOf returns when a call of a message ended, 0 where it has no such call or that runs.
func (e *openEntry) endOf(call string) float64 {
	for _, p := range e.Parts {
		if p.Type == "tool" && p.CallID == call {
			return p.State.Time.End
		}
	}
	return 0
}

// last returns when the last call of a message ended, or the whole of it.
func (e *openEntry) last(whole bool) float64 {
	if whole {
		return e.Info.Time.Completed
	}
	var end float64
	for _, p := range e.Parts {
		end = max(end, p.State.Time.End)
	}
	return end
}

// openServer is opencode's server on 127.0.0.1, which only this process can ask.
type openServer struct {
	cmd           *exec.Cmd
	url, password string
	dir           string
}

// listening is what opencode prints with the address of its server.
var listening = lazyregexp.New(`listening on (http://127\.0\.0\.1:\d+)\b`)

func startOpenCode(ctx context.Context, program Program, dir string) (*openServer, error) {
	s := &openServer{cmd: exec.CommandContext(ctx, program.Line[0], slices.Concat(program.Line[1:], []string{"serve", "--pure", "--hostname", "127.0.0.1", "--port", "0"})...), password: rand.Text(), dir: dir}
	s.cmd.Env = append(slices.Clone(program.Env), "PWD="+dir, "OPENCODE_SERVER_PASSWORD="+s.password, "OPENCODE_SERVER_USERNAME=opencode")
	s.cmd.Dir, s.cmd.WaitDelay = dir, time.Second
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start opencode's server: %w", err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := listening().FindStringSubmatch(lines.Text()); m != nil {
			s.url = m[1]
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s, nil
		}
	}
	s.close()
	return nil, unknown("opencode's server did not say where it listens")
}

// canFork returns an error unless the installed version forks sessions up to a message, by the description that it serves.
func (s *openServer) canFork(ctx context.Context) error {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := s.ask(ctx, http.MethodGet, "/doc", nil, &doc); err != nil {
		return err
	}
	if !bytes.Contains(doc.Paths["/session/{sessionID}/fork"]["post"], []byte(`"messageID"`)) || doc.Paths["/session/{sessionID}/message"]["get"] == nil {
		return unknown("the installed opencode cannot fork a session up to a message")
	}
	return nil
}

// ask sends a request for the branch's directory, and reads the answer into result, which may be nil.
func (s *openServer) ask(ctx context.Context, method, path string, body, result any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+path+"?directory="+url.QueryEscape(s.dir), bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.SetBasicAuth("opencode", s.password)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("opencode's server did not answer %s %s: %w", method, path, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return unknown("opencode answered %s %s with %s", method, path, answer.Status)
	}
	if result == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxReply)).Decode(result)
}

// close ends the server.
func (s *openServer) close() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}
