package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

func TestAnAgentIgnoresAnEntryUntilItsSessionEnds(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	var rules noiserules.NoiseAnswer
	t.Run("in its session", func(t *testing.T) {
		s := connect(t, w)
		w.Log("warning", "slow frame of 1234 ms")
		call(t, s, "get_changes_since", nil)
		var answer noiserules.NoiseAnswer
		noise := func(args map[string]any) {
			t.Helper()
			r := call(t, s, "configure_noise", args)
			answer = noiserules.NoiseAnswer{}
			if err := json.Unmarshal([]byte(text(r)), &answer); r.IsError || err != nil {
				t.Fatalf("%v: %s %v", args, text(r), err)
			}
		}
		noise(map[string]any{"action": "explain", "text": "slow frame"})
		if len(answer.Entries) != 1 || answer.PageText != report.Untrusted {
			t.Fatalf("%+v", answer)
		}
		e := answer.Entries[0]
		noise(map[string]any{"action": "add", "kind": e.Kind, "level": e.Level, "origin": e.Origin, "fingerprint": e.Fingerprint})
		if answer.Added == nil || !answer.Added.Session || answer.Added.Hides != 1 || answer.Added.By != "test" {
			t.Errorf("%+v", answer.Added)
		}
		w.Log("warning", "slow frame of 4321 ms")
		if got := text(call(t, s, "get_changes_since", nil)); !strings.Contains(got, `"noise_hidden":1`) || !strings.Contains(got, `"severity":"clean"`) {
			t.Error(got)
		}
		noise(map[string]any{})
		rules = answer
		if r := call(t, s, "configure_noise", map[string]any{"action": "add", "text": "ab"}); !r.IsError || !strings.Contains(text(r), "at least 3 characters") {
			t.Error(text(r))
		}
		if r := call(t, s, "configure_noise", map[string]any{"action": "add", "words": "ab"}); !r.IsError || !strings.Contains(text(r), `no argument "words"`) {
			t.Error(text(r))
		}
	})
	if len(rules.Rules) != 1 || rules.Hidden != 2 || len(rules.Packs) != 4 {
		t.Errorf("%+v", rules)
	}
	t.Run("in the next", func(t *testing.T) {
		if got := text(call(t, connect(t, w), "get_changes_since", nil)); strings.Contains(got, "noise_hidden") {
			t.Error(got)
		}
	})
}
