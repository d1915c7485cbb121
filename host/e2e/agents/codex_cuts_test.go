package agents

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/fork"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// cuts is how many points of a conversation of Codex are tried. Each starts Codex twice, so that ordinary runs try few
// and `make conversations` tries 500.
func cuts(t *testing.T) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("TIDEMARK_CUTS")); err == nil {
		return n
	}
	return 20
}

// plainCodex is the program that Codex's package starts, which starts faster.
func plainCodex(t *testing.T) string {
	t.Helper()
	packaged := program(t, "codex")
	found, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(packaged)), "@openai", "codex-*", "vendor", "*", "bin", "codex"))
	if err != nil || len(found) == 0 {
		return packaged
	}
	return found[0]
}

// appServer is Codex's app server, which reads conversations.
type appServer struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
	id  int
}

func startAppServer(t *testing.T, env []string) *appServer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), plainCodex(t), "app-server")
	cmd.Env, cmd.Dir = append(clean(os.Environ()), env...), t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	s := &appServer{t: t, in: in, out: bufio.NewScanner(out)}
	s.out.Buffer(nil, 64<<20)
	s.ask("initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "title": "test", "version": "1"}})
	_, _ = io.WriteString(in, `{"method":"initialized"}`+"\n")
	return s
}

func (s *appServer) ask(method string, params any) json.RawMessage {
	s.t.Helper()
	s.id++
	data, err := json.Marshal(map[string]any{"id": s.id, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.in.Write(append(data, '\n')); err != nil {
		s.t.Fatal(err)
	}
	for s.out.Scan() {
		var reply struct {
			ID            int
			Method        string
			Result, Error json.RawMessage
		}
		if json.Unmarshal(s.out.Bytes(), &reply) != nil || reply.Method != "" || reply.ID != s.id {
			continue
		}
		if reply.Error != nil {
			s.t.Fatalf("%s: %s", method, reply.Error)
		}
		return reply.Result
	}
	s.t.Fatalf("no answer to %s: %v", method, s.out.Err())
	return nil
}

// codexTurn is a turn as Codex reads it: its items without their IDs, which are those of a conversation.
type codexTurn struct {
	ID, Status string
	Items      []map[string]any
}

// turns returns the turns of a conversation as Codex reads them.
func (s *appServer) turns(thread string) []codexTurn {
	s.t.Helper()
	var read struct {
		Thread struct{ Turns []codexTurn }
	}
	if err := json.Unmarshal(s.ask("thread/read", map[string]any{"threadId": thread, "includeTurns": true}), &read); err != nil {
		s.t.Fatal(err)
	}
	return read.Thread.Turns
}

// said returns what is in turns.
func saidIn(turns []codexTurn) (all []string) {
	for _, turn := range turns {
		for _, item := range turn.Items {
			delete(item, "id")
			data, _ := json.Marshal(item)
			all = append(all, string(data))
		}
	}
	return all
}

// A conversation of Codex with failed, parallel and long calls, and a compaction, is cut at random points. Codex reads each copy,
// and sees the turns of the original up to there. Codex keeps whole turns.
func TestConversationsOfCodexAreCutAnywhere(t *testing.T) {
	w := newWorld(t)
	codex := program(t, "codex")
	var env []string
	const runs = 8
	for n := range runs {
		calls := []modelserver.Call{call(fmt.Sprintf("call_%d_1", n), "exec_command", map[string]any{"cmd": fmt.Sprintf("echo %d", n)})}
		if n%2 == 0 {
			calls = append(calls, call(fmt.Sprintf("call_%d_2", n), "exec_command", map[string]any{"cmd": "false"}))
		}
		patch := call(fmt.Sprintf("call_%d_3", n), "apply_patch", fmt.Sprintf("*** Begin Patch\n*** Add File: f%d.js\n+let n = %d\n*** End Patch\n", n, n))
		server := modelserver.Start(t, modelserver.Turn{Text: fmt.Sprintf("Step %d.", n), Calls: calls}, modelserver.Turn{Calls: []modelserver.Call{patch}}, modelserver.Turn{Text: fmt.Sprintf("Done %d.", n)})
		env = w.codexEnv(server, "")
		args := []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}
		if n > 0 {
			args = append(args, "resume", "--last")
		}
		w.run(env, codex, append(args, fmt.Sprintf("Prompt %d", n))...)
	}
	found, err := filepath.Glob(filepath.Join(w.home, "codex", "sessions", "*", "*", "*", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the records are %q", found)
	}
	transcript := found[0]
	base := strings.TrimSuffix(filepath.Base(transcript), ".jsonl")
	session := base[len(base)-36:]
	before, err := os.ReadFile(transcript)
	if err != nil {
		t.Fatal(err)
	}
	reader := startAppServer(t, append(env, "HOME="+w.home))
	original := reader.turns(session)
	if len(original) != runs {
		t.Fatalf("the original has %d turns", len(original))
	}
	agent := fork.Program{Line: []string{plainCodex(t)}, Env: append(append(clean(os.Environ()), "HOME="+w.home), env...)}
	random := rand.New(rand.NewPCG(1, 2))
	copies := map[string]bool{}
	first := 0
	for range cuts(t) {
		i := random.IntN(len(original))
		p := fork.Point{Agent: "codex", Session: session, Transcript: transcript, Turn: original[i].ID}
		switch random.IntN(3) {
		case 0:
			p.Ended = true
		case 1:
			p.Asking = true
		default:
			p.Call = fmt.Sprintf("call_%d_%d", i, 1+random.IntN(3))
		}
		branch := t.TempDir()
		c, err := fork.Codex(t.Context(), p, fork.Place{From: w.project, To: branch, Title: "branch"}, agent)
		want := original[:i]
		if p.Ended {
			want = original[:i+1]
		}
		if len(want) == 0 {
			if unknown := (*fork.UnknownError)(nil); !errors.As(err, &unknown) {
				t.Errorf("%+v: %v", p, err)
			}
			first++
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		if c.Session == session || copies[c.Session] {
			t.Errorf("%+v: %s is not a new conversation", p, c.Session)
		}
		copies[c.Session] = true
		if got, want := saidIn(reader.turns(c.Session)), saidIn(want); !slices.Equal(got, want) {
			t.Errorf("the copy at %+v has\n%s\nwant\n%s", p, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	t.Logf("%d copies; %d points are in the first turn", len(copies), first)
	if now, _ := os.ReadFile(transcript); string(now) != string(before) {
		t.Error("the original has changed")
	}
}
