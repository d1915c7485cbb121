package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// The share of a bare listener's rate at which Tidemark must take in the same flood. A request has several events, and
// the stack of what started it, which the bare listener does not ask for.
const (
	floodTarget    = .7
	requestsTarget = .6
)

// floodPoll is how often the daemon is asked how much has arrived. Asking more often slows the flood.
const floodPoll = 50 * time.Millisecond

// floodQuiet is how long nothing more has to arrive before the rest of a flood counts as dropped. A busy machine pauses for
// seconds on the way from the page to the daemon.
const floodQuiet = 15 * time.Second

// floodKind is a kind of event that a page can flood with.
type floodKind struct {
	name, tool, method string // the tool that reads it, and the debugger's event that the listener counts
	n                  int
	target             float64
	script             string // sends N events
}

var floodKinds = []floodKind{
	{"console entries", "get_browser_logs", "Runtime.consoleAPICalled", 10_000, floodTarget, `for (let i = 0; i < N; i++) { console.log('row', i, 'of the flood'); if (i % 500 === 0) await new Promise((done) => setTimeout(done)) }`},
	{"WebSocket frames", "get_websocket_events", "Network.webSocketFrameReceived", 10_000, floodTarget, `const s = new WebSocket(location.origin.replace('http', 'ws') + '/socket?n=' + N); await new Promise((done) => { s.onclose = done })`},
	{"requests", "get_network_bodies", "Network.loadingFinished", 1_000, requestsTarget, `let i = 0; await Promise.all(Array.from({length: 16}, async () => { while (i < N) await (await fetch('/item?i=' + i++)).text() }))`},
}

// flood measures the whole way in Chromium: how fast what a page floods arrives in the daemon, beside how
// fast a bare debugger listener that drops everything hears of it, in turn, in the same run.
func (r *run) flood() error {
	site := newFloodSite()
	defer site.Close()
	rounds := max(1, r.third(3))
	bare, mine := map[string][]float64{}, map[string][]float64{}
	uncounted := 0
	for i := range rounds {
		site.last = i == rounds-1
		progress("flood %d of %d", i+1, rounds)
		if err := site.withListener(bare); err != nil {
			return fmt.Errorf("a bare listener: %w", err)
		}
		lost, err := site.withTidemark(r.binary, mine)
		if err != nil {
			return err
		}
		uncounted += lost
	}
	progress("")
	s := r.sheet(fmt.Sprintf("Floods in Chromium, the middle of %d", rounds))
	for _, k := range floodKinds {
		share := pairwise(mine[k.name], bare[k.name])
		s.figure(k.name+", a bare listener", fmt.Sprintf("%.0f a second", quantile(bare[k.name], .5)))
		s.row(k.name+", in the daemon / a bare listener", fmt.Sprintf("%.2f times (%.0f a second)", share, quantile(mine[k.name], .5)), fmt.Sprintf("at least %.1f times", k.target), share >= k.target)
	}
	if site.idle >= 0 {
		s.row("the extension's process, idle", fmt.Sprintf("%.3f %% of a core", site.idle*100), fmt.Sprintf("under %.1f %%", idleTarget*100), site.idle < idleTarget)
	}
	s.row("lost and not counted", fmt.Sprint(uncounted), "0", uncounted == 0)
	for _, lost := range site.lost {
		s.note(lost)
	}
	return s.print()
}

// floodSite serves pages that flood, and hears what the bare listener counts.
type floodSite struct {
	*httptest.Server
	last bool     // in the last round, idleness is measured too
	idle float64  // of the extension's process; less than 0 where it cannot be told
	lost []string // what was lost and not counted, in words

	mu    sync.Mutex
	count map[string]listened
}

// listened is what the listener has heard of one method, and the time between the first and the newest.
type listened struct {
	n  int
	ms float64
}

func newFloodSite() *floodSite {
	f := &floodSite{count: map[string]listened{}, idle: -1}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>flood</title><link rel=icon href=data:,>ready")
	})
	mux.HandleFunc("GET /item", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"name":"Harbour kettle","price":68}`)
	})
	mux.HandleFunc("/socket", func(w http.ResponseWriter, req *http.Request) {
		c, err := websocket.Accept(w, req, nil)
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(req.URL.Query().Get("n"))
		for i := range n {
			if c.Write(req.Context(), websocket.MessageText, fmt.Appendf(nil, `{"type":"stock","id":%d,"stock":%d}`, i, i%9)) != nil {
				return
			}
		}
		_ = c.Close(websocket.StatusNormalClosure, "")
	})
	mux.HandleFunc("/counted", func(_ http.ResponseWriter, req *http.Request) {
		q := req.URL.Query()
		n, _ := strconv.Atoi(q.Get("n"))
		ms, _ := strconv.ParseFloat(q.Get("ms"), 64)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.count[q.Get("method")] = listened{n, ms}
	})
	f.Server = httptest.NewServer(mux)
	return f
}

// A bare listener: it attaches to the page, counts, and drops everything.
const listenerWorker = `
const counts = {}
chrome.debugger.onEvent.addListener((source, method) => {
  const now = performance.now()
  const c = (counts[method] ??= { n: 0, first: now, last: now })
  c.n++
  c.last = now
})
const attached = new Set()
async function attach(tab) {
  if (!tab.url?.startsWith('SITE') || attached.has(tab.id)) return
  attached.add(tab.id)
  try {
    await chrome.debugger.attach({ tabId: tab.id }, '1.3')
    await chrome.debugger.sendCommand({ tabId: tab.id }, 'Runtime.enable')
    await chrome.debugger.sendCommand({ tabId: tab.id }, 'Network.enable')
    await fetch('SITE/counted?method=attached&n=1')
  } catch {
    attached.delete(tab.id) // a page that navigates at this moment refuses
  }
}
setInterval(() => {
  chrome.tabs.query({ status: 'complete' }).then((tabs) => tabs.forEach(attach))
  for (const [method, c] of Object.entries(counts)) {
    if (METHODS.includes(method) && c.told !== c.n) { c.told = c.n; fetch('SITE/counted?method=' + method + '&n=' + c.n + '&ms=' + (c.last - c.first)) }
  }
}, 250)
`

// withListener floods a page that a bare listener hears, and adds its rates.
func (f *floodSite) withListener(rates map[string][]float64) (err error) {
	var methods []string
	for _, k := range floodKinds {
		methods = append(methods, k.method)
	}
	list, err := json.Marshal(methods)
	if err != nil {
		return err
	}
	worker := strings.NewReplacer("SITE", f.URL, "METHODS", string(list)).Replace(listenerWorker)
	f.mu.Lock()
	clear(f.count)
	f.mu.Unlock()
	b, err := startBareBrowser(worker)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	tab, err := (&testbed.World{Browser: b.Browser}).Open(f.URL)
	if err != nil {
		return err
	}
	heard := func(method string) listened {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.count[method]
	}
	if err := testbed.Eventually(context.Background(), func() (bool, error) { return heard("attached").n > 0, nil }); err != nil {
		return err
	}
	for _, k := range floodKinds {
		if err := tab.JS(k.flood()); err != nil {
			return err
		}
		for n := 0; n < k.n; {
			before := n
			if err := testbed.Eventually(context.Background(), func() (bool, error) {
				n = heard(k.method).n
				return n > before, fmt.Errorf("%d of %d %s heard", n, k.n, k.name)
			}); err != nil {
				return err
			}
		}
		h := heard(k.method)
		rates[k.name] = append(rates[k.name], float64(h.n)/h.ms*1000)
	}
	return nil
}

func (k floodKind) flood() string {
	return "(async () => {" + strings.ReplaceAll(k.script, "N", fmt.Sprint(k.n)) + "})()"
}

// withTidemark floods a page that Tidemark watches, adds its rates, and returns how many events are lost
// and not counted.
func (f *floodSite) withTidemark(binary string, rates map[string][]float64) (uncounted int, err error) {
	w, err := testbed.Start(binary)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	tab, err := w.Open(f.URL)
	if err != nil {
		return 0, err
	}
	client := controlOf(w)
	client.Transport.(*http.Transport).DisableKeepAlives = false
	defer client.CloseIdleConnections()
	for _, k := range floodKinds {
		// The newest position is the number of entries that there ever were.
		arrived := func() (int, error) {
			var page struct{ Entries []struct{ Position int } }
			err := post(client, "/v1/tools/"+k.tool, `{"limit":1}`, &page)
			if err != nil || len(page.Entries) == 0 {
				return 0, err
			}
			return page.Entries[0].Position, nil
		}
		before, err := arrived()
		if err != nil {
			return 0, err
		}
		done := make(chan error, 1)
		go func() { done <- tab.JS(k.flood()) }()
		var first, last time.Time
		got, ended := 0, false
		for got < k.n {
			n, err := arrived()
			if err != nil {
				return 0, err
			}
			now := time.Now()
			if n-before > got {
				if got == 0 {
					first = now
				}
				got, last = n-before, now
			}
			if ended && now.Sub(last) > floodQuiet {
				break // the rest was dropped
			}
			select {
			case err := <-done:
				if err != nil {
					return 0, err
				}
				ended, last = true, now
			case <-time.After(floodPoll):
			}
		}
		if !ended {
			if err := <-done; err != nil {
				return 0, err
			}
		}
		rates[k.name] = append(rates[k.name], float64(got)/last.Sub(first).Seconds())
		var changes struct {
			Coverage *struct {
				Dropped int
				Note    string
			}
		}
		if err := post(client, "/v1/tools/get_changes_since?client=flood", `{"wait":"settled"}`, &changes); err != nil {
			return 0, err
		}
		missing, note := k.n-got, "full coverage"
		if c := changes.Coverage; c != nil {
			missing, note = missing-c.Dropped, c.Note
		}
		if missing > 0 {
			uncounted += missing
			f.lost = append(f.lost, fmt.Sprintf("%d %s lost, reported as: %s", missing, k.name, note))
		}
	}
	if f.last && runtime.GOOS == "linux" {
		if f.idle, err = workerIdle(); err != nil {
			return 0, err
		}
	}
	return uncounted, nil
}

func post(client *http.Client, path, body string, into any) error {
	resp, err := client.Post("http://tidemark"+path, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return json.NewDecoder(resp.Body).Decode(into)
}

// The browser collects the garbage of floods for clearsUp, which is no idleness, and what is left of it in one or two
// pauses later. Idleness is the middle of idleSpans, so that these do not count. A span has one heartbeat of the extension.
const (
	clearsUp  = 12 * time.Second
	idleSpan  = 2 * time.Second
	idleSpans = 10
)

// workerIdle is the share of a core that the process of the extension takes while nothing happens, the middle of
// several spans.
func workerIdle() (float64, error) {
	pids, err := extensionProcesses()
	if err != nil {
		return 0, err
	}
	used := func() (sum time.Duration, err error) {
		for _, pid := range pids {
			t, err := threadTime(pid)
			if err != nil {
				return 0, err
			}
			sum += t
		}
		return sum, nil
	}
	var shares []float64
	time.Sleep(clearsUp)
	for range idleSpans {
		before, err := used()
		if err != nil {
			return 0, err
		}
		time.Sleep(idleSpan)
		after, err := used()
		if err != nil {
			return 0, err
		}
		shares = append(shares, (after-before).Seconds()/idleSpan.Seconds())
	}
	return quantile(shares, .5), nil
}

// threadTime is the processor time of the threads that a process has, more exact than its own in ticks.
func threadTime(pid int) (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return cpuTime(pid) // a kernel that keeps no account of threads
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// extensionProcesses are the processes below this one in which extensions run.
func extensionProcesses() ([]int, error) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), "--extension-process") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && descends(pid) {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		return nil, errors.New("no process runs the extension")
	}
	return pids, nil
}

// descends says whether a process was started by this one, or by one that was.
func descends(pid int) bool {
	for pid > 1 {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			return false
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return false
		}
		if pid == os.Getpid() {
			return true
		}
	}
	return false
}
