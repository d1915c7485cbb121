package faults

import (
	"encoding/json"
	"fmt"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestTheCallsOfAKilledAgentEnd: what an agent waits for ends with it, also what would have taken minutes.
func TestTheCallsOfAKilledAgentEnd(t *testing.T) {
	w := e2etest.LoggedWorld(t)
	s := w.NewStream("profile", "life", "stream")
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	clients := func() (n int, err error) {
		var st struct{ Clients []struct{ Name string } }
		err = json.Unmarshal([]byte(w.Run("status", "--json").Out), &st)
		return len(st.Clients), err
	}
	a, err := w.Agent()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	asked := make(chan error, 1)
	go func() {
		_, err := a.Text("get_changes_since", map[string]any{"wait": "reload", "timeout_ms": 600_000})
		asked <- err
	}()
	await := func(want int) {
		t.Helper()
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			n, err := clients()
			if err == nil && n != want {
				err = fmt.Errorf("%d clients are connected, not %d", n, want)
			}
			return n == want, err
		}); err != nil {
			t.Fatal(err)
		}
	}
	await(1)
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err == nil {
		t.Error("a killed agent was answered")
	}
	await(0)
}
