package timeline_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestATimelineThatCannotBeReadAnswersEveryCallWithTheReason, and does not crash.
func TestATimelineThatCannotBeReadAnswersEveryCallWithTheReason(t *testing.T) {
	reason := errors.New("the timeline cannot be read")
	broken, dir := timeline.Broken(reason), t.TempDir()
	agent := &checkpoint.Client{Scope: checkpoint.Scope{Workspace: dir}}
	// With each call, arguments that the tool does not have are left out.
	given := map[string]any{
		"dir": dir, "label": "now", "kind": "manual", "to": "m1", "from": "m1", "path": "a", "line": 1, "session": "s1", "moment": "m1", "id": "m1",
		"name": "a", "command": "make", "op": "op1", "confirm": true, "recording": "r1",
	}
	for _, one := range timeline.Tools {
		answersWith(t, reason, one, broken, agent, given)
		answersWith(t, reason, one, broken, timelinetest.User, given)
	}
	for _, one := range timeline.UserTools {
		answersWith(t, reason, one, broken, timelinetest.User, given)
	}
	for _, one := range append(operations.Tools, operations.UserTools...) {
		answersWith(t, reason, one, broken.Operations, timelinetest.User, given)
	}
}

func answersWith[H any](t *testing.T, reason error, one *tool.Tool[H], of H, client *checkpoint.Client, given map[string]any) {
	t.Helper()
	args := map[string]any{}
	for name, value := range given {
		data, err := json.Marshal(map[string]any{name: value})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := one.Call(t.Context(), of, client, data); err == nil || !strings.Contains(err.Error(), "has no argument") {
			args[name] = value
		}
	}
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Call(t.Context(), of, client, data); !errors.Is(err, reason) {
		t.Errorf("%s %s: %v", one.Name, data, err)
	}
}
