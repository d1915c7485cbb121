package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"tidemark.dev/tidemark/host/internal/report"
)

var update = flag.Bool("update", false, "write the golden files")

func at(second int) report.Time {
	return report.Time{Time: time.Date(2026, 1, 23, 10, 30, second, 0, time.UTC)}
}

func full() *report.Report {
	gone, end, unsettled := at(21), at(30), false
	return &report.Report{
		From: at(0), To: at(45), Checkpoint: "auto_7", DurationMs: 45123, Severity: report.Error,
		Summary: "2 new console error(s), 2 network failure(s)",
		Storms:  []report.Storm{{What: "GET /notifications", Count: 503, SpanMs: 95000, Initiator: "Notifications.tsx:50"}},
		Console: &report.ConsoleDiff{
			NewErrors: []report.Message{
				{Message: "TypeError: Cannot read properties of undefined (reading 'id')", Source: "app.js:42", Count: 5},
				{Message: strings.Repeat("a long message that has to be broken ", 5), Source: "src/components/cart/CartLine.tsx:1200", Count: 1, Tab: 2},
			},
			NewWarnings:     []report.Message{{Message: "Each child in a list\nshould have a key", Source: "list.js:7", Count: 1}},
			TotalNewEntries: 9, Omitted: 3,
		},
		Network: &report.NetworkDiff{
			Failures: []report.Failure{
				{Method: "POST", URL: "/api/users", Status: 500, PreviousStatus: 200, Count: 2, NowStatus: 201, Detail: "qty must be `positive`", Request: report.Request{StartedAt: at(3), DurationMs: 12, Initiator: "cart.ts:31"}},
				{Method: "POST", URL: "/graphql", Status: 200, PreviousStatus: 200, Error: "GraphQL error", Request: report.Request{Operation: "AddToCart", Initiator: "app.js:1", Generated: true}},
				{Method: "GET", URL: "http://127.0.0.1:9/rates", Error: "net::ERR_CONNECTION_REFUSED"},
			},
			KnownFailures: []report.Failure{{Method: "GET", URL: "/api/flags", Status: 502, Count: 3, Detail: "no upstream", Request: report.Request{Initiator: "flags.ts:8"}}},
			Degraded:      []report.Degraded{{Method: "GET", URL: "/api/projects", AvgMs: 2100, PreviousAvgMs: 150}},
			Recovered:     []report.Changed{{Method: "GET", URL: "/api/cart", Status: 200, PreviousStatus: 503}, {Method: "GET", URL: "/api/x", Status: 200}, {Method: "POST", URL: "/graphql", Status: 200, PreviousStatus: 200, PreviousError: "GraphQL error", Request: report.Request{Operation: "Me"}}},
			NewEndpoints:  []report.Endpoint{{Method: "GET", URL: "/api/new", Status: 200}},
			StillFailing:  1, TotalNewRequests: 12,
		},
		WebSocket: &report.WebSocketDiff{
			Disconnections: []report.Disconnection{{URL: "/live", Code: 1011, Reason: "restart", Count: 2, Initiator: "live.ts:9"}},
			ErrorMessages:  []report.SocketError{{URL: "/live", Message: `{"type":"error"}`}, {URL: "/feed", Message: "refused", Status: 403, Initiator: "live.ts:12"}},
			NewConnections: []report.Connection{{URL: "/live"}}, TotalNewMessages: 1, TotalNewEvents: 5,
		},
		DOM: &report.DOMDiff{
			NewErrorElements:    []report.NewElement{{Selector: ".toast-error", Text: "Saving failed", AppearedAt: at(20), GoneAt: &gone}},
			DisappearedElements: []report.GoneElement{{Selector: "#banner", Text: "Offline"}},
			URLChanged:          &report.URLChange{From: "http://localhost/a", To: "http://localhost/b"},
			Crashed:             []report.Crash{{URL: "http://localhost/b", At: at(40)}},
		},
		Actions: &report.ActionsDiff{NewActions: []report.Action{{Type: "type", Target: `textbox "Email"`, Value: "ann@example.com", At: at(5)}}, TotalNewActions: 1},
		Settled: &unsettled, UnsettledBecause: "1 request(s) in flight: GET /slow", DOMUnavailable: true, NoiseHidden: 1, SeverityHidden: 2,
		Coverage: &report.Coverage{Note: "the extension's worker restarted", Gaps: []report.GapSpan{{From: at(10), To: &end, Reason: "worker_restart", Tab: 2}, {From: at(31), Reason: "detached", Tabs: []int{1, 3}}}},
	}
}

// unseen is a report of which nothing was observed.
func unseen() *report.Report {
	r := &report.Report{From: at(0), To: at(1), DurationMs: 900, Severity: report.Clean, Summary: "No significant changes", Console: &report.ConsoleDiff{}}
	r.Unobserved("no browser is connected")
	return r
}

// changedFiles is a report in which files changed.
func changedFiles() *report.Report {
	n := func(n int) *int { return &n }
	return &report.Report{
		From: at(0), To: at(1), DurationMs: 900, Severity: report.Clean, Summary: "No significant changes; 107 files changed", Console: &report.ConsoleDiff{},
		Files: &report.FilesDiff{
			Changed: []report.ChangedFile{
				{Path: "dist/", Change: "modified", Files: 98, Added: n(1200), Removed: n(1300), By: "npm run build"},
				{Path: "logo.png", Change: "added", Binary: true},
				{Path: "src/cart.ts", Change: "renamed", From: "src/basket.ts", Added: n(0), Removed: n(0), By: "Bash"},
				{Path: "src/a long name of a file that has to be broken into several lines at a narrow terminal.ts", Change: "modified", Added: n(12), Removed: n(3), Count: 2, By: "Edit"},
				{Path: "src/old.ts", Change: "removed", Workspace: "/home/me/shop"},
			},
			TotalChanged: 107, Omitted: 5,
		},
	}
}

func TestReports(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	for name, c := range map[string]struct {
		report *report.Report
		width  int
	}{
		"full": {full(), 100}, "narrow": {full(), 60},
		"piped":  {full(), 0},
		"clean":  {&report.Report{From: at(0), To: at(1), DurationMs: 900, Severity: report.Clean, Summary: "No significant changes", Console: &report.ConsoleDiff{}}, 80},
		"unseen": {unseen(), 80},
		"files":  {changedFiles(), 80},
	} {
		var out bytes.Buffer
		if err := Report(&out, c.report, c.width); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s (update it with go test -update):\n%s\nwant:\n%s", name, out.String(), want)
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s has colors without a terminal", name)
		}
		for line := range strings.Lines(out.String()) {
			if w := lipgloss.Width(strings.TrimRight(line, "\n")); c.width > 0 && w > c.width {
				t.Errorf("%s: a line of %d columns: %s", name, w, line)
			}
		}
	}
}

func TestDurations(t *testing.T) {
	for ms, want := range map[int64]string{0: "0 ms", 999: "999 ms", 45123: "45.1 s", 61_000: "1 min 1 s", 7_260_000: "2 h 1 min"} {
		if got := Duration(ms); got != want {
			t.Errorf("%d: %q, want %q", ms, got, want)
		}
	}
}

func TestAStreamThatWasCutIsShownWithItsError(t *testing.T) {
	var b strings.Builder
	r := &report.Report{Network: &report.NetworkDiff{Failures: []report.Failure{
		{Method: "GET", URL: "/live", Status: 200, PreviousStatus: 200, NowStatus: 200, Error: "net::ERR_CONNECTION_RESET"},
	}}}
	if err := Report(&b, r, 120); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "GET /live  net::ERR_CONNECTION_RESET  was 200  now 200") {
		t.Error(got)
	}
}

func TestAGeneratedLineIsMarked(t *testing.T) {
	r := &report.Report{Console: &report.ConsoleDiff{NewErrors: []report.Message{{Message: "boom", Source: "App.jsx:22", Generated: true, Count: 1}, {Message: "bang", Source: "Cart.jsx:9", Generated: true, LoggedAt: "log.js:5", Count: 1}}}}
	var plain, markdown strings.Builder
	if err := Report(&plain, r, 80); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, r); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{plain.String(), markdown.String()} {
		for _, want := range []string{"App.jsx:22 (generated)", "Cart.jsx:9 (generated), logged at log.js:5"} {
			if text := strings.ReplaceAll(text, "`", ""); !strings.Contains(text, want) || strings.Contains(text, "log.js:5 (") {
				t.Error(text)
			}
		}
	}
}
