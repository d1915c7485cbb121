package hook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/hook"
)

func sorted(lines string) string {
	list := strings.Split(lines, "\n")
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// What the recording gets of the hooks of real agents.
func TestWhatAgentsReportIsRecorded(t *testing.T) {
	for name, want := range map[string]string{
		"claude-2.1.332": `s claude startup
p claude Change a to 2, with TOKEN
r claude toolu_01 Read ok
r claude toolu_02 Read ok
r claude toolu_03 Edit a.js ok
r claude toolu_04 Bash echo 'password: TOKEN' > b.txt; cat b.txt ok
r claude toolu_05 Bash false failed
a claude
r claude toolu_07 Write c.js ok in a subagent
z claude c.js is written. in a subagent
r claude toolu_06 Agent ok started a subagent
t claude All done.
e claude other
`,
		"codex-0.169.0": `s codex startup
p codex Change a to 2, with TOKEN
r codex call_01 Bash cat a.js
r codex call_02 apply_patch a.js
r codex call_03 Bash false
r codex call_04 Bash echo 'password: TOKEN' > b.txt; cat b.txt
t codex All done.
e codex other
`,
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("../conversation/testdata", name+".hooks.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			session := ""
			for line := range strings.Lines(string(data)) {
				call, err := hook.Parse([]byte(line), false)
				if err != nil || call.Recorded == nil {
					t.Fatalf("%v: %s", err, line)
				}
				e := call.Recorded
				words := append([]string{string(e.Kind), e.Agent, e.Call, e.Tool, e.Text, e.Command}, e.Files...)
				words = append(words, e.Outcome)
				if e.Sub != "" && e.Kind != 'a' {
					words = append(words, "in a subagent")
				}
				if e.Spawned != "" {
					words = append(words, "started a subagent")
				}
				fmt.Fprintln(&got, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
				if session == "" {
					session = e.Session
				}
				if e.Session != session || e.Dir != "/home/me/shop" || e.Kind == 'r' && e.Turn == "" {
					t.Errorf("the event has the session %q, the directory %q and the turn %q", e.Session, e.Dir, e.Turn)
				}
			}
			// Hooks of parallel calls run in any order.
			if got, want := sorted(got.String()), sorted(want); got != want {
				t.Errorf("%s\nwant:\n%s", got, want)
			}
		})
	}
}
