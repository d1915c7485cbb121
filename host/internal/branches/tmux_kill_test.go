package branches_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// openInTmux opens what Tidemark keeps. Agents wait in windows of tmux.
func (s *shop) openInTmux() {
	s.open()
	s.Settings = branches.Settings{Terminal: "tmux", Commands: map[string][]string{"claude": {"/bin/sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait", "claude"}}}
}

// startingInTmux starts agents in windows of tmux, and removes their branches, again and again.
func startingInTmux(v killtest.Process, top string) {
	s := prepare(top)
	s.openInTmux()
	ctx := context.Background()
	v.Say("record")
	from := s.record()
	for {
		name := "b" + strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // another name each time
		v.Say("start", name)
		b, err := s.Start(ctx, user, branches.Params{Where: s.where(), From: from, Name: name, Message: "do it"})
		v.Must(err)
		if b.Agent.PID == 0 || b.Agent.Terminal != "tidemark-"+name+":"+b.Agent.Terminal[strings.LastIndexByte(b.Agent.Terminal, ':')+1:] {
			v.Fatalf("the agent is %+v", b.Agent)
		}
		v.Say("started", name)
		v.Say("remove", name)
		_, err = s.Remove(ctx, user, branches.OneParams{Where: s.where(), Name: name, Force: true})
		v.Must(err)
	}
}

// Whenever the daemon is killed while it starts an agent in a window of tmux, there is no branch or a whole one. Each window is that of
// a branch, which knows its agent.
func TestAKillWhileAWindowOpens(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed")
	}
	killtest.Victim(startingInTmux)
	t.Setenv("TMUX_TMPDIR", t.TempDir())
	t.Setenv("TMUX", "")
	t.Cleanup(func() { _ = exec.Command(tmux, "kill-server").Run() }) //nolint:noctx // the test has ended
	s := prepare(t.TempDir())
	s.write()
	files, said := fmt.Sprint(treetest.Read(t, s.dir)), read(t, s.transcript)
	started, found := map[string]bool{}, 0
	hunt := killtest.Hunt{
		Dir: s.top, Steps: []string{"start"}, Also: []string{"remove"}, Short: 3, Usual: 5,
		Said: func(step, name string) {
			switch step {
			case "started":
				started[name] = true
			case "remove": // it may be there or not
				delete(started, name)
			}
		},
		Survived: func(step string) {
			s.openInTmux()
			defer func() { failing(s.close()) }()
			var list *branches.List
			is := ""
			if err := testbed.Eventually(t.Context(), func() (bool, error) { // tmux may open a window after the kill
				var err error
				if list, err = s.List(t.Context(), user, branches.ListParams{Where: s.where()}); err != nil {
					return false, err
				}
				out, _ := exec.CommandContext(t.Context(), tmux, "list-panes", "-a", "-F", "#{pane_dead} #{pane_pid} #{session_name}:#{window_id} #{pane_current_path}").Output()
				is = string(out)
				known := map[string]bool{}
				for _, b := range list.Branches {
					known[fmt.Sprintf("0 %d %s", b.Agent.PID, b.Agent.Terminal)] = true
				}
				for line := range strings.Lines(is) {
					if line = strings.TrimSpace(line); strings.HasPrefix(line, "0 ") && !known[strings.Join(strings.Fields(line)[:3], " ")] {
						return false, fmt.Errorf("no branch knows its window %s", line)
					}
				}
				return true, nil
			}); err != nil {
				t.Fatalf("after a kill in %s: %v: %+v\n%s", step, err, list, is)
			}
			dirs := map[string]bool{}
			for _, b := range list.Branches {
				delete(started, b.Name)
				dirs[b.Workspace] = true
				if got := fmt.Sprint(treetest.Read(t, b.Workspace)); got != files {
					t.Errorf("after a kill in %s, branch %s has %s", step, b.Name, got)
				}
				if copies := glob(s.top, "claude", "projects", "*", b.Agent.Conversation+".jsonl"); len(copies) != 1 {
					t.Errorf("after a kill in %s, the conversation of %s is in %q", step, b.Name, copies)
				}
				if b.Agent.PID != 0 {
					found++
					if _, err := s.Remove(t.Context(), user, branches.OneParams{Where: s.where(), Name: b.Name, Force: true}); err != nil {
						t.Error(err)
					}
				}
			}
			for name := range started {
				t.Errorf("after a kill in %s, branch %s is missing", step, name)
			}
			clear(started)
			for _, dir := range glob(s.top, "branches", "*", "b*") {
				if !dirs[dir] {
					t.Errorf("after a kill in %s, %s is no branch", step, dir)
				}
			}
			if fmt.Sprint(treetest.Read(t, s.dir)) != files || read(t, s.transcript) != said {
				t.Errorf("after a kill in %s, the original has changed", step)
			}
		},
	}
	hunt.Run(t)
	t.Logf("%d times, a branch had its window", found)
}
