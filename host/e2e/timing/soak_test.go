//go:build linux

package timing

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// TestSoak runs a mixed load for TIDEMARK_SOAK (`make soak`): floods of every kind over several relays that
// are killed, workers and browsers that begin anew, a real browser that reloads, agents that come and go.
// The daemon's memory and goroutines must be flat, and no acknowledged event may be missing.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("TIDEMARK_SOAK"))
	if err != nil {
		t.Skip("runs with TIDEMARK_SOAK, as in `make soak`")
	}
	w := e2etest.SeparateWorld(t).World
	ctx, cancel := context.WithTimeout(context.Background(), length)
	var load sync.WaitGroup
	defer load.Wait()
	defer cancel()
	for i := range 2 {
		load.Go(func() { soakStream(ctx, t, w, i) })
	}
	for i := range 2 {
		load.Go(func() { soakAgent(ctx, t, w, i) })
	}
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<script>
		setInterval(() => { console.log('tick', Date.now()); fetch('/api/' + Math.floor(Math.random() * 20)).catch(() => {}) }, 20)
		setInterval(() => { const d = document.createElement('p'); d.className = 'error-message'; d.textContent = 'shown'; document.body.append(d); setTimeout(() => d.remove(), 100) }, 300)
	</script>`})
	tab, err := w.Open(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	load.Go(func() {
		for ctx.Err() == nil {
			if err := tab.Do(chromedp.Reload()); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			pause(ctx, time.Second)
		}
	})

	pid := e2etest.DaemonPID(t, w)
	var memory, goroutines []float64
	for ctx.Err() == nil {
		pause(ctx, max(200*time.Millisecond, length/1000))
		memory = append(memory, anonymousMiB(t, pid))
		goroutines = append(goroutines, float64(e2etest.StatusOf(t, w).Goroutines))
	}
	load.Wait()
	if now := e2etest.DaemonPID(t, w); now != pid {
		t.Errorf("the daemon was replaced: %d, then %d", pid, now)
	}
	// The first half fills the buffers. Beside other work, garbage comes and goes by tens of MiB; what is kept never goes.
	third, last := memory[len(memory)/2:len(memory)*3/4], memory[len(memory)*3/4:]
	if a, b := slices.Min(third), slices.Min(last); b > a*1.1+4 {
		t.Errorf("the daemon's memory grows: %.1f MiB, then %.1f MiB", a, b)
	}
	tenths := make([]string, 10)
	for i := range tenths {
		tenths[i] = fmt.Sprintf("%.0f", median(memory[len(memory)*i/10:len(memory)*(i+1)/10]))
	}
	t.Logf("memory in tenths of the time, MiB: %s", strings.Join(tenths, " "))
	third, last = goroutines[len(goroutines)/2:len(goroutines)*3/4], goroutines[len(goroutines)*3/4:]
	if a, b := median(third), median(last); b > a*1.2+5 {
		t.Errorf("the daemon's goroutines grow: %.0f, then %.0f", a, b)
	}
	// The collector lets garbage stand for as long as others need the processors; the budget is `make bench`'s.
	if most := slices.Max(memory); most > 160 {
		t.Errorf("the daemon took %.1f MiB", most)
	}
	t.Logf("%s: memory %.1f MiB at the end, %.1f at most; %.0f goroutines at the end, %.0f at most",
		length, memory[len(memory)-1], slices.Max(memory), goroutines[len(goroutines)-1], slices.Max(goroutines))
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// anonymousMiB is the memory of a process that no file stands behind.
func anonymousMiB(t *testing.T, pid int) float64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if rest, ok := strings.CutPrefix(string(line), "RssAnon:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib / 1024
		}
	}
	t.Fatalf("%s", data)
	return 0
}

// soakStream is a profile with a busy page, whose relay, worker and browser are killed now and then.
func soakStream(ctx context.Context, t *testing.T, w *testbed.World, profile int) {
	lives := 0
	var s *testbed.Stream
	begin := func(newBrowser bool) {
		lives++
		session := "first"
		if newBrowser {
			session = fmt.Sprint("life ", lives)
		}
		s = w.NewStream(fmt.Sprint("profile ", profile), session, fmt.Sprint("stream ", lives))
	}
	begin(false)
	connected := false
	defer func() { s.Close() }()
	for n := 0; ctx.Err() == nil; n++ {
		if !connected {
			if err := s.Connect(); err != nil {
				pause(ctx, 50*time.Millisecond)
				continue
			}
			connected = true
		}
		for range 100 {
			s.Push(soakEvent(n))
		}
		if s.Send() != nil || s.Waiting() > 5000 && s.WaitForAll() != nil {
			connected = false
		}
		switch rand.IntN(400) {
		case 0:
			s.KillRelay()
			connected = false
		case 1:
			s.KillRelay()
			begin(false)
			connected = false
		case 2:
			s.KillRelay()
			begin(true)
			connected = false
		}
		pause(ctx, 25*time.Millisecond)
	}
	if len(s.Errors()) > 0 {
		t.Errorf("refused: %+v", s.Errors()[0])
	}
}

// soakEvent is an event of any kind.
func soakEvent(n int) protocol.Event {
	now := time.Now().UnixMilli()
	head := func(kind string) protocol.EventHead { return protocol.EventHead{Kind: kind, At: now, Tab: 7} }
	switch rand.IntN(12) {
	case 0, 1, 2, 3:
		return testbed.Log([]string{"log", "warning", "error"}[rand.IntN(3)], fmt.Sprintf("message %d of the soak: %x", n, rand.Uint64()))
	case 4, 5:
		return protocol.NetworkEvent{
			EventHead: head(protocol.KindNetwork), ID: fmt.Sprint("r", rand.Uint64()), Method: "GET", URL: fmt.Sprintf("http://localhost:5173/api/%c/%d", 'a'+rand.IntN(26), n),
			Resource: "fetch", Status: []int{200, 200, 200, 404, 500}[rand.IntN(5)], Started: now, Duration: rand.Float64() * 100,
			ResponseHeaders: map[string]string{"Content-Type": "application/json"}, ResponseBody: `{"rows":"` + strings.Repeat("x", rand.IntN(4000)) + `"}`,
		}
	case 6, 7, 8:
		return protocol.WebSocketEvent{EventHead: head(protocol.KindWebSocket), ID: "w", URL: "ws://localhost:5173/live", Op: "received", Text: fmt.Sprintf(`{"n":%d,"v":%d}`, n, rand.Uint64())}
	case 9:
		return protocol.ActionEvent{EventHead: head(protocol.KindAction), Type: "click", Target: fmt.Sprintf("button %d", rand.IntN(50)), Selector: "#b"}
	case 10:
		return protocol.ElementEvent{EventHead: head(protocol.KindElement), Op: []string{"appeared", "changed", "gone"}[rand.IntN(3)], Document: "d", ID: rand.IntN(30), Selector: ".error", Text: fmt.Sprint("text ", rand.IntN(100))}
	default:
		return protocol.NavigationEvent{EventHead: head(protocol.KindNavigation), How: "history", URL: fmt.Sprintf("http://localhost:5173/page/%d", rand.IntN(100))}
	}
}

// soakAgent asks, names checkpoints, and leaves and comes back now and then.
func soakAgent(ctx context.Context, t *testing.T, w *testbed.World, i int) {
	for ctx.Err() == nil {
		a, err := w.Agent()
		if err != nil {
			t.Error(err)
			return
		}
		for range 20 {
			for tool, args := range map[string]map[string]any{
				"get_changes_since":  {"wait": []string{"none", "settled"}[rand.IntN(2)], "timeout_ms": 500},
				"checkpoint_create":  {"name": fmt.Sprintf("agent_%c_%c", 'a'+i, 'a'+rand.IntN(5))},
				"checkpoint_list":    {},
				"get_network_bodies": {"limit": 50},
			} {
				if _, err := a.Text(tool, args); err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", tool, err)
				}
			}
			pause(ctx, 100*time.Millisecond)
		}
		_ = a.Close()
	}
}
