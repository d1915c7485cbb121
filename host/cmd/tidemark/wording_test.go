package main

import "testing"

func TestAnswersNameCommands(t *testing.T) {
	const page = "[Changes only; full_snapshot for all]\n- link \"browser_snapshot\" [e2]\n# 3 left out to fit max_tokens; use search\n"
	const want = "[Changes only; --full for all]\n- link \"browser_snapshot\" [e2]\n# 3 left out to fit --max-tokens; use search\n"
	if got := snapshotInCommands(page); got != want {
		t.Errorf("%s", got)
	}
	for text, want := range map[string]string{
		"no browser is connected. Open the page with browser_open.":             "no browser is connected. Open the page with `tidemark browser URL`.",
		"create one with checkpoint_create, or omit checkpoint to read changes": "create one with `tidemark checkpoint add`, or omit --since to read changes",
		"name is missing. Pass a name from checkpoint_list.":                    "name is missing. Pass a name from `tidemark checkpoint list`.",
	} {
		if got := inCommands.Replace(text); got != want {
			t.Errorf("%s", got)
		}
	}
}
