//go:build linux

package reports

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestTwoBrowsersAtOnce: both are told, neither's end costs the other anything, and the end of one is a gap.
func TestTwoBrowsersAtOnce(t *testing.T) {
	first := e2etest.OwnWorld(t)
	second, err := first.Another()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := first.AgentOf(t, s)
	one, two := first.Open(t, s.URL), (&e2etest.World{World: second}).Open(t, s.URL)
	a.Changes()
	one.JS(`console.error('from the first')`)
	two.JS(`console.error('from the second')`)
	if r := a.Changes(); r.Console.TotalNewEntries != 2 || len(r.Console.NewErrors) != 2 || r.Coverage != nil {
		t.Errorf("%s", e2etest.Show(r))
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	one.JS(`console.error('the first goes on')`)
	if r := a.Changes(); r.Console.TotalNewEntries != 1 {
		t.Errorf("%s", e2etest.Show(r))
	}
	third, err := first.Another()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = third.Close() })
	three := (&e2etest.World{World: third}).Open(t, s.URL)
	three.JS(`console.error('from the third')`)
	if r := a.Changes(); r.Console.TotalNewEntries != 1 {
		t.Errorf("%s", e2etest.Show(r))
	}
}

// TestAPrivateWindowIsNotCaptured: Chrome hands it to no extension that the person has not allowed there.
func TestAPrivateWindowIsNotCaptured(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	ctx, cancel := chromedp.NewContext(w.Browser.Context(), chromedp.WithNewBrowserContext())
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(s.URL)); err != nil {
		t.Fatal(err)
	}
	private := &e2etest.Tab{T: t, Tab: &testbed.Tab{Ctx: ctx}}
	private.JS(`console.error('private'); await fetch('/private')`)
	p.JS(`console.error('public')`)
	if r := a.Changes(); r.Console.TotalNewEntries != 1 || r.Console.NewErrors[0].Message != "public" || r.Network != nil && len(r.Network.Failures) > 0 {
		t.Errorf("%s", e2etest.Show(r))
	}
}

// TestSleepAndResume: everything is held as when a machine sleeps. What is captured afterwards is told, and
// nothing was missed, for nothing ran.
func TestSleepAndResume(t *testing.T) {
	w := e2etest.OwnWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	p.JS(`globalThis.n = 0; setInterval(() => console.error('tick ' + ++n), 20)`)
	for range 2 {
		asleep := processesOf(t, w.World)
		if len(asleep) < 4 { // browser, relay, daemon, agent
			t.Fatalf("%d processes", len(asleep))
		}
		send(asleep, syscall.SIGSTOP)
		<-time.After(3 * time.Second) // for as long as the machine sleeps
		send(asleep, syscall.SIGCONT)
		p.JS(`const before = n; while (n < before + 20) await new Promise((done) => setTimeout(done, 10))`)
	}
	p.JS(`for (let i = 0; i < 1e6; i++) clearInterval(i); console.error('last of ' + n)`)
	var page struct{ Entries []struct{ Message string } }
	err := testbed.Eventually(t.Context(), func() (bool, error) {
		a.Call("get_browser_logs", testbed.Raw(map[string]any{"limit": 1000}), &page)
		last := page.Entries[len(page.Entries)-1].Message
		var n int
		_, err := fmt.Sscanf(last, "last of %d", &n)
		if err == nil && len(page.Entries) != n+1 {
			t.Errorf("%d entries, %s", len(page.Entries), last)
		}
		return err == nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := a.Changes(); r.Coverage != nil {
		t.Errorf("%s", e2etest.Show(r))
	}
}

// processesOf are all that were started for a world.
func processesOf(t *testing.T, w *testbed.World) []int {
	t.Helper()
	return e2etest.Running(t, "TIDEMARK_HOME="+w.Home)
}

func send(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s)
	}
}
