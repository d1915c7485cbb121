package branches

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// What an agent does in a branch, or in a branch of one, is kept while no daemon runs. The decisions are those of the original.
func TestWhatHooksOfBranchesReportIsKeptWithoutADaemon(t *testing.T) {
	w := newWorld(t, "")
	w.run("project", "allow", "--grant", "conversation", w.project)
	first := w.branch("first", "")
	in := func(dir string, answer any, args ...string) {
		t.Helper()
		if r := w.RunIn(dir, append(args, "--json")...); r.Code != 0 {
			t.Fatal(r.Err)
		} else if err := json.Unmarshal([]byte(r.Out), answer); err != nil {
			t.Fatal(err)
		}
	}
	var second answers.Branched
	in(first.Workspace, &second, "timeline", "session-branch", "--moment", "now", "--name", "second")
	dirs := map[string]string{"original": w.project, "first": first.Workspace, "second": second.Workspace}
	hooked := func(name, dir string) string {
		cmd := w.Command("hook", "--debug")
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":%q,"cwd":%q,"prompt_id":"p1","hook_event_name":"UserPromptSubmit","prompt":"asked in %s"}`, name, dir, name))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	w.run("stop")
	for name, dir := range dirs {
		if out := hooked(name, dir); !strings.Contains(out, "will be recorded by the next daemon") {
			t.Errorf("%s: %s", name, out)
		}
	}
	for name, dir := range dirs {
		var list answers.List
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			in(dir, &list, "timeline", "list")
			return strings.Contains(fmt.Sprintf("%+v", list.Moments), "when no daemon recorded it"), nil
		}); err != nil {
			t.Errorf("%v: the moments of %s are %+v", err, name, list.Moments)
		}
	}
	w.run("project", "deny", w.project)
	w.run("stop")
	for name, dir := range dirs {
		if out := hooked(name, dir); strings.Contains(out, "next daemon") {
			t.Errorf("%s, denied: %s", name, out)
		}
	}
}
