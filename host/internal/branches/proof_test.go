package branches_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// opened is a workspace with a conversation, and what Tidemark keeps of it.
func opened(t *testing.T) *shop {
	t.Helper()
	s := prepare(t.TempDir())
	s.write()
	s.open()
	t.Cleanup(func() { failing(s.close()) })
	return s
}

// start starts a branch.
func (s *shop) start(t *testing.T, where moments.Where, from, name string) *answers.Branched {
	t.Helper()
	b, err := s.Start(t.Context(), user, branches.Params{Where: where, From: from, Name: name, Message: "do it"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// conversationOf returns the lines of the copied conversation of a branch.
func (s *shop) conversationOf(t *testing.T, b *answers.Branched) (path string, lines []string) {
	t.Helper()
	if b.Agent == nil || b.Agent.Method != "transcript" {
		t.Fatalf("the agent of %s is %+v, %s", b.Name, b.Agent, b.Problem)
	}
	found := glob(s.top, "claude", "projects", "*", b.Agent.Conversation+".jsonl")
	if len(found) != 1 {
		t.Fatalf("the conversation of %s is in %q", b.Name, found)
	}
	lines = strings.Split(strings.TrimSuffix(read(t, found[0]), "\n"), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Fatalf("the conversation of %s has the line %q", b.Name, line)
		}
	}
	return found[0], lines
}

// An agent that edits files and writes its transcript while branches are made: each branch has files and conversation as of its
// moment, and what the agent wrote stays as it is.
func TestABranchWhileTheAgentRuns(t *testing.T) {
	s := opened(t)
	before := read(t, s.transcript)
	type point struct {
		moment string
		n      int
	}
	points, end := make(chan point), make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		defer close(points)
		out, err := os.OpenFile(s.transcript, os.O_APPEND|os.O_WRONLY, 0)
		failing(err)
		defer func() { failing(out.Close()) }()
		say := func(n int, kind, message string) {
			line := fmt.Sprintf(`{"parentUuid":"22222222-2222-4222-8222-%012d","isSidechain":false,"cwd":%q,"sessionId":%q,"version":"2.1.332","type":%q,"message":%s,"uuid":"22222222-2222-4222-8222-%012d","timestamp":"2026-01-01T14:00:00.000Z"}`, n-1, s.dir, session, kind, message, n)
			for _, half := range []string{line[:len(line)/2], line[len(line)/2:] + "\n"} { // a reader may see the first half
				_, err := out.WriteString(half)
				failing(err)
			}
		}
		for n := 1; ; n++ {
			call := strconv.Itoa(n)
			say(199+2*n, "assistant", `{"role":"assistant","id":"n`+call+`","content":[{"type":"tool_use","id":"t`+call+`","name":"Write","input":{}}]}`)
			failing(os.WriteFile(filepath.Join(s.dir, "sub", "a"), []byte(call), 0o600))
			say(200+2*n, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t`+call+`","content":"ok"}]}`)
			m, err := s.Timeline.Record(t.Context(), s.dir, records.Moment{Label: "Write", Kind: records.Manual, Source: records.FromUser, Anchor: &records.Anchor{Agent: "claude", Session: session, Message: "t" + call, Transcript: s.transcript}})
			failing(err)
			select {
			case points <- point{m.ID(), n}: // the agent does not wait for it
			case <-end:
				return
			default:
			}
		}
	})
	for i := range 20 {
		p := <-points
		b := s.start(t, s.where(), p.moment, fmt.Sprintf("b%d", i))
		if got := read(t, filepath.Join(b.Workspace, "sub", "a")); got != strconv.Itoa(p.n) {
			t.Errorf("the branch of %s has %q, want %d", p.moment, got, p.n)
		}
		_, lines := s.conversationOf(t, b)
		if last := lines[len(lines)-2]; len(lines) != 200+2*p.n+1 || !strings.Contains(last, fmt.Sprintf(`"tool_use_id":"t%d"`, p.n)) {
			t.Errorf("the conversation of %s has %d lines, and ends with %s", p.moment, len(lines), last)
		}
	}
	close(end)
	agent.Wait()
	now := read(t, s.transcript)
	if !strings.HasPrefix(now, before) || strings.Count(now, "\n") < 200+40 {
		t.Error("the original conversation is not what the agent wrote")
	}
	for i, line := range strings.Split(strings.TrimSuffix(now, "\n"), "\n") {
		if !strings.Contains(line, fmt.Sprintf(`"uuid":"22222222-2222-4222-8222-%012d"`, i+1)) {
			t.Fatalf("line %d of the original conversation is %s", i+1, line)
		}
	}
}

// edited adds a moment of an agent's edit, with a snapshot that may be pruned.
func (s *shop) edited() *records.Moment {
	s.ahead.Add(int64(time.Minute))
	m, err := s.Timeline.Record(context.Background(), s.dir, records.Moment{Label: "edit", Source: records.FromEdit, Anchor: &records.Anchor{Agent: "claude", Session: session, Transcript: s.transcript}})
	failing(err)
	if m.Snapshot == 0 {
		panic(m.Reason)
	}
	return m
}

// The snapshot of a moment was pruned: the error names the nearest one that is there, and there is nothing of a branch.
func TestABranchOfAPrunedSnapshot(t *testing.T) {
	s := opened(t)
	var moments []*records.Moment
	for n := range 3 {
		failing(os.WriteFile(filepath.Join(s.dir, "sub", "a"), []byte(strconv.Itoa(n)), 0o600))
		moments = append(moments, s.edited())
	}
	if _, err := s.Timeline.Prune(t.Context(), user, timeline.PruneParams{Where: s.where(), Count: 1}); err != nil {
		t.Fatal(err)
	}
	files, said := fmt.Sprint(treetest.Read(t, s.dir)), read(t, s.transcript)
	for from, want := range map[string]string{moments[0].ID(): "s1 was pruned", moments[1].ID(): "s2 was pruned", "s1": "there is no snapshot s1"} {
		_, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: from, Name: "b", Message: "do it"})
		if usererr.CodeOf(err) != usererr.NotFound || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "the nearest one is s3") {
			t.Errorf("a branch from %s: %v", from, err)
		}
	}
	if left := append(glob(s.top, "branches", "*", "b*"), glob(s.top, "claude", "projects", "*shop*b")...); len(left) != 0 {
		t.Errorf("there is %q", left)
	}
	// A prune while branches are made: each is whole, or an error names the nearest snapshot.
	var made, refused int
	for n := range 20 {
		for i := range 2 {
			failing(os.WriteFile(filepath.Join(s.dir, "sub", "a"), []byte(fmt.Sprint("round ", n, i)), 0o600))
			moments[i] = s.edited()
		}
		files = fmt.Sprint(treetest.Read(t, s.dir))
		var pruning sync.WaitGroup
		pruning.Go(func() {
			_, err := s.Timeline.Prune(t.Context(), user, timeline.PruneParams{Where: s.where(), Count: 1})
			failing(err)
		})
		b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: moments[0].ID(), Name: fmt.Sprintf("r%d", n), Message: "do it"})
		pruning.Wait()
		switch {
		case err == nil:
			if made++; read(t, filepath.Join(b.Workspace, "sub", "a")) != fmt.Sprint("round ", n, 0) {
				t.Errorf("the branch of %s has other files", moments[0].ID())
			}
			s.conversationOf(t, b)
		case strings.Contains(err.Error(), "the nearest one is"):
			if refused++; len(glob(s.top, "branches", "*", fmt.Sprintf("r%d*", n))) != 0 {
				t.Errorf("an error leaves %q", glob(s.top, "branches", "*", "*"))
			}
		default:
			t.Errorf("a branch while snapshots are pruned: %v", err)
		}
	}
	t.Logf("%d branches were made, %d refused", made, refused)
	if fmt.Sprint(treetest.Read(t, s.dir)) != files || read(t, s.transcript) != said {
		t.Error("the original has changed")
	}
}

// A branch of a branch has the conversation of that branch, and leaves it and the original as they are.
func TestABranchOfABranch(t *testing.T) {
	s := opened(t)
	outer := s.start(t, s.where(), s.record(), "outer")
	path, lines := s.conversationOf(t, outer)
	failing(os.WriteFile(filepath.Join(outer.Workspace, "sub", "a"), []byte("outer\n"), 0o600))
	m, err := s.Timeline.Record(t.Context(), outer.Workspace, records.Moment{Label: "kept", Kind: records.Manual, Source: records.FromUser, Anchor: &records.Anchor{Agent: "claude", Session: outer.Agent.Conversation, Transcript: path}})
	failing(err)
	files, said := fmt.Sprint(treetest.Read(t, s.dir), treetest.Read(t, outer.Workspace)), read(t, s.transcript)+read(t, path)
	inner := s.start(t, moments.Where{Dir: outer.Workspace}, m.ID(), "inner")
	_, again := s.conversationOf(t, inner)
	if len(again) != len(lines) {
		t.Errorf("the inner conversation has %d lines, the outer one %d", len(again), len(lines))
	}
	for _, line := range again {
		for _, dir := range []string{s.dir, outer.Workspace} {
			if quoted := strconv.Quote(dir); strings.Contains(line, quoted) {
				t.Fatalf("the inner conversation has %s: %s", quoted, line)
			}
		}
	}
	if got := read(t, filepath.Join(inner.Workspace, "sub", "a")); got != "outer\n" {
		t.Errorf("the inner branch has %q", got)
	}
	failing(os.WriteFile(filepath.Join(inner.Workspace, "sub", "a"), []byte("inner\n"), 0o600))
	if fmt.Sprint(treetest.Read(t, s.dir), treetest.Read(t, outer.Workspace)) != files || read(t, s.transcript)+read(t, path) != said {
		t.Error("the outer branch or the original has changed")
	}
	if _, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: moments.Where{Dir: outer.Workspace}, Name: "inner", Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(outer.Workspace, "sub", "a")) + read(t, filepath.Join(s.dir, "sub", "a")); got != "inner\na\n" {
		t.Errorf("after the apply, the outer branch and the original have %q", got)
	}
}

// A branch in which no agent has worked yet goes on with the conversation that it began with, also if it has none of its own.
func TestABranchOfABranchWithoutAnAgentHasTheFirstConversation(t *testing.T) {
	s := opened(t)
	from := s.record()
	first, lines := s.conversationOf(t, s.start(t, s.where(), from, "first"))
	said := read(t, s.transcript)
	failing(os.WriteFile(filepath.Join(s.dir, "sub", "a"), []byte("later\n"), 0o600))
	s.edited() // of the original, after the branches began
	where := s.where()
	for _, name := range []string{"outer", "middle", "inner"} {
		agent := "none"
		if name == "inner" {
			agent = ""
		}
		b, err := s.Start(t.Context(), user, branches.Params{Where: where, From: from, Name: name, Message: "do it", Agent: agent})
		failing(err)
		if agent == "" {
			path, again := s.conversationOf(t, b)
			if b.Agent.Method != "transcript" || len(again) != len(lines) || path == first {
				t.Errorf("the conversation is by %s and has %d lines, want %d", b.Agent.Method, len(again), len(lines))
			}
			for _, line := range again {
				if quoted := strconv.Quote(s.dir); strings.Contains(line, quoted) {
					t.Fatalf("it names the original: %s", line)
				}
			}
		}
		where, from = moments.Where{Dir: b.Workspace}, "m1"
	}
	if read(t, s.transcript) != said {
		t.Error("the original conversation has changed")
	}
}

// odd are names that a shell, Git or JSON treats specially.
var odd = []string{"a b", "new\nline", `q"'$x`, "-rf", "ümlaut", "日本", "*?[x]", `back\slash`, "\xff\xfe", ".hidden", "#", "~", "tab\t", strings.Repeat("n", 200), "CON", "a:b", "%41", "\u202egpj.exe"}

func TestBranchesOfOddPathNames(t *testing.T) {
	s := opened(t)
	for _, name := range odd {
		failing(errors.Join(os.MkdirAll(filepath.Join(s.dir, "d", name), 0o700), os.WriteFile(filepath.Join(s.dir, "d", name, name), []byte("old\n"), 0o600)))
	}
	from := s.record()
	before, said := fmt.Sprint(treetest.States(t, s.dir)), read(t, s.transcript)
	b := s.start(t, s.where(), from, "odd")
	if got := fmt.Sprint(treetest.States(t, b.Workspace)); got != before {
		t.Fatalf("the branch has %s", got)
	}
	for i, name := range odd {
		failing(os.WriteFile(filepath.Join(b.Workspace, "d", name, "new "+name[:min(len(name), 100)]), []byte("new\n"), 0o600))
		if i%2 == 0 {
			failing(os.Remove(filepath.Join(b.Workspace, "d", name, name)))
		} else {
			failing(os.WriteFile(filepath.Join(b.Workspace, "d", name, name), []byte("changed\n"), 0o600))
		}
	}
	after := fmt.Sprint(treetest.States(t, b.Workspace))
	c, err := s.Compare(t.Context(), user, branches.CompareParams{Where: s.where(), A: "odd"})
	if err != nil || len(c.A.Files) != 2*len(odd) {
		t.Errorf("the comparison has %d files: %v", len(c.A.Files), err)
	}
	a, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "odd", Confirm: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(treetest.States(t, s.dir)); got != after {
		t.Errorf("after the apply, the original has %s\nwant %s", got, after)
	}
	if _, err := s.Timeline.Operations.Undo(t.Context(), user, operations.UndoParams{Where: s.where(), Operation: a.Operation, Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(treetest.States(t, s.dir)); got != before || read(t, s.transcript) != said {
		t.Errorf("after the undo, the original has %s\nwant %s", got, before)
	}
}

// TestABranchOfADeletedWorkspace is compared with the last files of its original. What needs the original says what to do.
func TestABranchOfADeletedWorkspace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not delete a directory that is watched")
	}
	s := opened(t)
	m := s.record()
	a := filepath.Join("sub", "a")
	failing(os.WriteFile(filepath.Join(s.dir, a), []byte("original\n"), 0o600))
	s.record()
	list, err := s.Timeline.List(t.Context(), user, timeline.ListParams{Where: s.where()})
	failing(err)
	where := moments.Where{Session: list.ID}
	failing(os.RemoveAll(s.dir))
	b := s.start(t, where, m, "other")
	if b.Agent == nil || b.Agent.Method != "transcript" {
		t.Errorf("the agent is %+v, %s", b.Agent, b.Problem)
	}
	failing(os.WriteFile(filepath.Join(b.Workspace, a), []byte("branch\n"), 0o600))
	c, err := s.Compare(t.Context(), user, branches.CompareParams{Where: where, A: "other"})
	if err != nil || !slices.Equal(c.Same, []string{"sub/a"}) || !slices.Equal(c.Different, []string{"sub/a"}) {
		t.Fatalf("%+v, %v", c, err)
	}
	listed, err := s.List(t.Context(), user, branches.ListParams{Where: where})
	if err != nil || len(listed.Branches) != 1 || listed.Branches[0].Problem != "" {
		t.Errorf("%+v, %v", listed, err)
	}
	for name, call := range map[string]func() error{
		"apply": func() error {
			_, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: where, Name: "other"})
			return err
		},
		"commit": func() error {
			_, err := s.Commit(t.Context(), user, branches.CommitParams{Where: where, Name: "other"})
			return err
		},
	} {
		if err := call(); usererr.CodeOf(err) != usererr.NotFound || !strings.Contains(err.Error(), "Create the directory again") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Remove(t.Context(), user, branches.OneParams{Where: where, Name: "other", Force: true}); err != nil {
		t.Error(err)
	}
}

// The directory of a branch was removed by hand: what needs it says so, and its removal promises no way back.
func TestABranchWhoseDirectoryIsMissing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not delete a directory that is watched")
	}
	s := opened(t)
	b := s.start(t, s.where(), s.record(), "other")
	failing(os.RemoveAll(b.Workspace))
	one := branches.OneParams{Where: s.where(), Name: "other", Env: os.Environ()}
	for name, call := range map[string]func() error{
		"open": func() error {
			_, err := s.Open(t.Context(), user, one)
			return err
		},
		"run": func() error {
			_, err := s.Run(t.Context(), user, branches.RunParams{OneParams: one, Program: "true"})
			return err
		},
		"commit": func() error {
			_, err := s.Commit(t.Context(), user, branches.CommitParams{Where: s.where(), Name: "other"})
			return err
		},
	} {
		if err := call(); usererr.CodeOf(err) != usererr.NotFound || !strings.Contains(err.Error(), "the directory of branch other is missing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if removed, err := s.Remove(t.Context(), user, one); err != nil || removed.SessionID != b.ID || removed.Operation != "" {
		t.Errorf("%+v, %v", removed, err)
	}
}
