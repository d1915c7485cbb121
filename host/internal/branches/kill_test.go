package branches_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

const session = "11111111-1111-4111-8111-111111111111"

var user = &checkpoint.Client{User: true}

// shop is a workspace with a conversation of Claude Code, below a directory with all that Tidemark keeps.
type shop struct {
	top, dir, transcript string
	grants               *grants.Store
	*branches.Branches
	close func() error
	// server serves mounted branches. Without it, none is mounted.
	server []string
	alone  bool
	// ahead is how far its clock is ahead: moments that are apart have snapshots of their own.
	ahead atomic.Int64
}

func failing(err error) {
	if err != nil {
		panic(err)
	}
}

// prepare makes the workspace, whose name has characters that paths are quoted for, and the conversation.
func prepare(top string) *shop {
	s := &shop{top: top, dir: filepath.Join(top, `shop é "1" $x`)}
	s.transcript = filepath.Join(top, "claude", "projects", "-shop", session+".jsonl")
	s.grants = &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now}
	return s
}

func (s *shop) write() {
	failing(errors.Join(os.MkdirAll(filepath.Join(s.dir, "sub"), 0o700), os.MkdirAll(filepath.Dir(s.transcript), 0o700)))
	failing(os.WriteFile(filepath.Join(s.dir, "sub", "a"), []byte("a\n"), 0o600))
	failing(os.WriteFile(filepath.Join(s.dir, "new\nline"), []byte("b\n"), 0o600))
	var lines []string
	for n := 1; n <= 200; n++ {
		parent, kind, message := "null", "user", `{"role":"user","content":"look"}`
		if n > 1 {
			parent = strconv.Quote(fmt.Sprintf("22222222-2222-4222-8222-%012d", n-1))
		}
		if n%2 == 0 {
			kind, message = "assistant", `{"role":"assistant","id":"m`+strconv.Itoa(n)+`","content":[{"type":"text","text":"`+strings.Repeat("x", 2000)+`"}]}`
		}
		lines = append(lines, fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":%q,"sessionId":%q,"version":"2.1.332","type":%q,"message":%s,"uuid":"22222222-2222-4222-8222-%012d","timestamp":"2026-01-01T13:00:00.000Z"}`, parent, s.dir, session, kind, message, n))
	}
	failing(os.WriteFile(s.transcript, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	_, err := s.grants.Allow(context.Background(), s.dir, nil, nil)
	failing(err)
}

// open opens what Tidemark keeps.
func (s *shop) open() {
	log := slog.New(slog.DiscardHandler)
	clock := func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
	spaces := workspace.New(workspace.Options{Grants: s.grants, Dir: filepath.Join(s.top, "workspaces"), Redactor: redact.Default(), Clock: clock, Log: log, Server: s.server, MountFiles: 1, FUSEAlone: s.alone})
	l, _, err := timeline.Open(timeline.Options{Path: filepath.Join(s.top, "timeline.db"), Branches: filepath.Join(s.top, "branches"), Workspaces: spaces, Uncommit: gitrepo.DeleteBranch, Committed: gitrepo.IsAt, Recommit: gitrepo.CreateBranch, Clock: clock, Log: log})
	failing(err)
	s.Branches = &branches.Branches{
		Timeline: l, Conversations: conversation.Broken(errors.New("off")), Redactor: redact.Default(), Clock: clock, Log: log,
		Settings: branches.Settings{Commands: map[string][]string{"claude": {"/bin/true"}}},
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- spaces.Run(ctx, nothing{}) }()
	s.close = func() error {
		err := l.Close()
		end()
		return errors.Join(err, <-done)
	}
}

// nothing takes the changes of files.
type nothing struct{}

func (nothing) Append(context.Context, ...event.Event) error                      { return nil }
func (nothing) AppendStream(context.Context, capture.Stream, []event.Event) error { return nil }
func (nothing) Miss(event.Subject, string, time.Time, int)                        {}

func (s *shop) where() moments.Where { return moments.Where{Dir: s.dir} }

func (s *shop) record() string {
	m, err := s.Timeline.Record(context.Background(), s.dir, records.Moment{Label: "kept", Kind: records.Manual, Source: records.FromUser, Anchor: &records.Anchor{Agent: "claude", Session: session, Transcript: s.transcript}})
	failing(err)
	return m.ID()
}

// victim branches, removes and brings back, again and again.
func victim(v killtest.Process, top string) {
	s := prepare(top)
	s.open()
	ctx := context.Background()
	v.Say("record")
	from := s.record()
	for {
		name := "b" + strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // another name each time
		v.Say("branch")
		b, err := s.Start(ctx, user, branches.Params{Where: s.where(), From: from, Name: name, Message: "do it"})
		v.Must(err)
		if b.Agent.Method != "transcript" || b.Agent.PID == 0 {
			v.Fatalf("the agent is %+v", b.Agent)
		}
		v.Say("branched", name)
		if rand.IntN(3) == 0 { //nolint:gosec // some stay
			continue
		}
		v.Say("remove", name)
		r, err := s.Remove(ctx, user, branches.OneParams{Where: s.where(), Name: name, Force: true})
		v.Must(err)
		v.Say("removed", name)
		if rand.IntN(2) == 0 { //nolint:gosec // some stay away
			v.Say("return", name)
			_, err := s.Timeline.Operations.Undo(ctx, user, operations.UndoParams{Where: s.where(), Operation: r.Operation, Confirm: true})
			v.Must(err)
			v.Say("returned", name)
		}
	}
}

// Whenever the daemon is killed, there is no branch or a whole one, with its conversation; no conversation is left without a
// branch. The original stays as it is, byte by byte.
func TestAKillLeavesNoBranchOrAWholeOne(t *testing.T) {
	killtest.Victim(victim)
	s := prepare(t.TempDir())
	s.write()
	files, said := fmt.Sprint(treetest.Read(t, s.dir)), read(t, s.transcript)
	there := map[string]bool{}
	hunt := killtest.Hunt{
		Dir: s.top, Steps: []string{"branch", "remove", "return"}, Short: 3, Usual: 5,
		Said: func(step, name string) {
			switch step {
			case "branched", "returned":
				there[name] = true
			case "remove", "return": // it may be there or not
				delete(there, name)
			}
		},
		Survived: func(step string) {
			s.open()
			defer func() { failing(s.close()) }()
			list, err := s.List(t.Context(), user, branches.ListParams{Where: s.where()})
			if err != nil {
				t.Fatal(err)
			}
			dirs, copies := map[string]bool{}, map[string]bool{}
			for _, b := range list.Branches {
				delete(there, b.Name)
				dirs[b.Workspace] = true
				if got := fmt.Sprint(treetest.Read(t, b.Workspace)); got != files {
					t.Errorf("after a kill in %s, branch %s has %s", step, b.Name, got)
				}
				found, _ := filepath.Glob(filepath.Join(s.top, "claude", "projects", "*", b.Agent.Conversation+".jsonl"))
				if len(found) != 1 || strings.Count(read(t, found[0]), "\n") != 201 {
					t.Errorf("after a kill in %s, the conversation of %s is in %q", step, b.Name, found)
				} else {
					copies[found[0]] = true
				}
			}
			for name := range there {
				t.Errorf("after a kill in %s, branch %s is missing", step, name)
			}
			clear(there)
			for _, dir := range glob(s.top, "branches", "*", "*") {
				if name := filepath.Base(dir); !dirs[dir] && !strings.HasPrefix(name, ".tidemark-probe-") && !strings.HasSuffix(name, ".agent.log") {
					t.Errorf("after a kill in %s, %s is no branch", step, dir)
				}
			}
			removed := map[string]bool{} // of branches that were removed: the agent keeps them
			ops, err := s.Timeline.Operations.Log(t.Context(), user, operations.LogParams{Where: s.where()})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range ops.Operations {
				if o.State == records.Begun {
					t.Errorf("after a kill in %s, %s (%s) never ended", step, o.ID, o.What)
				}
				if o.Kind == records.OpBranch && o.State != records.Failed {
					removed[strings.Fields(o.What)[1]] = true
				}
			}
			for _, path := range glob(s.top, "claude", "projects", "*", "*") {
				name := filepath.Base(filepath.Dir(path))
				if path != s.transcript && !copies[path] && !removed[name[strings.LastIndex(name, "-")+1:]] {
					t.Errorf("after a kill in %s, %s is left", step, path)
				}
			}
			if got := fmt.Sprint(treetest.Read(t, s.dir)); got != files {
				t.Errorf("after a kill in %s, the original is %s", step, got)
			}
			if read(t, s.transcript) != said {
				t.Errorf("after a kill in %s, the original conversation has changed", step)
			}
			for _, b := range list.Branches {
				if len(list.Branches) > 8 { // what is compared grows with it
					if _, err := s.Remove(t.Context(), user, branches.OneParams{Where: s.where(), Name: b.Name, Force: true}); err != nil {
						t.Error(err)
					}
				}
			}
		},
	}
	hunt.Run(t)
}

func glob(parts ...string) []string {
	found, err := filepath.Glob(filepath.Join(parts...))
	failing(err)
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
