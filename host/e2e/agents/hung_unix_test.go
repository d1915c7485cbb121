//go:build !windows

package agents

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// A daemon that hangs during a whole session has the events with their times, in their order, and both sources of each call.
func TestASessionDuringWhichTheDaemonHangs(t *testing.T) {
	w := newWorld(t)
	pid := e2etest.DaemonPID(t, w.World.World)
	send := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	send(syscall.SIGSTOP)
	defer send(syscall.SIGCONT)
	w.claude(claudeEvents, "go",
		modelserver.Turn{Calls: []modelserver.Call{call("toolu_01", "Write", map[string]any{"file_path": filepath.Join(w.project, "d.ts"), "content": "one\ntwo\n"})}},
		modelserver.Turn{Calls: []modelserver.Call{bash("toolu_02", "cat .env", false)}},
		modelserver.Turn{Calls: []modelserver.Call{bash("toolu_03", "sleep 1; sed -i s/two/TWO/ d.ts", false)}},
		modelserver.Turn{Text: "done"})
	send(syscall.SIGCONT)
	w.equalMade(w.joined(1), "d.ts", "one of toolu_01 toolu_03")
	o := w.recording()
	var order []string
	for _, c := range o.Turns[0].Calls {
		order = append(order, c.ID+" "+c.Source)
	}
	want := []string{"toolu_01 both", "toolu_02 both", "toolu_03 both"}
	if len(o.Turns) != 1 || !slices.Equal(order, want) || o.Coverage.OnlyHook != 0 {
		t.Errorf("%d turns, the calls are %s, the coverage %+v", len(o.Turns), strings.Join(order, ", "), o.Coverage)
	}
}
