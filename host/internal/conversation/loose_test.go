package conversation_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/conversation"
)

// Agents that give their calls no IDs run the same command again and again. Each run is a call of its own, from its beginning to
// its end, however often an event arrives.
func TestCallsWithoutAnID(t *testing.T) {
	w := newWorld(t)
	input := json.RawMessage(`{"command": "npm test"}`)
	record := func(kind conversation.Kind, input json.RawMessage, nonce string) string {
		w.pass(time.Second)
		e := conversation.Event{
			Kind: kind, Agent: "gemini", Session: "g", Dir: w.root, Tool: "run_shell_command", Input: input, Nonce: nonce,
			Call: conversation.LooseID("run_shell_command", input, nonce), At: w.now().UnixMilli(),
		}
		e.Describe()
		for range 2 { // a hook that got no answer leaves the event in the spool too
			if err := w.store.Record(e); err != nil {
				t.Fatal(err)
			}
		}
		return e.Call
	}
	var want []string
	for _, nonce := range []string{"1", "2"} {
		record(conversation.Call, input, "begin"+nonce)
		w.pass(5 * time.Second)
		want = append(want, record(conversation.Result, json.RawMessage(`{"command":"npm test"}`), "end"+nonce))
	}
	want = append(want, record(conversation.Result, json.RawMessage(`{"command":"ls"}`), "alone"))
	running := record(conversation.Call, input, "begin3")
	check := func() {
		t.Helper()
		a, err := w.store.Show(context.Background(), &checkpoint.Client{User: true}, conversation.ShowParams{ID: "g"})
		if err != nil || len(a.Turns) != 1 {
			t.Fatalf("%v: %+v", err, a)
		}
		var got []string
		for i, c := range a.Turns[0].Calls {
			got = append(got, c.ID)
			if took := 6 * time.Second; i < 2 && c.Ended.Sub(c.Started.Time) != took {
				t.Errorf("%s took from %v to %v", c.ID, c.Started, c.Ended)
			}
		}
		if len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != running {
			t.Errorf("the calls are %q, want %q and %q", got, want, running)
		}
		list, err := w.store.List(context.Background(), &checkpoint.Client{User: true}, conversation.ListParams{})
		if err != nil || list.Recordings[0].Calls != 3 { // the one that runs has no result yet
			t.Errorf("%v: the list is %+v", err, list)
		}
	}
	check()
	w.store.Close()
	w.open()
	check()
}
