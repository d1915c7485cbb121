//go:build linux

package reports

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// numberedPage logs a number and the time every few milliseconds; now and then it asks for something,
// which wakes the extension's worker as any page would.
const numberedPage = `<!doctype html><title>numbers</title><link rel=icon href=data:,><script>
let n = 0
setInterval(() => console.log('event', LIFE, ++n, Date.now()), 5)
setInterval(() => fetch('/ping'), 150)
</script>`

var numberedLine = regexp.MustCompile(`^event (\d+) (\d+) (\d+)$`)

// chromiumAlone starts Chromium as anybody would, with a profile that stays.
func chromiumAlone(t *testing.T, w *testbed.World, extension, url string) *exec.Cmd {
	t.Helper()
	found, err := installer.FindBrowser()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(found.Path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+w.Profile(), "--load-extension="+extension, url)
	cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+w.Home, "TMPDIR="+w.Home) // killed, it leaves files behind
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
}

// extensionProcesses are the processes of a browser in which extensions run.
func extensionProcesses(t *testing.T, browser *exec.Cmd) []int {
	t.Helper()
	var pids []int
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte("--extension-process")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if group, err := syscall.Getpgid(pid); err == nil && group == browser.Process.Pid {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestAKilledBrowserOrWorkerLeavesOnlyReportedGaps kills the browser, or the process of its extensions, at
// random instants: every number that is missing lies inside of a reported gap.
func TestAKilledBrowserOrWorkerLeavesOnlyReportedGaps(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.LoggedWorld(t)
	var life atomic.Int32
	server := testbed.Serve(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, strings.ReplaceAll(numberedPage, "LIFE", fmt.Sprint(life.Add(1))))
		}
	}))
	defer server.Close()
	extension, err := w.Extension()
	if err != nil {
		t.Fatal(err)
	}
	browser := chromiumAlone(t, w, extension, server.URL)
	defer func() { killGroup(browser) }()
	var linesOf map[int]map[int]time.Time
	read := func() int {
		linesOf = numbered(t, w)
		n := 0
		for _, lines := range linesOf {
			n += len(lines)
		}
		return n
	}
	// more waits until lines of the newest page come in.
	more := func() {
		t.Helper()
		newest, before := int(life.Load()), -1
		if err := testbed.Eventually(context.Background(), func() (bool, error) {
			read()
			n := len(linesOf[newest])
			came := before >= 0 && n > before
			if before = max(before, n); newest == 0 {
				newest = int(life.Load())
			}
			return came, fmt.Errorf("page %d has %d lines", newest, n)
		}); err != nil {
			t.Fatal(err)
		}
	}
	more()
	killed := map[int]time.Time{} // when the browser with the newest page was killed
	for i := range max(4, killtest.Count(20, 20)/5) {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond) // so that the kill falls anywhere
		if i%2 == 0 {
			pids := extensionProcesses(t, browser)
			if len(pids) == 0 {
				t.Fatal("no process runs the extension")
			}
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			more()
			continue
		}
		before := life.Load()
		killed[int(before)] = time.Now()
		killGroup(browser)
		browser = chromiumAlone(t, w, extension, server.URL)
		if err := testbed.Eventually(context.Background(), func() (bool, error) { return life.Load() > before, nil }); err != nil {
			t.Fatal(err)
		}
		more()
	}
	read()
	gaps := e2etest.ChangesOf(t, w, "--since", "2020-01-01").Coverage.Gaps
	told := func(from, to time.Time) bool {
		return slices.ContainsFunc(gaps, func(g report.GapSpan) bool {
			return !g.From.After(to) && (g.To == nil || !g.To.Before(from))
		})
	}
	missing := 0
	for page, lines := range linesOf {
		last := 0
		for n := range lines {
			last = max(last, n)
		}
		for n := 1; n <= last; n++ {
			if _, there := lines[n]; there {
				continue
			}
			missing++
			// It was logged between its neighbours.
			a, b := n, n
			for a > 0 && lines[a].IsZero() {
				a--
			}
			for lines[b].IsZero() {
				b++
			}
			if !told(lines[a], lines[b]) {
				t.Errorf("page %d: line %d, between %s and %s, is missing and lies in no gap: %v", page, n, lines[a], lines[b], gaps)
			}
		}
		if at, dead := killed[page]; dead && !told(lines[last], at) {
			t.Errorf("page %d was killed at %s, and nothing tells of what came after %s: %v", page, at, lines[last], gaps)
		}
	}
	t.Logf("%d pages, %d lines missing, %d gaps", len(linesOf), missing, len(gaps))
}

// numbered are the lines that are held, by page and number, with the time at which they were logged.
func numbered(t *testing.T, w *testbed.World) map[int]map[int]time.Time {
	t.Helper()
	pages := map[int]map[int]time.Time{}
	after := "0"
	for {
		r := w.Run("logs", "--json", "--limit", "1000", "--after", after)
		var page struct {
			Entries []struct{ Message string }
			Next    int
		}
		if strings.Contains(r.Err, "the newest position is 0") {
			return pages // there is nothing yet
		}
		if err := json.Unmarshal([]byte(r.Out), &page); err != nil {
			t.Fatalf("%s%s: %v", r.Out, r.Err, err)
		}
		for _, e := range page.Entries {
			m := numberedLine.FindStringSubmatch(e.Message)
			if m == nil {
				continue
			}
			life, _ := strconv.Atoi(m[1])
			n, _ := strconv.Atoi(m[2])
			at, _ := strconv.ParseInt(m[3], 10, 64)
			if pages[life] == nil {
				pages[life] = map[int]time.Time{}
			}
			if _, twice := pages[life][n]; twice {
				t.Errorf("line %d of page %d is there twice", n, life)
			}
			pages[life][n] = time.UnixMilli(at)
		}
		if page.Next == 0 {
			return pages
		}
		after = strconv.Itoa(page.Next)
	}
}
