package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// recorded is a world with the events that the extension made from a recording of Chromium.
func recorded(t *testing.T, name string) *enginetest.World {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../extension/capture/testdata", name+".events"))
	if err != nil {
		t.Fatal(err)
	}
	w := enginetest.New(t, capture.Limits{})
	w.SetTab(protocol.Tab{ID: 7, URL: "about:blank"})
	w.Open(1, "http://127.0.0.1:8123/page")
	if strings.Contains(string(data), "\n2 ") {
		w.Open(2, "http://127.0.0.1:8123/page")
	}
	var events []string
	for line := range strings.Lines(string(data)) {
		tab, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, fields, _ := strings.Cut(rest, " ")
		events = append(events, w.Event(kind, fmt.Sprintf(`"tab":%s,"started":1,"duration":1,`, tab)+strings.Trim(fields, "{}")))
	}
	w.SendAll(events)
	return w
}

// TestRecordings checks the reports on Chromium's recorded events. Each failure is reported once.
func TestRecordings(t *testing.T) {
	for name, want := range map[string]struct {
		errors, failures, sockets []string
		noise                     int
		severity                  report.Severity
	}{
		"aborted-and-leaving": {
			errors: []string{
				"TypeError: Failed to fetch", "Not allowed to load local resource",
				"Connecting to 'data:", "Connecting to 'blob:", "Fetch API cannot load data:", "Fetch API cannot load blob:",
			},
			severity: report.Error,
		},
		"cors": {failures: []string{"GET http://localhost:8123/nocors 0 CORS: No 'Access", "POST http://localhost:8123/nocors500 0 CORS: Response to preflight"}, severity: report.Error},
		"csp": {
			errors: []string{
				"Connecting to 'http://localhost:8123/cors-ok'", "Fetch API cannot load", "Connecting to 'ws:", "Loading the script", "Loading the image",
			},
			failures: []string{"GET http://localhost:8123/ok.js 0 blocked: csp", "GET http://localhost:8123/x.png 0 blocked: csp"},
			severity: report.Error,
		},
		"fetch-404-and-500": {failures: []string{"GET /api/{id} 500"}, noise: 1, severity: report.Error},
		"history":           {severity: report.Clean},
		"iframe": {
			errors:   []string{"in frame", "ReferenceError: nofn", "Error: sw broke"},
			failures: []string{"GET http://localhost:8123/api/404 404", "GET /api/404 404"},
			severity: report.Error,
		},
		"image-and-script-404": {
			errors:   []string{"early error x", "Error: rejected", "TypeError: late throw"},
			failures: []string{"GET /img404.png 404", "GET /nojs.js 404", "GET /api/500 500"},
			noise:    1, severity: report.Error,
		},
		"refused-reset-cut": {
			failures: []string{
				"GET http://127.0.0.1:9/x 0 net::ERR_UNSAFE_PORT", "GET /reset 0 net::ERR_EMPTY_RESPONSE",
				"GET /partial 200 net::ERR_CONTENT_LENGTH_MISMATCH", "GET http://localhost:8123/nocors 0 CORS: No 'Access",
			},
			severity: report.Error,
		},
		"reload":               {severity: report.Clean},
		"stream-redirect-post": {errors: []string{"Error: sw broke"}, severity: report.Error},
		"websockets": {
			sockets: []string{
				"error ws://127.0.0.1:9/closed the connection could not be established", "error /ws403 the connection could not be established",
				"close /ws", // three equal ones are one entry
			},
			severity: report.Warning,
		},
		"worker-throws": {
			errors: []string{"RangeError: worker broke", "Error: worker reject"}, failures: []string{"GET /api/404 404"}, severity: report.Error,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := recorded(t, name)
			r := w.Changes(w.Agent(), params{})
			var errors, failures, sockets []string
			for _, e := range r.Console.NewErrors {
				errors = append(errors, e.Message)
			}
			for _, f := range r.Network.Failures {
				failures = append(failures, fmt.Sprintf("%s %s %d %s", f.Method, f.URL, f.Status, f.Error))
			}
			for _, e := range r.WebSocket.ErrorMessages {
				sockets = append(sockets, "error "+e.URL+" "+e.Message)
			}
			for _, e := range r.WebSocket.Disconnections {
				sockets = append(sockets, fmt.Sprintf("close %s %d", e.URL, e.Count))
			}
			each(t, "console error", errors, want.errors)
			each(t, "failure", failures, want.failures)
			each(t, "socket", sockets, want.sockets)
			if r.Severity != want.severity || r.NoiseHidden != want.noise {
				t.Errorf("severity %s, noise %d; want %s, %d", r.Severity, r.NoiseHidden, want.severity, want.noise)
			}
		})
	}
}

// each fails unless every entry begins with a wanted prefix, and every wanted prefix occurs.
func each(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d %s entries, want %d: %q", len(got), what, len(want), got)
	}
	for _, w := range want {
		n := 0
		for _, g := range got {
			if strings.HasPrefix(g, w) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d %s entries begin with %q: %q", n, what, w, got)
		}
	}
}
