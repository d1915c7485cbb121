package e2etest

import (
	"encoding/json"
	"errors"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// Agent is an MCP client over `tidemark mcp`.
type Agent struct {
	T *testing.T
	*testbed.Agent
}

// NewAgent connects an agent.
func (w *World) NewAgent(t *testing.T, args ...string) *Agent {
	t.Helper()
	a, err := w.Program(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return &Agent{t, a}
}

// AgentOf connects an agent that sees a site only, and more origins if there are any.
func (w *World) AgentOf(t *testing.T, s *Site, origins ...string) *Agent {
	t.Helper()
	args := []string{"--origin", s.URL}
	for _, o := range origins {
		args = append(args, "--origin", o)
	}
	a := w.NewAgent(t, args...)
	t.Cleanup(func() { // a world that tests share holds twenty checkpoints
		var list struct{ Checkpoints []struct{ Name string } }
		if text, err := a.Text("checkpoint_list", nil); err != nil || json.Unmarshal([]byte(text), &list) != nil {
			return // it was stopped, or the agent is suspended
		}
		for _, c := range list.Checkpoints {
			_, _ = a.Text("checkpoint_delete", map[string]any{"name": c.Name})
		}
	})
	return a
}

// Do calls a tool and returns its text.
func (a *Agent) Do(tool string, args map[string]any) string {
	a.T.Helper()
	text, err := a.Text(tool, args)
	if err != nil {
		a.T.Fatalf("%s %v: %v", tool, args, err)
	}
	return text
}

// Call calls a tool and decodes its answer.
func (a *Agent) Call(tool string, args map[string]any, answer any) {
	a.T.Helper()
	result, err := a.Text(tool, args)
	if err != nil {
		a.T.Fatalf("%s: %v", tool, err)
	}
	if err := json.Unmarshal([]byte(result), answer); err != nil {
		a.T.Fatalf("%s: %v in %s", tool, err, result)
	}
}

// Cannot calls a tool that must fail with a code, and a message that contains the parts. It returns the message.
func (a *Agent) Cannot(tool string, args map[string]any, code usererr.Code, parts ...string) string {
	a.T.Helper()
	text, err := a.Text(tool, args)
	if err == nil {
		a.T.Fatalf("%s %v was done: %s", tool, args, text)
	}
	Coded(a.T, err, code, parts...)
	return err.Error()
}

// Refused calls a tool that must fail, and returns the message.
func (a *Agent) Refused(tool string, args map[string]any) string {
	a.T.Helper()
	text, err := a.Text(tool, args)
	if err == nil {
		a.T.Fatalf("%s did not refuse: %s", tool, text)
	}
	return err.Error()
}

// CodeOf returns the code of a tool's error, "" for another error and for nil.
func CodeOf(err error) usererr.Code {
	var failed *testbed.ToolError
	if !errors.As(err, &failed) {
		return ""
	}
	return failed.Code
}

// Coded checks that an error of a tool has a code, and a message that contains the parts.
func Coded(t *testing.T, err error, code usererr.Code, parts ...string) {
	t.Helper()
	if CodeOf(err) != code {
		t.Fatalf("want %s, got %v", code, err)
	}
	Holds(t, err.Error(), parts...)
}

// Changes returns the changes once the page is settled.
func (a *Agent) Changes() *report.Report {
	a.T.Helper()
	return a.ChangesWith(map[string]any{"wait": "settled"})
}

// ChangesWith calls get_changes_since.
func (a *Agent) ChangesWith(args map[string]any) *report.Report {
	a.T.Helper()
	var r report.Report
	a.Call("get_changes_since", args, &r)
	return &r
}

// Show returns a report as text, for a failed test's message.
func Show(r *report.Report) string {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}
