package branches_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
)

// The branches of a project differ in their ports: those of branches, of other sessions, and one that an undo brings back.
func TestNoTwoBranchesOfAProjectHaveTheSamePorts(t *testing.T) {
	s := opened(t)
	start := func(where moments.Where, name string) *answers.Branched {
		b, err := s.Start(t.Context(), user, branches.Params{Where: where, From: "now", Name: name, Message: "do it", Agent: "claude"})
		failing(err)
		return b
	}
	s.record()
	outer := start(s.where(), "outer")
	inner := start(moments.Where{Dir: outer.Workspace}, "inner")
	if outer.Agent.Ports != 100 || inner.Agent.Ports != 200 {
		t.Errorf("the ports are +%d, and +%d in its branch", outer.Agent.Ports, inner.Agent.Ports)
	}
	for dir, want := range map[string]string{inner.Workspace: "http://localhost:5373 http://other.example:80", s.dir: "http://localhost:5173 http://other.example:80"} {
		if got := strings.Join(operations.Shifted(s.Timeline.Operations, dir, []string{"http://localhost:5173", "http://other.example:80"}), " "); got != want {
			t.Errorf("in %s the origins are %s, want %s", dir, got, want)
		}
	}
	if _, err := s.Timeline.EndSession(t.Context(), user, timeline.SessionParams{Where: s.where()}); err != nil {
		t.Fatal(err)
	}
	if third := start(s.where(), "third"); third.Agent.Ports != 300 {
		t.Errorf("the ports of a branch of another session are +%d", third.Agent.Ports)
	}
	removed, err := s.Remove(t.Context(), user, branches.OneParams{Where: s.where(), Name: "outer", Force: true})
	failing(err)
	if fourth := start(s.where(), "fourth"); fourth.Agent.Ports != 100 {
		t.Errorf("free ports are not used: +%d", fourth.Agent.Ports)
	}
	undo := operations.UndoParams{Where: s.where(), Operation: removed.Operation}
	if plan, err := s.Timeline.Operations.Undo(t.Context(), user, undo); err != nil || !strings.Contains(plan.Note, "another port offset, because branch fourth has 100") {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
	undo.Confirm = true
	if a, err := s.Timeline.Operations.Undo(t.Context(), user, undo); err != nil || !strings.Contains(a.Note, "The port offset of branch outer is now 400, because another branch has 100.") {
		t.Errorf("the undo says %+v, %v", a, err)
	}
	removed, err = s.Remove(t.Context(), user, branches.OneParams{Where: s.where(), Name: "outer", Force: true})
	failing(err)
	undo.Operation = removed.Operation
	if a, err := s.Timeline.Operations.Undo(t.Context(), user, undo); err != nil || a.Note != "" {
		t.Errorf("the undo with the same ports says %+v, %v", a, err)
	}
	all, err := s.List(t.Context(), user, branches.ListParams{Where: s.where()})
	failing(err)
	ports := map[int]string{}
	for _, b := range all.Branches {
		if other := ports[b.Agent.Ports]; other != "" {
			t.Errorf("%s and %s both have +%d", other, b.Name, b.Agent.Ports)
		}
		ports[b.Agent.Ports] = b.Name
	}
	if len(ports) != 4 {
		t.Errorf("%v", ports)
	}
}

// Branches of a project and of its branches are made at the same time: each has its own ports.
func TestBranchesAtTheSameTimeHaveTheirOwnPorts(t *testing.T) {
	s := opened(t)
	outer := s.start(t, s.where(), s.record(), "outer")
	var ready, done sync.WaitGroup
	ready.Add(2)
	var made [2]*answers.Branched
	for i, where := range []moments.Where{s.where(), {Dir: outer.Workspace}} {
		done.Go(func() {
			var err error
			made[i], err = s.Timeline.Operations.Branch(t.Context(), user, operations.BranchParams{
				Where: where, From: "now", Name: []string{"one", "two"}[i],
				Continue: func(_ context.Context, at *operations.Beginning) error {
					at.Branch.Agent = &records.Agent{Name: "claude"}
					_, err := operations.FreePorts(s.Timeline.Operations, at.From)
					ready.Done()
					ready.Wait()
					return err
				},
			})
			failing(err)
		})
	}
	done.Wait()
	if a, b := made[0].Agent.Ports, made[1].Agent.Ports; a+b != 500 || a == b {
		t.Errorf("the ports are +%d and +%d", a, b)
	}
}

// Where each port offset belongs to a branch, no agent gets the ports of the original or of another branch: it is an error, which
// says what to do.
func TestNoAgentStartsWithoutPortsOfItsOwn(t *testing.T) {
	s := prepare(t.TempDir())
	s.write()
	s.open()
	of := s.start(t, s.where(), s.record(), "first").BranchOf
	removed, err := s.Remove(t.Context(), user, branches.OneParams{Where: s.where(), Name: "first", Force: true}) // its agent may still run
	failing(errors.Join(err, s.close()))
	d, _, err := records.Open(filepath.Join(s.top, "timeline.db"), time.Now())
	failing(err)
	for n := range 299 {
		failing(d.Begin(&records.Session{
			Workspace: filepath.Join(s.top, "elsewhere"), Started: time.Now(), Name: "other",
			BranchOf: &records.BranchOf{Session: of.Session}, Agent: &records.Agent{Name: "claude", Ports: 100 * (n + 1)},
		}, "other"))
	}
	failing(d.Close())
	s.open()
	defer func() { failing(s.close()) }()
	refused := func(what string, err error) {
		t.Helper()
		if usererr.CodeOf(err) != usererr.LimitReached || !strings.Contains(err.Error(), "all 299 port offsets") || !strings.Contains(err.Error(), "`tidemark branch rm NAME`") {
			t.Errorf("%s: %v", what, err)
		}
		if left := append(glob(s.top, "branches", "*", "[fs]*"), glob(s.top, "claude", "projects", "*second")...); len(left) != 0 {
			t.Errorf("%s leaves %q", what, left)
		}
	}
	_, err = s.Start(t.Context(), user, branches.Params{Where: s.where(), From: "now", Name: "second", Message: "do it"})
	refused("a branch", err)
	_, err = s.Timeline.Operations.Undo(t.Context(), user, operations.UndoParams{Where: s.where(), Operation: removed.Operation, Confirm: true})
	refused("an undo", err)
	if b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: "now", Name: "third", Message: "do it", Agent: "none"}); err != nil || b.Agent != nil {
		t.Errorf("a branch without an agent: %+v, %v", b, err)
	}
}

// TestABranchNamesTheOriginsThatAreThoseOfTheOriginal: the port offset of a branch means nothing for them.
func TestABranchNamesTheOriginsThatAreThoseOfTheOriginal(t *testing.T) {
	s := opened(t)
	s.record()
	const advice = "because no port offset is added there. To separate them, serve the branch at another origin, and name that in its .tidemark.toml."
	for name, c := range map[string]struct{ origins, note string }{
		"ports":  {`["http://localhost:5173", "https://shop.example.com"]`, ""},
		"none":   {`["http://shop.localhost", "http://localhost:5173"]`, "Pages of http://shop.localhost are those of the original and of the branch, " + advice},
		"beyond": {`["http://localhost:65535", "http://[::1]"]`, "Pages of http://[::1], http://localhost:65535 are those of the original and of the branch, " + advice},
	} {
		failing(os.WriteFile(filepath.Join(s.dir, ".tidemark.toml"), []byte("origins = "+c.origins+"\n"), 0o600))
		b := s.start(t, s.where(), "now", name)
		if b.Agent == nil || b.Note != c.note {
			t.Errorf("with the origins %s, the note is %q of %+v", c.origins, b.Note, b.Agent)
		}
	}
}
