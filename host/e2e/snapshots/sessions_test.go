package snapshots

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestThePromptsSucceedWithDifferencesAsWithFullSnapshots: the specification's three prompts as scripted sessions;
// the agent knows of the page what it was told, and nothing else.
func TestThePromptsSucceedWithDifferencesAsWithFullSnapshots(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := testbed.Serve(testbed.SessionPages())
	defer s.Close()
	for _, session := range testbed.Sessions(5) {
		t.Run(session.Prompt, func(t *testing.T) {
			var told [2]int
			for i, full := range []bool{false, true} {
				a := w.NewAgent(t, "--origin", s.URL)
				p := w.Open(t, s.URL+session.Page)
				run, err := session.Run(a.Agent, p.Tab, full)
				if err != nil {
					t.Errorf("full %v: %v", full, err)
				}
				for _, text := range run.Told {
					told[i] += len(text)
				}
				if run.Looks > 0 {
					t.Errorf("full %v: %d times it was not told enough", full, run.Looks)
				}
				_ = a.Close()
				p.Close()
			}
			t.Logf("%d bytes with differences, %d with full snapshots", told[0], told[1])
			if told[0] >= told[1] {
				t.Error("differences saved nothing")
			}
		})
	}
}
