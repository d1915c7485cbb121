package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// changesOnly is a browser in which a page never changes, so a wait for a change takes its whole time.
func changesOnly(ctx context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
	if p.Steps[0].Op == protocol.StepChange || p.Steps[0].Op == protocol.StepClick {
		select {
		case <-time.After(time.Duration(p.SettleMs) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &protocol.ActResult{Done: len(p.Steps)}, nil
}

// refusal returns an action's error, or its answer's refusal as an error.
func refusal(answer *act.Answer, err error) error {
	if err == nil && answer.Refused != nil {
		return errors.New(render.Action(answer))
	}
	return err
}

// A wait of two minutes blocks neither another agent's look at the same page nor another look of the same agent.
func TestAWaitHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewLive(t, nil)
		var mu sync.Mutex
		b := &browser{button: "One"}
		w.Look = func(ctx context.Context, p protocol.AriaParams) (*protocol.AriaResult, error) {
			mu.Lock()
			defer mu.Unlock()
			return b.look(ctx, p)
		}
		w.Do = changesOnly
		one, two := w.Agent(), w.Agent()
		wait := 120_000
		began := time.Now()
		waited := make(chan error, 1)
		go func() {
			err := refusal(w.Engine.Actor.WaitFor(t.Context(), one, act.WaitParams{Text: "never", TimeoutMs: &wait}))
			waited <- err
		}()
		for i := range 50 {
			time.Sleep(777 * time.Millisecond)
			mu.Lock()
			b.button = fmt.Sprintf("Button %c", 'A'+i%26)
			mu.Unlock()
			for _, c := range []*checkpoint.Client{two, one} {
				at := time.Now()
				s := snapshot(t, w, c, pages.SnapshotParams{})
				if took := time.Since(at); took > 0 {
					t.Fatalf("a snapshot took %s", took)
				}
				if !strings.Contains(s.Snapshot, b.button) {
					t.Fatalf("%d: %s", i, s.Snapshot)
				}
				if _, err := w.Engine.Observer.Changes(t.Context(), c, observe.ChangesParams{}); err != nil || time.Since(at) > 0 {
					t.Fatalf("another call: %v after %s", err, time.Since(at))
				}
			}
		}
		if err := <-waited; err == nil || !strings.Contains(err.Error(), `"never" did not appear`) || time.Since(began) < 2*time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// Waits and screenshots take no lease. They neither block acting agents nor are blocked by them, and the user can
// stop them all the same.
func TestAWaitKeepsNoTab(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *enginetest.World, int){
		"a person stops the agent": func(t *testing.T, w *enginetest.World, id int) {
			if err := w.Engine.Actor.StopAgent(id); err != nil {
				t.Error(err)
			}
		},
		"a person suspends its access": func(t *testing.T, w *enginetest.World, id int) {
			if _, err := w.Engine.Viewer.Agents.SetSuspended(t.Context(), protocol.ViewHoldParams{Agent: id, Held: true}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { waitsBesideActions(t, end) }) })
	}
}

func waitsBesideActions(t *testing.T, end func(*testing.T, *enginetest.World, int)) {
	w := enginetest.NewLive(t, nil)
	b := &browser{button: "One"}
	var mu sync.Mutex
	w.Look = func(ctx context.Context, p protocol.AriaParams) (*protocol.AriaResult, error) {
		mu.Lock()
		defer mu.Unlock()
		return b.look(ctx, p)
	}
	w.Do = func(ctx context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
		if p.Steps[0].Op == protocol.StepClick {
			return &protocol.ActResult{Done: 1}, nil
		}
		return changesOnly(ctx, p)
	}
	one, two := w.Agent(), w.Agent()
	refs := map[*checkpoint.Client]string{}
	for _, c := range []*checkpoint.Client{one, two} {
		refs[c] = strings.Trim(reference.FindString(snapshot(t, w, c, pages.SnapshotParams{}).Snapshot), "[]")
	}
	click := func(c *checkpoint.Client) error {
		return refusal(w.Engine.Actor.Click(t.Context(), c, act.ClickParams{Ref: refs[c]}))
	}
	wait := func(c *checkpoint.Client, ms int) error {
		return refusal(w.Engine.Actor.WaitFor(t.Context(), c, act.WaitParams{Text: "never", TimeoutMs: &ms}))
	}
	picture := func(c *checkpoint.Client) error {
		return refusal(w.Engine.Actor.Screenshot(t.Context(), c, act.ScreenshotParams{}))
	}
	began := time.Now()
	waited := make(chan error, 1)
	go func() { waited <- wait(one, 100_000) }()
	time.Sleep(time.Second)
	if agents := w.Engine.Actor.Agents(); len(agents) != 0 {
		t.Errorf("a wait is shown as acting: %+v", agents)
	}
	at := time.Now()
	if err := click(two); err != nil {
		t.Errorf("another agent's click: %v", err)
	}
	if err := wait(two, 0); err == nil || !strings.Contains(err.Error(), `"never" did not appear`) {
		t.Errorf("another agent's wait: %v", err)
	}
	if err := picture(two); err != nil {
		t.Errorf("another agent's picture: %v", err)
	}
	if err := picture(one); err != nil { // while the other agent has the tab
		t.Errorf("its own picture: %v", err)
	}
	if took := time.Since(at); took > 0 {
		t.Errorf("they took %s", took)
	}
	if err := click(one); err == nil || !strings.Contains(err.Error(), "in use by another agent") {
		t.Errorf("a click in a tab that another agent acted on just now: %v", err)
	}
	time.Sleep(20 * time.Second)
	at = time.Now()
	if err := click(one); err != nil || time.Since(at) > 0 {
		t.Errorf("its own click took %s: %v", time.Since(at), err)
	}
	agents := w.Engine.Actor.Agents()
	for _, a := range agents {
		if a.Acting || !strings.HasPrefix(a.What, "click") {
			t.Errorf("%+v", a)
		}
	}
	end(t, w, agents[len(agents)-1].ID)
	err := <-waited
	if code := usererr.CodeOf(err); code != usererr.AgentStopped && code != usererr.AgentSuspended || time.Since(began) > 30*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

// A call that waits for an unresponsive browser ends with its own context.
func TestEveryWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewLive(t, nil)
		w.Open(8, enginetest.Page+"/other")
		stuck := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		w.Look = func(ctx context.Context, _ protocol.AriaParams) (*protocol.AriaResult, error) { return nil, stuck(ctx) }
		w.Do = func(ctx context.Context, _ protocol.ActParams) (*protocol.ActResult, error) { return nil, stuck(ctx) }
		w.Debugged = func(ctx context.Context, method string, _, _ any) error {
			if method == protocol.MethodDebugEnd || method == protocol.MethodDebugLeave {
				return nil
			}
			return stuck(ctx)
		}
		calls := map[string]func(context.Context, *checkpoint.Client) error{
			"browser_snapshot": func(ctx context.Context, c *checkpoint.Client) error {
				_, err := w.Engine.Pages.Snapshot(ctx, c, pages.SnapshotParams{Tab: 1})
				return err
			},
			"browser_wait_for": func(ctx context.Context, c *checkpoint.Client) error {
				return refusal(w.Engine.Actor.WaitFor(ctx, c, act.WaitParams{Text: "never", Tab: 1}))
			},
			"browser_screenshot": func(ctx context.Context, c *checkpoint.Client) error {
				return refusal(w.Engine.Actor.Screenshot(ctx, c, act.ScreenshotParams{Tab: 2}))
			},
			"debugger_pause": func(ctx context.Context, c *checkpoint.Client) error {
				_, err := w.Engine.Inspector.DebuggerPause(ctx, c, debugger.PauseParams{Where: debugger.Where{Tab: 1}})
				return err
			},
			"browser_console_messages": func(ctx context.Context, c *checkpoint.Client) error {
				_, err := w.Engine.Observer.Peek(ctx, c)
				return errors.Join(err, context.Canceled)
			},
		}
		before := w.Agent()
		holding, release := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, call := range calls {
			all.Go(func() { _ = call(holding, before) }) // waits as long as this test
		}
		synctest.Wait()
		for name, call := range calls {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			for _, c := range []*checkpoint.Client{before, w.Agent()} {
				all.Go(func() {
					began := time.Now()
					if err := call(ctx, c); err == nil {
						t.Errorf("%s answered", name)
					}
					if took := time.Since(began); took > time.Second {
						t.Errorf("%s took %s", name, took)
					}
				})
			}
			time.Sleep(2 * time.Second)
			cancel()
		}
		release()
		all.Wait()
	})
}

// stuckDisk is a disk that blocks until it is freed.
type stuckDisk struct{ free chan struct{} }

func (d *stuckDisk) Past() (observe.Past, error) {
	<-d.free
	return nil, errors.New("it was stuck")
}
func (d *stuckDisk) ReadersChanged()            {}
func (d *stuckDisk) Sync(context.Context) error { return nil }
func (d *stuckDisk) ID() string                 { return "journal" }

// A blocked disk blocks only the call that reads it. A second call of the same client ends with its context, and no
// other client is affected.
func TestAStuckDiskHoldsUpOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := capture.DefaultLimits()
		limits[capture.Console].Count = 5
		disk := &stuckDisk{make(chan struct{})}
		w := enginetest.NewKept(t, limits, disk)
		c, leave := w.Engine.Clients.Join("session 1", "agent", checkpoint.Scope{})
		defer leave()
		w.Changes(c, observe.ChangesParams{})
		for i := range 20 {
			w.Log("error", fmt.Sprintf("fault %c", 'a'+i))
		}
		first := make(chan error, 1)
		go func() {
			_, err := w.Engine.Observer.Changes(t.Context(), c, observe.ChangesParams{})
			first <- err
		}()
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Engine.Observer.Changes(ctx, c, observe.ChangesParams{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second call: %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("the second call took %s", took)
		}
		began = time.Now()
		w.Engine.Heard(c)
		if n := len(w.Engine.Readers()); n != 1 {
			t.Errorf("%d clients", n)
		}
		w.Changes(w.Agent(), observe.ChangesParams{})
		if took := time.Since(began); took > 0 {
			t.Errorf("others waited %s", took)
		}
		close(disk.free)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}
