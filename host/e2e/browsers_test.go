//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestTwoBrowsersAtOnce: both are told, neither's end costs the other anything, and the end of one is a gap.
func TestTwoBrowsersAtOnce(t *testing.T) {
	first := ownWorld(t)
	second, err := first.Another()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	s := newSite(t, map[string]string{"/{$}": blank})
	a := first.of(t, s)
	one, two := first.open(t, s.URL), (&world{second}).open(t, s.URL)
	a.changes()
	one.js(`console.error('from the first')`)
	two.js(`console.error('from the second')`)
	if r := a.changes(); r.Console.TotalNewEntries != 2 || len(r.Console.NewErrors) != 2 || r.Coverage != nil {
		t.Errorf("%s", show(r))
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	one.js(`console.error('the first goes on')`)
	if r := a.changes(); r.Console.TotalNewEntries != 1 {
		t.Errorf("%s", show(r))
	}
	third, err := first.Another()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = third.Close() })
	three := (&world{third}).open(t, s.URL)
	three.js(`console.error('from the third')`)
	if r := a.changes(); r.Console.TotalNewEntries != 1 {
		t.Errorf("%s", show(r))
	}
}

// TestAPrivateWindowIsNotCaptured: Chrome hands it to no extension that the person has not allowed there.
func TestAPrivateWindowIsNotCaptured(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": blank})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	a.changes()
	ctx, cancel := chromedp.NewContext(w.Browser.Context(), chromedp.WithNewBrowserContext())
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(s.URL)); err != nil {
		t.Fatal(err)
	}
	private := &tab{t, &testbed.Tab{Ctx: ctx}}
	private.js(`console.error('private'); await fetch('/private')`)
	p.js(`console.error('public')`)
	if r := a.changes(); r.Console.TotalNewEntries != 1 || r.Console.NewErrors[0].Message != "public" || r.Network != nil && len(r.Network.Failures) > 0 {
		t.Errorf("%s", show(r))
	}
}

// TestSleepAndResume: everything is held as when a machine sleeps. What is captured afterwards is told, and
// nothing was missed, for nothing ran.
func TestSleepAndResume(t *testing.T) {
	w := ownWorld(t)
	s := newSite(t, map[string]string{"/{$}": blank})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	a.changes()
	p.js(`globalThis.n = 0; setInterval(() => console.error('tick ' + ++n), 20)`)
	for range 2 {
		asleep := processesOf(t, w.World)
		if len(asleep) < 4 { // browser, relay, daemon, agent
			t.Fatalf("%d processes", len(asleep))
		}
		send(asleep, syscall.SIGSTOP)
		<-time.After(3 * time.Second) // for as long as the machine sleeps
		send(asleep, syscall.SIGCONT)
		p.js(`const before = n; while (n < before + 20) await new Promise((done) => setTimeout(done, 10))`)
	}
	p.js(`for (let i = 0; i < 1e6; i++) clearInterval(i); console.error('last of ' + n)`)
	var page struct{ Entries []struct{ Message string } }
	err := testbed.Eventually(t.Context(), func() (bool, error) {
		a.call("get_browser_logs", map[string]any{"limit": 1000}, &page)
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
	if r := a.changes(); r.Coverage != nil {
		t.Errorf("%s", show(r))
	}
}

// processesOf are all that were started for a world.
func processesOf(t *testing.T, w *testbed.World) []int {
	t.Helper()
	return running(t, "TIDEMARK_HOME="+w.Home)
}

// running are the processes that have a variable in their environment.
func running(t *testing.T, variable string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(variable+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func send(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s)
	}
}
