package agents

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// rounds returns how many turns of four calls a long session has: 12, or as TIDEMARK_ROUNDS says (`make conversations`: 50).
func rounds(t *testing.T) int {
	t.Helper()
	s := os.Getenv("TIDEMARK_ROUNDS")
	if s == "" {
		return 12
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 6 || n > 99 {
		t.Fatalf("TIDEMARK_ROUNDS is %q; use 6 to 99", s)
	}
	return n
}

// A session of many calls, some of them in parallel, is recorded whole, and each change of a file is below a call that may have
// made it.
func TestALongSessionOfClaudeCodeIsRecordedWhole(t *testing.T) {
	w := newWorld(t)
	var turns []modelserver.Turn
	var ids []string
	for i := range rounds(t) {
		name := fmt.Sprintf("f%02d.js", i)
		turn := modelserver.Turn{Calls: []modelserver.Call{call(fmt.Sprintf("toolu_%02d_write", i), "Write", map[string]any{"file_path": filepath.Join(w.project, name), "content": fmt.Sprintf("let v = %d\n", i)})}}
		for _, kind := range []string{"a", "b", "c"} {
			turn.Calls = append(turn.Calls, call(fmt.Sprintf("toolu_%02d_%s", i, kind), "Bash", map[string]any{"command": fmt.Sprintf("echo %d > g%02d%s.txt", i, i, kind), "description": "write"}))
		}
		for _, c := range turn.Calls {
			ids = append(ids, c.ID)
		}
		turns = append(turns, turn)
	}
	w.claude(claudeEvents, "write many files", append(turns, modelserver.Turn{Text: "All done."})...)
	w.whole("toolu_", ids, "both")
}

// The same of Codex, whose edits are patches: with all hooks, and where the hooks of patches are missed.
func TestALongSessionOfCodexIsRecordedWhole(t *testing.T) {
	for name, c := range map[string]struct {
		hooks []string
		from  string
	}{
		"with all hooks": {codexEvents, "both"},
		"missed calls":   {[]string{"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"}, conversation.FromTranscript},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var turns []modelserver.Turn
			var ids []string
			for i := range rounds(t) {
				turn := modelserver.Turn{Calls: []modelserver.Call{call(fmt.Sprintf("call_%02d_write", i), "apply_patch", fmt.Sprintf("*** Begin Patch\n*** Add File: f%02d.js\n+let v = %d\n*** End Patch\n", i, i))}}
				for _, kind := range []string{"a", "b", "c"} {
					turn.Calls = append(turn.Calls, call(fmt.Sprintf("call_%02d_%s", i, kind), "exec_command", map[string]any{"cmd": fmt.Sprintf("echo %d > g%02d%s.txt", i, i, kind)}))
				}
				for _, c := range turn.Calls {
					ids = append(ids, c.ID)
				}
				turns = append(turns, turn)
			}
			w.codex(w.settings(c.hooks...), []string{"write many files"}, append(turns, modelserver.Turn{Text: "All done."})...)
			w.whole("call_", ids, c.from)
		})
	}
}

// whole checks that a session of calls is recorded, and that each file is below its call or one of several with it. The
// name of a file has the number of its turn and the kind of its call.
func (w *world) whole(prefix string, ids []string, source string) {
	w.Helper()
	o := w.recording()
	var got []string
	for _, c := range o.Turns[0].Calls {
		if got = append(got, c.ID); c.Outcome != "ok" || c.Source != source {
			w.Errorf("%s is %s from %s", c.ID, c.Outcome, c.Source)
		}
	}
	slices.Sort(got)
	slices.Sort(ids)
	equal(w.T, "the calls", got, ids)
	if c := o.Coverage; c.OnlyHook+c.Unknown+c.Damaged != 0 || c.OnlyTranscript != 0 && source == "both" {
		w.Errorf("the coverage is %+v", c)
	}
	tree := w.wholeTree(len(ids))
	if len(tree.Files) != 0 {
		w.Errorf("changes by no call: %+v", tree.Files)
	}
	named, oneOf, seen := 0, 0, map[string]bool{}
	walkCalls(tree, func(id string, f string, several []string) {
		maker := prefix + f[1:3] + "_write"
		if f[0] == 'g' {
			maker = prefix + f[1:3] + "_" + f[3:4]
		}
		if seen[f] {
			return
		}
		seen[f] = true
		switch {
		case len(several) == 0 && id == maker:
			named++
		case slices.Contains(several, maker):
			oneOf++
		default:
			w.Errorf("%s is below %s, one of %q", f, id, several)
		}
	})
	var files []string // each call writes one
	for _, id := range ids {
		turn, kind, _ := strings.Cut(strings.TrimPrefix(id, prefix), "_")
		if kind == "write" {
			files = append(files, "f"+turn+".js")
		} else {
			files = append(files, "g"+turn+kind+".txt")
		}
	}
	slices.Sort(files)
	equal(w.T, "the files below calls", slices.Sorted(maps.Keys(seen)), files)
	if w.Logf("%d files name their call, %d one of several", named, oneOf); named < len(ids)/4 {
		w.Error("an edit must name its file")
	}
}
