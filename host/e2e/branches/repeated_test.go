package branches

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/mcpserver"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/viewclient"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// losing is a connection of which the answer is lost: the daemon is killed when it has written it.
type losing struct {
	net.Conn
	kill func()
}

func (c *losing) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil || n == 0 {
		return n, err
	}
	c.kill()
	return 0, io.ErrUnexpectedEOF
}

func (w *world) home() home.Home {
	return home.Home{State: w.Home, Config: filepath.Join(w.Home, "config.toml"), Run: filepath.Join(w.Home, "run")}
}

// call calls a tool as the command line does. With lost, the first answer is lost.
func (w *world) call(tool string, args, answer any, lost bool) error {
	h := w.home()
	client := viewclient.Client{Home: h, Name: "cli", Dir: w.project, Dial: func(ctx context.Context, socket string) (net.Conn, error) {
		w.pid() // it starts the daemon
		conn, err := h.DialRunning(ctx, socket)
		if err != nil || !lost {
			return conn, err
		}
		lost = false
		return &losing{conn, func() { e2etest.KillDaemon(w.T, w.World.World) }}, nil
	}}
	return client.Tool(w.Context(), tool, args, answer)
}

// repeated is what a call does of which the answer was lost, and of which the command line repeats the request to the next daemon.
func repeated[A any](w *world, tool string, args any) *A {
	w.Helper()
	var a A
	if err := w.call(tool, args, &a, true); err != nil {
		w.Fatalf("%s: %v", tool, err)
	}
	return &a
}

// operations returns what was done, without the numbers and the times.
func (w *world) operations() (done string) {
	w.Helper()
	var log operations.Log
	w.json(&log, "timeline", "op", "log")
	for _, o := range log.Operations {
		done = o.Kind + " " + o.State + "\n" + done
	}
	return done
}

// A daemon is killed after it did what it was asked to, and before its answer was read. The request is repeated to the next one, which
// answers what the first did. Nothing is done twice.
func TestARepeatedRequestDoesNothingTwice(t *testing.T) {
	w := newWorld(t, "")
	w.edited("toolu_1")
	where := moments.Where{Dir: w.project}
	changed := func(text string) {
		t.Helper()
		w.write("cart.js", text)
		w.run("timeline", "fs-snapshot", "add")
	}

	b := repeated[answers.Branched](w, "timeline_branch", branches.Params{Where: where, From: "now", Name: "other-way", Message: "run: echo ran >> ran.txt", Env: os.Environ()})
	w.ended()
	if list := w.list(); len(list) != 1 || b.ID != list[0].ID || b.Operation == "" || b.Agent == nil || b.Agent.PID == 0 || b.Agent.Problem != "" {
		t.Fatalf("the branch is %+v with %+v, of %+v", b, b.Agent, list)
	}
	w.has(filepath.Join(b.Workspace, "ran.txt"), "ran\n")

	changed("later\n")
	r := repeated[answers.Restored](w, "timeline_restore", operations.RestoreParams{Where: where, To: b.FsSnapshot, Confirm: true})
	if !r.Done || r.Operation == "" || r.Safety == "" || !reflect.DeepEqual(r.Changes, map[string]int{"replace": 1}) || len(r.Steps) != 1 {
		t.Errorf("the restore is %+v", r)
	}
	w.has(filepath.Join(w.project, "cart.js"), "one\ntwo\nthree\nfour\nfive\n")

	u := repeated[answers.Restored](w, "timeline_undo", operations.UndoParams{Where: where, Confirm: true})
	if !u.Done || !strings.HasPrefix(u.Undid, r.Operation+", ") || len(u.Steps) != 1 {
		t.Errorf("the undo is %+v", u)
	}
	w.has(filepath.Join(w.project, "cart.js"), "later\n")
	w.run("timeline", "undo", u.Operation, "--yes")

	put(t, filepath.Join(b.Workspace, "cart.js"), "ONE\ntwo\nthree\nfour\nfive\n")
	w.write("cart.js", "one\ntwo\nthree\nfour\nFIVE\n")
	a := repeated[branches.Applied](w, "branch_apply", branches.ApplyParams{Where: where, Name: "other-way", Confirm: true})
	if !a.Done || a.Operation == "" || a.Safety == "" || len(a.Steps) != 4 {
		t.Errorf("the apply is %+v", a)
	}
	w.has(filepath.Join(w.project, "cart.js"), "ONE\ntwo\nthree\nfour\nFIVE\n")
	w.run("timeline", "undo", a.Operation, "--yes")

	before := fmt.Sprint(treetest.Read(t, b.Workspace))
	removed := repeated[branches.Removed](w, "branch_remove", branches.OneParams{Where: where, Name: "other-way"})
	back := repeated[answers.Restored](w, "timeline_undo", operations.UndoParams{Where: where, Operation: removed.Operation, Confirm: true})
	if !back.Done || back.SessionID != b.ID || !strings.HasPrefix(back.Undid, removed.Operation+", ") {
		t.Errorf("the undo of the removal is %+v", back)
	}
	if after := fmt.Sprint(treetest.Read(t, b.Workspace)); after != before {
		t.Errorf("the branch is %s, and was %s", after, before)
	}
	c := repeated[branches.Committed](w, "branch_commit", branches.CommitParams{Where: where, Name: "other-way"})
	undone := repeated[answers.Restored](w, "timeline_undo", operations.UndoParams{Where: where, Operation: c.Operation, Confirm: true})
	if !undone.Done || !strings.HasPrefix(undone.Undid, c.Operation+", ") {
		t.Errorf("the undo of the commit is %+v", undone)
	}
	unmade := repeated[answers.Restored](w, "timeline_undo", operations.UndoParams{Where: where, Operation: b.Operation, Confirm: true})
	if !unmade.Done || !strings.HasPrefix(unmade.Undid, b.Operation+", ") || len(w.list()) != 0 {
		t.Errorf("the undo of the branch is %+v", unmade)
	}
	want := "branch undone\nrestore done\nundo undone\nundo done\napply undone\nundo done\nremove undone\nundo done\ncommit undone\nundo done\nundo done\n"
	if done := w.operations(); done != want {
		t.Errorf("what was done is\n%swant\n%s", done, want)
	}
}

// What is added is added once, too: a checkpoint, which stays where it was, and moments. A session is begun once.
func TestARepeatedRequestAddsNothingTwice(t *testing.T) {
	w := newWorld(t, "")
	where := moments.Where{Dir: w.project}
	of := func(source string) (n int) {
		t.Helper()
		var list answers.List
		w.json(&list, "timeline", "list")
		for _, m := range list.Moments {
			if m.Source == source {
				n++
			}
		}
		return n
	}
	c := repeated[observe.CheckpointCreated](w, "checkpoint_create", observe.CheckpointParams{Name: "before"})
	if c.Replaced != nil || c.Name != "before" {
		t.Errorf("the checkpoint is %+v", c)
	}
	repeated[answers.Added](w, "moment_add", timeline.AddParams{Where: where, Label: "one"})
	w.write("cart.js", "later\n")
	repeated[answers.AddedSnapshot](w, "fs_snapshot_add", timeline.AddParams{Where: where, Label: "two"})
	if made, added := of(records.FromCheckpoint), of(records.FromUser); made != 1 || added != 2 {
		t.Errorf("there are %d moments of the checkpoint, and %d that were added", made, added)
	}
	again := *c
	if err := w.call("checkpoint_create", observe.CheckpointParams{Name: "before"}, &again, false); err != nil || again.Replaced == nil || !again.Replaced.Equal(c.At.Time) {
		t.Errorf("another request is answered with %+v, %v", again, err)
	}
	w.run("session", "end")
	s := repeated[answers.About](w, "session_start", timeline.SessionParams{Where: where})
	var all answers.Sessions
	w.json(&all, "session", "list")
	if len(all.Sessions) != 2 || all.Sessions[0].ID != s.ID {
		t.Errorf("the session is %+v, of %+v", s, all.Sessions)
	}
	w.run("project", "allow", "--grant", "worktrees", w.project)
	tree := repeated[branches.Worktree](w, "worktree_add", branches.WorktreeParams{Dir: w.project, Name: "tree"})
	if list := w.list(); len(list) != 1 || list[0].Workspace != tree.Path || tree.Branch == "" || w.git("-C", tree.Path, "branch", "--show-current") != tree.Branch {
		t.Errorf("the worktree is %+v, of %+v", tree, list)
	}
	if got := strings.Count(w.git("worktree", "list", "--porcelain"), "worktree "); got != 2 {
		t.Errorf("Git has %d worktrees", got)
	}
}

// An agent's call that is repeated to the next daemon is answered as before, too.
func TestAnAgentsRepeatedCallDoesNothingTwice(t *testing.T) {
	w := newWorld(t, "")
	w.run("project", "allow", "--grant", "agents-branch,agents-restore", w.project)
	w.edited("toolu_1")
	call := func(name string, args, answer any) {
		t.Helper()
		w.pid() // it starts the daemon
		conn, err := w.home().DialRunning(t.Context(), home.MCPSocket)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // the daemon may have ended
		var p daemon.Preamble
		p.Tidemark.Client, p.Tidemark.Session, p.Tidemark.Workspace, p.Tidemark.Tools = "mcp", "one", w.project, []string{tool.TimeTravel}
		if err := json.NewEncoder(conn).Encode(p); err != nil {
			t.Fatal(err)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: conn, Writer: conn}, nil)
		if err != nil {
			t.Fatal(err)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{mcpserver.CallKey: name}, Name: name, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		if text := result.Content[0].(*mcp.TextContent).Text; result.IsError || json.Unmarshal([]byte(text), answer) != nil {
			t.Fatalf("%s: %s", name, text)
		}
		e2etest.KillDaemon(t, w.World.World)
	}
	var first, again answers.Branched
	for _, a := range []*answers.Branched{&first, &again} {
		call("timeline_branch", map[string]any{"from": "now", "name": "other-way"}, a)
	}
	if len(w.list()) != 1 || again.ID != first.ID || again.Operation != first.Operation || again.Workspace != first.Workspace {
		t.Errorf("the branch is %+v, and was %+v", again, first)
	}
	w.write("cart.js", "later\n")
	var plan, restored, repeated answers.Restored
	call("timeline_restore", map[string]any{"to": first.FsSnapshot}, &plan)
	for _, a := range []*answers.Restored{&restored, &repeated} {
		call("timeline_restore", map[string]any{"to": first.FsSnapshot, "confirm": true, "plan": plan.Plan}, a)
	}
	if !restored.Done || restored.Operation == "" || !reflect.DeepEqual(repeated, restored) {
		t.Errorf("the restore is %+v, and was %+v", repeated, restored)
	}
}
