//go:build linux

package timing

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// The flood of a page: events a second, how long in tests, and how long at most (under TIDEMARK_SOAK).
const (
	floodRate  = 1000
	floodShort = 5 * time.Second
	floodLong  = time.Minute
)

// TestThePanelKeepsUpWithAFlood has a page say 1000 things a second while the panel is open in DevTools: the
// panel shows every one that is held, what is not is counted, and its memory is flat.
func TestThePanelKeepsUpWithAFlood(t *testing.T) {
	length := floodShort
	if soak, err := time.ParseDuration(os.Getenv("TIDEMARK_SOAK")); err == nil {
		length = min(soak, floodLong)
	}
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<script>
async function flood(count) {
  const began = performance.now();
  for (let n = 0; n < count;) {
    for (const due = Math.min(count, performance.now() - began); n < due; n++) {
      if (n % 50 === 0) fetch('/api/item/' + n).catch(() => undefined);
      else if (n % 51 === 0) console.error('fault', n % 7, 'of the flood');
      else console.log('row', n, 'of the flood', { n, text: 'some more of it' });
    }
    await new Promise((done) => setTimeout(done, 10));
  }
  globalThis.flooded = performance.now() - began;
}
</script>`})
	s.Mux.HandleFunc("/api/item/", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{}`) })
	in := e2etest.Inspect(t, s)
	p, panel := in.Page, in.Panel
	a := in.NewAgent(t)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "before_flood"}, &struct{}{})
	count := int(length.Seconds() * floodRate)
	p.JS(fmt.Sprintf("void flood(%d)", count))

	var memory []float64
	step := length / 24
	for began := time.Now(); ; {
		memory = append(memory, heapMiB(panel, t))
		if p.Text("String(globalThis.flooded ?? 0)") != "0" || time.Since(began) > 3*length+testbed.Patience {
			break
		}
		pause(t.Context(), step)
	}
	took := p.Text("String(Math.round(globalThis.flooded ?? 0))")
	if took == "0" {
		t.Fatal("the flood does not end")
	}

	// What the host tells of it, by count.
	r := a.ChangesWith(map[string]any{"wait": "settled", "checkpoint": "before_flood", "timeout_ms": 20_000})
	dropped := 0
	if r.Coverage != nil {
		dropped = r.Coverage.Dropped
	}
	requests := (count + 49) / 50
	if got := r.Network.TotalNewRequests + dropped; got < requests {
		t.Errorf("%d requests, of which %d are reported and %d counted as dropped", requests, r.Network.TotalNewRequests, dropped)
	}
	if got := r.Console.TotalNewEntries + dropped; got < count-requests {
		t.Errorf("%d entries, of which %d are reported and %d counted as dropped", count-requests, r.Console.TotalNewEntries, dropped)
	}

	// The panel shows what the host holds: no event less, and of those that it no longer holds few.
	settled := time.Now()
	e2etest.RunIn(panel, t, e2etest.ViewerHelp+fmt.Sprintf(`
const port = chrome.runtime.connect({ name: 'viewer' });
let last = 0;
const ask = (params) => new Promise((done) => {
  const id = ++last;
  port.onMessage.addListener((m) => { if (m.t === 'done' && m.id === id) done(m.result); });
  port.postMessage({ t: 'ask', id, method: 'view_timeline', params });
});
const tab = Number(document.querySelector('.tab-select').value);
const { lanes, held: since = {} } = await ask({ tab, limit: 50000 });
port.disconnect();
const held = lanes.reduce((sum, lane) => sum + lane.times.length, 0);
if ((since.console > 0) !== (%d > 10000)) throw new Error('what has left the buffers is not told: ' + JSON.stringify(since));
const shown = () => Number(document.querySelector('canvas').dataset.events);
await until(() => shown() >= held && shown() < held + 6000, 'that it shows ' + held + ' and not ' + shown());
await until(() => says('In total'), 'the totals');`, count-requests))
	t.Logf("%d events in %s ms, %d of them dropped and counted; the panel has them all after %s; its memory, MiB: %s",
		count, took, dropped, time.Since(settled).Round(time.Millisecond), strings.Trim(fmt.Sprintf("%.1f", memory), "[]"))
	if length < floodLong/2 {
		return // too short for memory to become flat
	}
	third, last := memory[len(memory)/2:len(memory)*3/4], memory[len(memory)*3/4:]
	if a, b := median(third), median(last); b > a*1.1+1 {
		t.Errorf("the panel's memory grows: %.1f MiB, then %.1f MiB", a, b)
	}
}

// heapMiB is what a page's scripts hold, garbage aside.
func heapMiB(ctx context.Context, t *testing.T) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, testbed.Patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, heapprofiler.CollectGarbage, chromedp.Void{}); err != nil {
		t.Fatal(err)
	}
	used, err := chromedp.Call(ctx, runtime.GetHeapUsage, chromedp.Void{})
	if err != nil {
		t.Fatal(err)
	}
	return used.UsedSize / (1 << 20)
}
