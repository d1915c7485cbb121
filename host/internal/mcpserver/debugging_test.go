package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	debugging "tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// debugger is a client with the set of tools for debugging alone.
func debugger(t *testing.T) *mcp.ClientSession {
	t.Helper()
	s, _ := debugs(t)
	return s
}

func debugs(t *testing.T) (*mcp.ClientSession, *enginetest.World) {
	t.Helper()
	w := enginetest.New(t, capture.Limits{})
	client := &checkpoint.Client{Name: "test", Sets: []string{tool.Debug}}
	return serve(t, w, client, w.Engine.Clients.Enter(client)), w
}

// answers has a page's debugger answer each method.
func answers(w *enginetest.World, of func(method string) (any, error)) {
	w.Debugged = func(_ context.Context, method string, _, answer any) error {
		a, err := of(method)
		if err != nil {
			return err
		}
		data, err := json.Marshal(a)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, answer)
	}
}

func decode[A any](t *testing.T, r *mcp.CallToolResult) (a A) {
	t.Helper()
	if err := json.Unmarshal([]byte(text(r)), &a); err != nil || r.IsError {
		t.Fatalf("%v in %s", err, text(r))
	}
	return a
}

func number(name string, n int) protocol.DebugField {
	return protocol.DebugField{DebugKey: protocol.DebugKey{Name: name}, Type: "number", Text: fmt.Sprint(n)}
}

// TestATraceGivesEachValueOnceWithinItsBudget: a call returns the hits since the last one, and a constant is one value.
func TestATraceGivesEachValueOnceWithinItsBudget(t *testing.T) {
	s, w := debugs(t)
	var all []protocol.DebugHit
	answers(w, func(method string) (any, error) {
		if method == protocol.MethodDebugTrace {
			return protocol.DebugTraced{Session: 1, Locations: []protocol.DebugLocation{{URL: enginetest.Page + "/app.js", Line: 4, Column: 3}}, Hits: all}, nil
		}
		return struct{}{}, nil
	})
	args := map[string]any{"url": "app.js", "line": 4, "column": 3, "paths": []string{"i", "order.total", "status", "user.id"}, "limit": 1000}
	trace := func(hits int) (debugging.Trace, string) {
		for range hits {
			i := len(all)
			status := protocol.DebugField{Type: "string", Text: []string{"loading", "ready"}[i/7%2]}
			all = append(all, protocol.DebugHit{At: w.Now.UnixMilli() + int64(16*i), Thread: 1, Values: []protocol.DebugField{number("", i), number("", 1000+37*i), status, number("", 4711)}})
		}
		answer := call(t, s, "snapshot_trace", args)
		return decode[debugging.Trace](t, answer), text(answer)
	}
	first, answer := trace(200)
	if n := tokens(t, answer); n > 1200 || n < 600 {
		t.Errorf("200 hits of 4 paths are %d tokens (budget 1,200): %s", n, answer)
	}
	if first.Hits != 200 || first.New != 0 || first.SpanMs != 199*16 || first.Evolution["user.id"] != "4711 ×200" || !strings.HasPrefix(first.Evolution["i"], "0 → 1 → 2") || !strings.HasSuffix(first.Evolution["i"], " → 199") {
		t.Errorf("%+v", first)
	}
	for _, value := range []string{"1037", "4711", "8363"} {
		if strings.Count(answer, value) != 1 {
			t.Errorf("%s is there %d times in %s", value, strings.Count(answer, value), answer)
		}
	}
	if again, answer := trace(0); again.Hits != 200 || len(again.Evolution) != 0 || tokens(t, answer) > 120 {
		t.Errorf("without new hits: %s", answer)
	}
	if later, answer := trace(3); later.Hits != 203 || later.New != 3 || later.Evolution["i"] != "200 → 201 → 202" || later.Evolution["user.id"] != "4711 ×3" {
		t.Errorf("later hits: %s", answer)
	}
}

// TestAPauseReportsWhatChanged: the answer that reports a pause has the top frame's variables, then only those that changed.
func TestAPauseReportsWhatChanged(t *testing.T) {
	s, w := debugs(t)
	at, paused := int64(1), true
	variables := []protocol.DebugVariable{}
	frame := protocol.DebugFrame{Function: "applyDiscount", URL: enginetest.Page + "/app.js", Line: 4, Column: 3}
	answers(w, func(method string) (any, error) {
		switch method {
		case protocol.MethodDebugState, protocol.MethodDebugRun:
			if !paused && method == protocol.MethodDebugRun {
				return nil, &protocol.Error{Code: protocol.CodeRunning, Message: "Nothing is paused."}
			}
			thread := protocol.DebugThread{ID: 1, Kind: protocol.ThreadPage, URL: enginetest.Page + "/"}
			if paused {
				thread.Paused = &protocol.DebugPause{At: at, Reason: protocol.PauseStep, Frames: []protocol.DebugFrame{frame}}
			}
			return protocol.DebugState{Active: true, Session: 1, Threads: []protocol.DebugThread{thread}}, nil
		case protocol.MethodDebugVariables:
			if !paused {
				return nil, &protocol.Error{Code: protocol.CodeRunning, Message: "Nothing is paused."}
			}
			return protocol.DebugVariables{Session: 1, Thread: 1, At: frame, Variables: variables}, nil
		}
		return struct{}{}, nil
	})
	set := func(name string, n int) {
		variables = append(variables, protocol.DebugVariable{Scope: "local", Value: number(name, n)})
	}
	step := func() (changed []string) {
		t.Helper()
		return decode[debugging.DebuggerState](t, call(t, s, "debugger_step", map[string]any{"kind": "over"})).Threads[0].Changed
	}
	set("total", 100)
	set("rate", 5)
	if got := strings.Join(step(), "; "); got != "total = 100; rate = 5" {
		t.Errorf("the first pause: %s", got)
	}
	at++
	variables[0].Value = number("total", 95)
	set("rounded", 95)
	want := "total: 100 → 95; + rounded = 95"
	if got := strings.Join(step(), "; "); got != want {
		t.Errorf("the second pause: %s", got)
	}
	again := decode[debugging.DebuggerState](t, call(t, s, "debugger_state", nil))
	if got := strings.Join(again.Threads[0].Changed, "; "); got != want {
		t.Errorf("the same pause again: %s", got)
	}
	at++
	if got := step(); len(got) != 0 {
		t.Errorf("nothing changed: %s", got)
	}
	at++
	for i := range 80 {
		set(fmt.Sprintf("customerNumber%d", i), 1_000_000+i)
	}
	long := step()
	data, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	if n := tokens(t, string(data)); n > 150 || n < 80 || !strings.Contains(long[len(long)-1], "more: variables_get") {
		t.Errorf("80 new variables are %d tokens (budget 150): %s", n, data)
	}
	paused = false
	for tool, args := range map[string]map[string]any{"debugger_step": {"kind": "over"}, "variables_get": nil, "snapshot_create": nil} {
		if r := call(t, s, tool, args); !r.IsError || r.Meta["code"] != string(usererr.PageRunning) {
			t.Errorf("%s of a running page: %v %s", tool, r.Meta["code"], text(r))
		}
	}
}
