package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

func noiseOf(t *testing.T, w *enginetest.World, c *checkpoint.Client, p noiserules.NoiseParams) *noiserules.NoiseAnswer {
	t.Helper()
	a, err := w.Engine.Rules.ConfigureNoise(context.Background(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestARuleHidesWhatWasThereBeforeTheCheckpointAndNotWhatIsNew(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	w.Log("warning", "slow frame of 12.5 ms")
	w.Changes(c, params{})
	added := noiseOf(t, w, c, noiserules.NoiseParams{Action: "add", Text: "slow", Expires: "never"})
	if added.Added.ID != "n1" || added.Added.Hides != 1 || added.Added.Of != "user" || added.Added.By != "agent" {
		t.Errorf("%+v", added.Added)
	}
	w.Pass(time.Second)
	w.Log("warning", "slow frame of 99.9 ms")
	w.Log("warning", "slow network")
	w.Log("error", "slow and broken")
	r := w.Changes(c, params{})
	if r.NoiseHidden != 1 || messages(r.Console.NewWarnings) != "slow network×1" || messages(r.Console.NewErrors) != "slow and broken×1" {
		t.Errorf("%s", show(r))
	}
	w.Log("warning", "slow network")
	if r := w.Changes(c, params{}); r.NoiseHidden != 1 || r.Severity != report.Clean {
		t.Errorf("known by now: %s", show(r))
	}
	noiseOf(t, w, c, noiserules.NoiseParams{Action: "add", Text: "slow", HideNew: true, Level: "error", Expires: "never"})
	w.Log("error", "slower")
	w.Log("error", "[vite] Failed to reload /slow.ts")
	if r := w.Changes(c, params{}); r.NoiseHidden != 1 || messages(r.Console.NewErrors) != "[vite] Failed to reload /slow.ts×1" {
		t.Errorf("hide_new: %s", show(r))
	}
	if r := w.Changes(w.Agent(), params{}); r.NoiseHidden != 6 {
		t.Errorf("compared with no checkpoint: %s", show(r))
	}
}

func TestAFingerprintHidesSinceItWasMade(t *testing.T) {
	w := enginetest.New(t, capture.Limits{capture.Console: {Count: 2}, capture.Network: {Count: 9}, capture.WebSocket: {Count: 9}, capture.Actions: {Count: 9}, capture.DOM: {Count: 9}})
	c := w.Agent()
	noiseOf(t, w, c, noiserules.NoiseParams{Action: "add", Kind: "console", Fingerprint: "slow frame of {n} ms", Expires: "never"})
	w.Pass(time.Second)
	w.Changes(c, params{})
	w.Log("warning", "slow frame of 12.5 ms") // evicts everything before it
	if r := w.Changes(c, params{}); r.NoiseHidden != 1 {
		t.Errorf("%s", show(r))
	}
}

func TestFailedRequestsAndConnectionsAreHiddenByTheirFingerprints(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	w.Request("GET", "/api/poll/1234", 404, 5)
	w.Socket("open", "")
	w.Socket("close", "")
	w.Changes(c, params{})
	entries := noiseOf(t, w, c, noiserules.NoiseParams{Action: "explain", Text: "l"}).Entries
	if len(entries) != 3 {
		t.Fatalf("%+v", entries)
	}
	for _, e := range entries {
		noiseOf(t, w, c, noiserules.NoiseParams{Action: "add", Kind: e.Kind, Level: e.Level, Origin: e.Origin, Fingerprint: e.Fingerprint})
	}
	w.Request("GET", "/api/poll/99", 404, 5)
	w.Socket("open", "")
	w.Socket("close", "")
	if r := w.Changes(c, params{}); r.NoiseHidden != 3 || r.Severity != report.Clean {
		t.Errorf("%s", show(r))
	}
	w.Request("GET", "/api/poll/99", 500, 5)
	if r := w.Changes(c, params{}); r.NoiseHidden != 0 || r.Severity != report.Error {
		t.Errorf("another status is another entry: %s", show(r))
	}
}

func TestRulesEnd(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c, leave := w.Engine.Clients.Join("", "one", checkpoint.Scope{})
	other := w.Agent()
	hidden := func(what string, want int) {
		t.Helper()
		if a := noiseOf(t, w, other, noiserules.NoiseParams{}); a.Hidden != want {
			t.Errorf("%s: %+v", what, a)
		}
	}
	w.Log("warning", "slow frame")
	noiseOf(t, w, other, noiserules.NoiseParams{Action: "add", Text: "slow", Expires: "1h"})
	hidden("within its hour", 1)
	w.Pass(time.Hour)
	hidden("after its hour", 0)
	noiseOf(t, w, c, noiserules.NoiseParams{Action: "add", Text: "slow"})
	hidden("within the session", 1)
	leave()
	hidden("after the session", 0)
	if a := noiseOf(t, w, other, noiserules.NoiseParams{}); len(a.Rules) != 0 {
		t.Errorf("%+v", a.Rules)
	}
}

func TestExplainSaysWhy(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	noiseOf(t, w, c, noiserules.NoiseParams{Action: "add", Text: "slow"})
	w.Log("warning", "slow frame")
	w.Log("error", "slow and broken")
	w.Log("error", "[vite] Failed to reload /slow.ts")
	w.Log("warning", "[vite] slow connection")
	w.Log("warning", "unrelated, slo")
	a := noiseOf(t, w, c, noiserules.NoiseParams{Action: "explain", Text: "SLO"})
	for _, want := range []struct{ text, because string }{
		{"slow frame", `rule n1: entries up to level warning that contain "slow"`},
		{"slow and broken", `hides warnings at most; level "error" would include this`},
		{"[vite] Failed to reload /slow.ts", "failed hot update"},
		{"[vite] slow connection", "pack hot-update: Vite's"},
		{"unrelated, slo", "no rule matches"},
	} {
		found := false
		for _, e := range a.Entries {
			found = found || e.Fingerprint == want.text && strings.Contains(e.Because, want.because)
		}
		if !found {
			t.Errorf("%s: want %q in %+v", want.text, want.because, a.Entries)
		}
	}
	if a.Hidden != 2 || a.PageText != report.Untrusted {
		t.Errorf("%+v", a)
	}
	if a := noiseOf(t, w, c, noiserules.NoiseParams{Action: "explain"}); len(a.Entries) != 2 {
		t.Errorf("without a text, what is hidden: %+v", a.Entries)
	}
}

func TestWhatRepeatsInCleanPeriodsIsSuggested(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	for i := range 5 {
		w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`)
		w.Log("warning", "each child in a list 1234 should have a key")
		w.Log("warning", "[vite] connecting...")
		if i < 2 {
			w.Log("warning", "seldom")
		}
		if i > 2 {
			w.Log("error", "broken")
			w.Log("warning", "with errors only")
		}
		w.Pass(10 * time.Second)
	}
	a := noiseOf(t, w, c, noiserules.NoiseParams{Action: "suggest"})
	if len(a.Suggestions) != 1 {
		t.Fatalf("%+v", a.Suggestions)
	}
	s := a.Suggestions[0]
	if s.Fingerprint != "each child in a list {n} should have a key" || s.WouldHide != 5 || s.CleanPeriods != 3 || s.Kind != "console" || s.Level != "warning" || s.Origin != enginetest.Page {
		t.Errorf("%+v", s)
	}
	added := noiseOf(t, w, c, noiserules.NoiseParams{Action: "add", Kind: s.Kind, Level: s.Level, Origin: s.Origin, Fingerprint: s.Fingerprint})
	if added.Added.Hides != s.WouldHide {
		t.Errorf("it said %d and hides %d", s.WouldHide, added.Added.Hides)
	}
	if a := noiseOf(t, w, c, noiserules.NoiseParams{Action: "suggest"}); len(a.Suggestions) != 0 {
		t.Errorf("suggested again: %+v", a.Suggestions)
	}
}

// What a page logs first arrives before its load or after it.
func TestWhatIsLoggedDuringALoadBelongsToIt(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	load := func() { w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`) }
	log := func() { w.Log("warning", "the first of a page") }
	for _, order := range [][2]func(){{load, log}, {log, load}, {load, log}, {log, load}} {
		order[0]()
		w.Pass(20 * time.Millisecond)
		order[1]()
		w.Pass(time.Second)
	}
	if a := noiseOf(t, w, w.Agent(), noiserules.NoiseParams{Action: "suggest"}); len(a.Suggestions) != 1 || a.Suggestions[0].CleanPeriods != 4 {
		t.Errorf("%+v", a)
	}
}

func TestWhatRepeatsOnAPageThatIsNotReloadedIsSuggested(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for range 4 {
		w.Log("warning", "poll took long")
		w.Pass(time.Minute)
	}
	if a := noiseOf(t, w, w.Agent(), noiserules.NoiseParams{Action: "suggest"}); len(a.Suggestions) != 1 {
		t.Errorf("%+v", a)
	}
}

func TestAProjectsRulesFollowItsFile(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	path := filepath.Join(t.TempDir(), ".tidemark.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, other := w.Agent(), w.Agent()
	w.Engine.Clients.SetProject(c, path)
	w.Log("warning", "slow frame")
	w.Log("warning", "[vite] connecting...")
	hidden := func(c *checkpoint.Client) int { return w.Changes(c, params{Checkpoint: "2026-01-01"}).NoiseHidden }
	if n := hidden(c); n != 1 {
		t.Errorf("without a file: %d", n)
	}
	write("[[noise.rules]]\ntext = \"slow\"\nhide_new = true\n")
	if n, m := hidden(c), hidden(other); n != 2 || m != 1 {
		t.Errorf("with a rule: %d, and for another %d", n, m)
	}
	write("[noise]\noff = [\"hot-update\"]\n[[noise.rules]]\ntext = \"slow\"\nlevel = \"loud\"\n[[noise.rules]]\ntext = \"slow\"\nhide_new = true\n")
	r := w.Changes(c, params{Checkpoint: "2026-01-01"})
	if r.NoiseHidden != 1 || len(r.NoiseProblems) != 1 || !strings.Contains(r.NoiseProblems[0], `.tidemark.toml: line 3: noise rule 1: level is "loud"`) {
		t.Errorf("a bad line is reported, the rest counts: %s", show(r))
	}
	if a := noiseOf(t, w, c, noiserules.NoiseParams{}); len(a.Problems) != 1 || len(a.Rules) != 1 || a.Rules[0].Of != "project" || a.Packs[0].On {
		t.Errorf("%+v", a)
	}
	if _, err := w.Engine.Rules.ConfigureNoise(context.Background(), c, noiserules.NoiseParams{Action: "remove", ID: "p2"}); err == nil || !strings.Contains(err.Error(), "remove it there") {
		t.Error(err)
	}
	write("[[noise.rules]]\ntext = \"slow\"\nhide_new = true\n")
	if n := hidden(c); n != 2 {
		t.Errorf("with a rule again: %d", n)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if n := hidden(c); n != 1 {
		t.Errorf("the file has gone: %d", n)
	}
}

func TestNoiseMistakesSayWhatToDo(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	noiseOf(t, w, c, noiserules.NoiseParams{Action: "add", ID: "mine", Text: "slow"})
	for _, tc := range []struct {
		p    noiserules.NoiseParams
		want string
	}{
		{noiserules.NoiseParams{Action: "hide"}, "must be list, add"},
		{noiserules.NoiseParams{Action: "add"}, "set text to a part of the message"},
		{noiserules.NoiseParams{Action: "add", Text: "abc", Expires: "soon"}, "30m, 8h, 7d"},
		{noiserules.NoiseParams{Action: "add", Text: "abc", ID: "No Good"}, "lowercase letters"},
		{noiserules.NoiseParams{Action: "add", Text: "abc", ID: "mine"}, "remove it first"},
		{noiserules.NoiseParams{Action: "remove"}, "pass the id of a rule from list"},
		{noiserules.NoiseParams{Action: "remove", ID: "n7"}, "the only one is mine"},
		{noiserules.NoiseParams{Action: "remove", ID: "analytics"}, "turn it off"},
		{noiserules.NoiseParams{Action: "disable", Pack: "smell"}, "packs are hot-update"},
	} {
		if _, err := w.Engine.Rules.ConfigureNoise(context.Background(), c, tc.p); err == nil || !usererr.Is(err) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc.p, err)
		}
	}
	again := noiseOf(t, w, c, noiserules.NoiseParams{Action: "add", Text: "slow", Expires: "7d"})
	if again.Replaced == nil || again.Added.ID != "mine" || again.Added.Of != "user" {
		t.Errorf("the same again takes its place: %+v", again)
	}
}

func TestFailuresOfTheProjectsOwnServersAreNeverSuggested(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	if a := noiseOf(t, w, c, noiserules.NoiseParams{Action: "suggest"}); a.Note != noiserules.NothingToSuggest || len(a.Suggestions) != 0 {
		t.Errorf("nothing happened: %+v", a)
	}
	for range 5 {
		w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`)
		for i, url := range []string{"ws://localhost:5173/live", "ws://localhost:4000/live", "wss://widget.test/live"} {
			w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":%q,"op":"error","text":"refused"`, i, url))
			w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":%q,"op":"close","code":1006`, i, url))
		}
		w.Pass(10 * time.Second)
	}
	a := noiseOf(t, w, c, noiserules.NoiseParams{Action: "suggest"})
	if len(a.Suggestions) == 0 || a.Note != "" {
		t.Fatalf("nothing of another host is suggested: %+v", a)
	}
	for _, s := range a.Suggestions {
		if s.Kind != "websocket" || !strings.Contains(s.Fingerprint, "widget.test") {
			t.Errorf("suggested: %+v", s)
		}
	}
	for range 5 {
		w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`)
		w.Request("GET", "/api/cart", 500, 10)
		w.Pass(10 * time.Second)
	}
	for _, s := range noiseOf(t, w, c, noiserules.NoiseParams{Action: "suggest"}).Suggestions {
		if s.Kind == "network" {
			t.Errorf("suggested: %+v", s)
		}
	}
}

// TestSuggestionsAreOfOtherHosts: whatever repeats on a page, no request or connection to the project's own servers is
// suggested. A development server has several names.
func TestSuggestionsAreOfOtherHosts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := enginetest.New(t, capture.Limits{})
		c, leave := w.Engine.Clients.Join("", "agent", checkpoint.Scope{})
		defer leave()
		local := []string{"localhost:4000", "LOCALHOST", "127.0.0.1:8080", "[::1]:9000", "api.localhost:4000", "0.0.0.0:5173"}
		page := rapid.SampledFrom([]string{"localhost:5173", "127.0.0.1:3000", "[::1]:3000", "shop.localhost:3000", "shop.test:8080"}).Draw(rt, "page")
		own := append(local, page)
		if page == "shop.test:8080" {
			own = append(own, "shop.test", "SHOP.test:4000", "shop.test.:9000")
		}
		w.Open(7, "http://"+page+"/")
		kinds := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 4).Draw(rt, "kinds")
		hosts := rapid.SliceOfN(rapid.SampledFrom(append(own, "widget.example", "localhost.example")), 1, 4).Draw(rt, "hosts")
		for range rapid.IntRange(3, 5).Draw(rt, "periods") {
			w.Send("navigation", fmt.Sprintf(`"how":"reload","url":"http://%s/"`, page))
			for i, kind := range kinds {
				host := hosts[i%len(hosts)]
				switch kind {
				case 0:
					w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":"ws://%s/live","op":"error","text":"refused"`, i, host))
				case 1:
					w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":"wss://%s/live","op":"close","code":1006`, i, host))
				case 2:
					w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":"ws://%s/live","op":"received","text":"{\"error\":\"full\"}"`, i, host))
				case 3:
					w.Request("GET", "http://"+host+"/api", rapid.SampledFrom([]int{0, 404, 500}).Draw(rt, "status"), 10)
				}
			}
			w.Pass(10 * time.Second)
		}
		for _, s := range noiseOf(t, w, c, noiserules.NoiseParams{Action: "suggest"}).Suggestions {
			if s.Kind != "console" && !strings.Contains(s.Fingerprint, ".example") {
				rt.Fatalf("suggested on %s: %+v", page, s)
			}
		}
	})
}

func TestAnOriginNeedsItsSchemeOrPort(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for _, origin := range []string{"localhost", "foo", "127.0.0.1"} {
		want := fmt.Sprintf("%q is not a valid origin; write it with its scheme or port: http://%s, or %[2]s:5173", origin, origin)
		if _, err := w.Engine.Rules.ConfigureNoise(context.Background(), w.Agent(), noiserules.NoiseParams{Action: "add", Text: "x", Origin: origin}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("configure_noise: %v", err)
		}
		if _, err := checkpoint.NewScope([]string{origin}); err == nil || err.Error() != want {
			t.Errorf("--origin: %v", err)
		}
	}
	if s, err := checkpoint.NewScope([]string{"localhost:5173", "http://localhost"}); err != nil || len(s.Origins) != 2 {
		t.Errorf("%v %v", s, err)
	}
}
