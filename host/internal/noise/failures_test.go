package noise

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/event"
)

// failures are what development servers' clients write where a page is not what its files are: as they stand in
// vite/dist/client, webpack/hot, webpack-dev-server/client, @rsbuild/core/dist/client, @vue/runtime-core, next/dist/client.
var failures = []struct {
	level event.Level
	text  string
}{
	{event.Error, "[vite] Failed to reload /src/App.jsx. This could be due to syntax errors or importing non-existent modules. (see errors above)"},
	{event.Error, "[hmr] Failed to reload /src/App.jsx. This could be due to syntax errors."},
	{event.Error, "[vite] failed to connect to websocket (Error: WebSocket closed without opened.)."},
	{event.Error, "[vite] Internal Server Error\nUnexpected token"},
	{event.Warning, "[vite] Could not Fast Refresh (\"x\" export is incompatible)."},
	{event.Warning, "[HMR] Something went wrong during Vue component hot-reload. Full reload required."},
	{event.Warning, "[HMR] Root or manually mounted instance modified. Full reload required."},
	{event.Warning, "[HMR] Cannot apply update. Need to do a full reload!"},
	{event.Warning, "[HMR] Cannot apply update as a previous update failed. Need to do a full reload!"},
	{event.Warning, "[HMR] Cannot find update. Need to do a full reload!"},
	{event.Warning, "[HMR] Cannot check for update. Need to do a full reload!"},
	{event.Warning, "[HMR] Update failed: ChunkLoadError: Loading hot update chunk main failed."},
	{event.Warning, "[HMR] Update check failed: Error: 404"},
	{event.Warning, "[HMR] Error: Aborted because ./src/a.js is not accepted\nUpdate propagation: ./src/a.js -> ./src/index.js"},
	{event.Warning, "[HMR] The following modules couldn't be hot updated: (They would need a full reload!)"},
	{event.Warning, "[HMR] Invalid message: {}\nTypeError: x"},
	{event.Warning, "Ignored an update to unaccepted module ./src/a.js -> ./src/index.js"},
	{event.Warning, "[webpack-dev-server] WARNING in ./src/a.js 1:1\nexport 'b' (imported as 'b') was not found in './b.js'"},
	{event.Error, "[webpack-dev-server] Errors while compiling. Reload prevented."},
	{event.Error, "[webpack-dev-server] ERROR in ./src/a.js\nModule build failed"},
	{event.Warning, "[Fast Refresh] performing full reload\n\nFast Refresh will perform a full reload when you edit a file that's imported by modules outside of the React rendering tree."},
	{event.Warning, "[Fast Refresh] performing full reload because your application had an unrecoverable error"},
	{event.Error, "[rsbuild] HMR update failed, performing full reload: Error: Aborted because ./src/probe.ts is not accepted"},
	{event.Error, "[rsbuild] WebSocket connection failed. Trying direct connection fallback."},
	{event.Warning, "[rspack-dev-server] WARNING in ./src/a.js 1:1\nexport 'b' was not found in './b.js'"},
	{event.Error, "[parcel] 🚨 ./src/a.js: Expected ';'"},
	{event.Warning, "[NG HMR] The HMR update of component App failed."},
}

func TestAFailureIsHiddenByNoRuleOfTheTable(t *testing.T) {
	rules := Default()
	for _, f := range failures {
		for _, level := range []event.Level{f.level, event.Error} {
			for _, via := range []string{"console", "browser", "exception"} {
				e := &event.Console{Level: level, Via: via, Text: f.text, URL: "http://localhost:5173/@vite/client"}
				if r := rules.Console(e); r != nil {
					t.Errorf("%s hides %q, a %s of the %s", r.ID, f.text, level, via)
				}
			}
		}
	}
}

func TestAStalePageIsToldUntilItIsLoadedAnew(t *testing.T) {
	rules := Default()
	for _, f := range failures {
		e := &event.Console{Level: f.level, Via: "console", Text: f.text}
		as, rule, stale := rules.Stale(e)
		want := f.level == event.Warning && (strings.HasPrefix(f.text, "[HMR]") || strings.HasPrefix(f.text, "[vite]") || strings.HasPrefix(f.text, "[Fast Refresh]") || strings.HasPrefix(f.text, "[webpack-dev-server]") || strings.HasPrefix(f.text, "[rspack-dev-server]")) ||
			strings.Contains(f.text, "performing full reload:")
		raised := strings.Contains(f.text, "Vue component") || strings.Contains(f.text, "Root or manually")
		if stale != want || (rule != nil) != want || (as == event.Error) != (f.level == event.Error || raised) {
			t.Errorf("%q: %v %v %v", f.text, as, rule, stale)
		}
		if stale && !rules.FailedUpdate(e) {
			t.Errorf("a user's rule may hide %q", f.text)
		}
	}
}

// TestNothingThatSpeaksOfFailureIsHidden: whatever stands around it.
func TestNothingThatSpeaksOfFailureIsHidden(t *testing.T) {
	rules := Default()
	rapid.Check(t, func(r *rapid.T) {
		prefix := rapid.SampledFrom([]string{"[vite] ", "[HMR] ", "[WDS] ", "[webpack-dev-server] ", "[Fast Refresh] "}).Draw(r, "prefix")
		word := rapid.SampledFrom([]string{"failed", "Failed", "error", "Error:", "cannot", "can't", "couldn't", "could not", "went wrong", "aborted", "invalid", "full reload", "ignored"}).Draw(r, "word")
		text := prefix + rapid.StringMatching(`([a-z./]{1,8} ){0,4}`).Draw(r, "before") + word + rapid.StringMatching(`( [a-z./]{1,8}){0,4}`).Draw(r, "after")
		level := rapid.SampledFrom([]event.Level{event.Warning, event.Error}).Draw(r, "level")
		if rule := rules.Console(&event.Console{Level: level, Via: "console", Text: text}); rule != nil {
			r.Fatalf("%s hides %q", rule.ID, text)
		}
	})
}

func TestAPagesErrorIsNotAnExtensionsThatWrapsTheConsole(t *testing.T) {
	rules := Default()
	const hook = "chrome-extension://abc/installHook.js"
	own := &event.Console{Level: event.Error, Via: "console", Text: "boom", URL: hook, Stack: []string{"log (" + hook + ":1:1)", "(anonymous) (:1:1)"}}
	if rules.Console(own) == nil {
		t.Error("what only an extension did is told")
	}
	wrapped := *own
	wrapped.Stack = append([]string{}, own.Stack[0], "load (http://localhost/app.js:3:4)")
	if r := rules.Console(&wrapped); r != nil {
		t.Errorf("%s hides a page's error", r.ID)
	}
}

func TestAnUpdateThatBrokeOffIsToldAndAStreamIsNot(t *testing.T) {
	rules := Default()
	broke := event.Network{URL: "http://localhost/main.1.hot-update.js", Resource: "script", Status: 200, Error: "net::ERR_CONTENT_LENGTH_MISMATCH"}
	if r := rules.Network(&broke); r != nil {
		t.Errorf("%s hides it", r.ID)
	}
	stream := event.Network{URL: "http://localhost/__webpack_hmr", Resource: "eventsource", Status: 200, Error: "net::ERR_INCOMPLETE_CHUNKED_ENCODING", Stream: true}
	if rules.Network(&stream) == nil {
		t.Error("a stream that broke off is told")
	}
}
