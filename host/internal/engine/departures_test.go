package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// asked are the debugging methods that a browser received, with the client of each.
type asked struct {
	mu   sync.Mutex
	list []string
}

func (a *asked) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.list
	a.list = nil
	return list
}

func (a *asked) debug(_ context.Context, method string, params, answer any) error {
	var client int
	switch p := params.(type) {
	case protocol.DebugCaller:
		client = p.Client
	case protocol.DebugRunParams:
		client = p.Client
	case protocol.DebugBreakpointParams:
		client = p.Breakpoint.Client
	default:
		return nil
	}
	if s, ok := answer.(*protocol.DebugState); ok {
		s.Active = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, fmt.Sprintf("%s of %d", method, client))
	return nil
}

// The browser knows the owner of each pause, and is informed of each agent that leaves, even of one among others.
func TestAnAgentThatLeavesTakesItsPausesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewLive(t, nil)
		var browser asked
		w.Debugged = browser.debug
		a, leaveA := w.Engine.Clients.Join("", "agent", checkpoint.Scope{})
		b, leaveB := w.Engine.Clients.Join("", "agent", checkpoint.Scope{}) // of the same name
		for _, c := range []*checkpoint.Client{a, b} {
			if _, err := w.Engine.Inspector.DebuggerPause(t.Context(), c, debugger.PauseParams{}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Engine.Inspector.BreakpointSet(t.Context(), c, debugger.BreakpointParams{URL: "http://localhost/app.js", Line: 1}); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"debug_run of 1", "debug_scripts of 1", "debug_breakpoint of 1", "debug_run of 2", "debug_scripts of 2", "debug_breakpoint of 2"}
		if got := browser.take(); !slices.Equal(got, want) {
			t.Errorf("asked: %v", got)
		}
		leaveA()
		synctest.Wait()
		if got := browser.take(); !slices.Equal(got, []string{"debug_leave of 1"}) {
			t.Errorf("when one of two has left: %v", got)
		}
		leaveB()
		synctest.Wait()
		if got := browser.take(); !slices.Equal(got, []string{"debug_end of 2"}) {
			t.Errorf("when the last has left: %v", got)
		}
	})
}

// A browser that does not answer does not delay a client that leaves.
func TestLeavingDoesNotWaitForBrowsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewLive(t, nil)
		w.Open(8, enginetest.Page+"/other")
		var browser asked
		w.Debugged = func(ctx context.Context, method string, params, answer any) error {
			if method == protocol.MethodDebugEnd {
				<-ctx.Done()
				return ctx.Err()
			}
			return browser.debug(ctx, method, params, answer)
		}
		a, leave := w.Engine.Clients.Join("", "agent", checkpoint.Scope{})
		for _, tab := range []int{1, 2} {
			if _, err := w.Engine.Inspector.DebuggerPause(t.Context(), a, debugger.PauseParams{Where: debugger.Where{Tab: tab}}); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		leave()
		if took := time.Since(began); took > 0 {
			t.Errorf("leaving took %s", took)
		}
		time.Sleep(time.Minute) // calls to a browser end too
	})
}
