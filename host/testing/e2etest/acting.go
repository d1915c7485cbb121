package e2etest

import (
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/diff"
)

// Acted is an action's answer, with its text.
type Acted struct {
	act.Answer
	text string
}

func (d *Acted) String() string { return d.text }

// Answer calls an acting tool. Its action may be refused.
func (a *Agent) Answer(tool string, args map[string]any) *Acted {
	a.T.Helper()
	var d Acted
	var err error
	if d.text, err = a.Data(tool, args, &d.Answer); err != nil {
		a.T.Fatalf("%s %v: %v", tool, args, err)
	}
	return &d
}

// Act calls an acting tool, whose action must be carried out. Where the page does not answer in time, as on a machine that
// stalls, it waits as an agent would. Then the answer is that of the wait, with what the action broke.
func (a *Agent) Act(tool string, args map[string]any) *Acted {
	a.T.Helper()
	d := a.Answer(tool, args)
	if d.Refused != nil {
		a.T.Fatalf("%s %v: %s", tool, args, d)
	}
	if d.Busy {
		a.T.Logf("%s %v: %s", tool, args, d)
		waited := a.Answer("browser_wait_for", map[string]any{"settled": true})
		if waited.Refused != nil {
			a.T.Fatalf("%s %v, after it: %s", tool, args, waited)
		}
		waited.Broke = append(d.Broke, waited.Broke...)
		return waited
	}
	return d
}

// Refusal calls an acting tool, whose action must be refused for a reason (protocol.Refused…) after some steps.
func (a *Agent) Refusal(tool string, args map[string]any, reason string, done int) *Acted {
	a.T.Helper()
	d := a.Answer(tool, args)
	if d.Refused == nil || d.Refused.Reason != reason || d.Refused.Done != done {
		a.T.Fatalf("%s %v: want it refused as %s after %d steps: %+v\n%s", tool, args, reason, done, d.Refused, d)
	}
	a.T.Log(d)
	return d
}

// Intact checks that an action broke nothing, and that its answer could know so.
func Intact(t *testing.T, d *Acted) {
	t.Helper()
	if len(d.Broke) > 0 || d.Dialog != nil || d.Busy {
		t.Errorf("it broke, or is not over:\n%s", d)
	}
}

// Said returns the texts of what an action caused.
func Said(list []diff.Consequence) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s ×%d\n", c.Text, c.Count)
	}
	return b.String()
}
