package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/demo"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

func TestTwoAgentsEachHearEverythingOnce(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	first, second := w.AgentOf(t, s), w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first.Changes()
	second.Changes()
	p.JS(`console.error('one')`)
	if r := first.Changes(); r.Console.TotalNewEntries != 1 {
		t.Errorf("the first agent: %s", e2etest.Show(r))
	}
	p.JS(`console.error('two')`)
	if r := second.Changes(); r.Console.TotalNewEntries != 2 || len(r.Console.NewErrors) != 2 {
		t.Errorf("the second agent hears both: %s", e2etest.Show(r))
	}
	if r := first.Changes(); len(r.Console.NewErrors) != 1 || r.Console.NewErrors[0].Message != "two" {
		t.Errorf("the first agent hears what is new to it: %s", e2etest.Show(r))
	}
}

func TestTwoTabsAreNamedAndOneCanBeAskedFor(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage, "/b": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	one, two := w.Open(t, s.URL), w.Open(t, s.URL+"/b")
	a.Changes()
	one.JS(`console.error('in one')`)
	two.JS(`console.error('in two')`)
	r := a.Changes()
	if len(r.Console.NewErrors) != 2 || r.Console.NewErrors[0].Tab == 0 || r.Console.NewErrors[0].Tab == r.Console.NewErrors[1].Tab {
		t.Fatalf("entries do not name their tabs: %s", e2etest.Show(r))
	}
	for _, m := range r.Console.NewErrors {
		narrow := a.ChangesWith(map[string]any{"checkpoint": r.From.String(), "tab": m.Tab, "include": []string{"console"}})
		if len(narrow.Console.NewErrors) != 1 || narrow.Console.NewErrors[0].Message != m.Message || narrow.Network != nil {
			t.Errorf("tab %d: %s", m.Tab, e2etest.Show(narrow))
		}
	}
	if _, err := a.Text("get_changes_since", map[string]any{"tab": 9999}); err == nil || !strings.Contains(err.Error(), "there is no tab 9999; watched tabs: ") {
		t.Errorf("a tab that is not there: %v", err)
	}
}

func TestTwoProjectsDoNotHearOrOverwriteEachOther(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s1, s2 := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage}), e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a1, a2 := w.AgentOf(t, s1), w.AgentOf(t, s2)
	p1 := w.Open(t, s1.URL)
	w.Open(t, s2.URL)
	a1.Changes()
	a2.Changes()
	for _, a := range []*e2etest.Agent{a1, a2} {
		var made struct{ Name, Replaced string }
		a.Call("checkpoint_create", map[string]any{"name": "session_start"}, &made)
		if made.Replaced != "" {
			t.Error("one project's checkpoint replaced the other's")
		}
	}
	p1.JS(`console.error('only here')`)
	if r := a1.ChangesWith(map[string]any{"checkpoint": "session_start", "wait": "settled"}); r.Severity != report.Error {
		t.Errorf("the project itself: %s", e2etest.Show(r))
	}
	if r := a2.ChangesWith(map[string]any{"checkpoint": "session_start", "wait": "settled"}); r.Severity != report.Clean || r.Coverage != nil {
		t.Errorf("the other project: %s", e2etest.Show(r))
	}
	for _, a := range []*e2etest.Agent{a1, a2} {
		var deleted struct{ Deleted string }
		a.Call("checkpoint_delete", map[string]any{"name": "session_start"}, &deleted)
	}
}

func TestAReloadKeepsHistoryAndIsNoNews(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<div class="error">Still here</div><script>console.error('on load')</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	p.Reload()
	r := a.Changes()
	if len(r.Repeated) != 1 || r.Severity != report.Error || r.DOM.NewErrorElements != nil || r.DOM.DisappearedElements != nil || r.Actions.NewActions[0].Type != "reload" {
		t.Errorf("after a reload: %s", e2etest.Show(r))
	}
	all := a.ChangesWith(map[string]any{"checkpoint": "2020-01-01"})
	if len(all.Console.NewErrors) != 1 || all.Console.NewErrors[0].Count != 2 {
		t.Errorf("the reload wiped the history: %s", e2etest.Show(all))
	}
}

func TestWaitReloadIsNeverCleanBeforeTheUpdateCame(t *testing.T) {
	w := e2etest.SharedWorld(t)
	broken := make(chan struct{})
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<script src="/app.js"></script><script>
		const source = new EventSource('/updates'); source.onmessage = () => location.reload()</script>`})
	s.Mux.HandleFunc("/app.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Cache-Control", "no-store")
		select {
		case <-broken:
			_, _ = io.WriteString(w, "broken(")
		default:
			_, _ = io.WriteString(w, "console.log('fine')")
		}
	})
	edit := make(chan struct{})
	s.Mux.HandleFunc("/updates", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		select {
		case <-edit:
			_, _ = io.WriteString(w, "data: reload\n\n")
		case <-r.Context().Done():
		}
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	a.Changes()

	if r := a.ChangesWith(map[string]any{"wait": "reload", "timeout_ms": 200}); *r.Settled || !strings.Contains(r.Summary, "not settled: no navigation or hot update occurred") {
		t.Errorf("no edit was made: %s", e2etest.Show(r))
	}
	answer := make(chan *report.Report, 1)
	go func() {
		text, err := a.Text("get_changes_since", map[string]any{"wait": "reload", "timeout_ms": 15000})
		var r report.Report
		if err == nil {
			err = json.Unmarshal([]byte(text), &r)
		}
		if err != nil {
			t.Error(err)
		}
		answer <- &r
	}()
	close(broken)
	edit <- struct{}{} // the development server tells the page only now
	if r := <-answer; r.Severity != report.Error || !*r.Settled {
		t.Errorf("the edit broke the page: %s", e2etest.Show(r))
	}
}

// onlySlow says whether nothing is wrong but that requests took long, as they do on a machine that is
// busy with other tests.
func onlySlow(r *report.Report) bool {
	found, _ := report.SplitSummary(r.Summary)
	return r.Severity == report.Warning && found == fmt.Sprintf("%d degraded endpoint(s)", len(r.Network.Degraded))
}

func TestEveryBreakageOfTheDemoIsTold(t *testing.T) {
	w := e2etest.SharedWorld(t)
	shop := demo.New()
	url, err := shop.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shop.Close() })
	a := w.NewAgent(t, "--origin", url)
	p := w.Open(t, url)
	p.JS(strings.TrimSuffix("await "+demo.Script("await ready();"), ";"))
	for _, b := range demo.Breakages {
		t.Run(b.Name, func(t *testing.T) {
			steps := func(s string) {
				t.Helper()
				if s != "" {
					p.JS(strings.TrimSuffix("await "+demo.Script(s), ";"))
				}
			}
			steps(b.Prepare)
			a.Changes()
			b.Break(shop)
			if b.Reload {
				p.Reload()
			}
			steps(b.Trigger)
			r := a.Changes()
			text := strings.NewReplacer(`\"`, `"`, `\u003c`, `<`).Replace(e2etest.Show(r))
			severity := b.Expect.Severity
			if w.Way == "quiet" && strings.Contains(text, "is not valid JSON (response of") {
				severity = "warning" // the page may have dealt with it: it cannot be told
			}
			if string(r.Severity) != severity && !(severity == "clean" && onlySlow(r)) {
				t.Errorf("severity is %s, not %s", r.Severity, severity)
			}
			e := b.Expect
			wanted := append(append(append(append(append(append([]string{}, e.Errors...), e.Warnings...), e.Degraded...), e.Disconnections...), e.SocketErrors...), e.Elements...)
			for _, f := range e.Failures {
				wanted = append(wanted, f.URL, fmt.Sprintf(`"status": %d`, f.Status), f.Error)
			}
			for _, part := range wanted {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not told", part)
				}
			}
			if t.Failed() {
				t.Log(e2etest.Show(r))
			}
			b.Mend(shop)
			if b.Reload {
				p.Reload()
			}
			steps(b.Recover)
			if r := a.Changes(); r.Severity != report.Clean && !onlySlow(r) || len(e.Failures) > 0 && r.Network.Recovered == nil && strings.HasPrefix(e.Failures[0].URL, "/api/") {
				t.Errorf("after it was mended: %s", e2etest.Show(r))
			}
		})
	}
}

func TestRawReadsHoldBodiesAndHeadersWithSecretsMasked(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	large := strings.Repeat("x", 100<<10)
	s.Mux.HandleFunc("/api/login", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "sid=very-secret")
		_, _ = io.WriteString(w, `{"user":"ann","access_token":"abc.def","roles":["admin"]}`)
	})
	s.Mux.HandleFunc("/api/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", strconv.Itoa(len(large)))
		_, _ = io.WriteString(w, large)
	})
	const over = 64<<10 + 30
	s.Mux.HandleFunc("/api/little", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, large[:over])
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	p.JS(`await (await fetch('/api/login', {method: 'POST', headers: {Authorization: 'Bearer abcdefghijklmnop', 'Content-Type': 'application/json'}, body: JSON.stringify({user: 'ann', password: 'hunter2'})})).json(); await (await fetch('/api/large')).text(); await (await fetch('/api/little')).text()`)
	a.Changes()
	var page struct {
		Entries []struct {
			URL, RequestBody, ResponseBody, BodyNote string
			Status, Masked                           int
		}
		Total int
	}
	text, err := a.Text("get_network_bodies", testbed.Raw(map[string]any{"url": "/api/", "status_min": 200}))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.NewReplacer("request_body", "RequestBody", "response_body", "ResponseBody", "body_note", "BodyNote").Replace(text)), &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Entries) != 3 || page.Total != 3 {
		t.Fatalf("%.2000s", text)
	}
	login, big, little := page.Entries[0], page.Entries[1], page.Entries[2]
	if login.RequestBody != `{"user":"ann","password":"[masked]"}` || login.ResponseBody != `{"user":"ann","access_token":"[masked]","roles":["admin"]}` || login.Masked < 3 {
		t.Errorf("%+v", login)
	}
	if len(big.ResponseBody) != 64<<10 || !strings.Contains(big.BodyNote, "102400") {
		t.Errorf("%d bytes, %q", len(big.ResponseBody), big.BodyNote)
	}
	if len(little.ResponseBody) != 64<<10 || little.BodyNote != fmt.Sprintf("cut at 65536 of %d bytes", over) {
		t.Errorf("%d bytes, %q", len(little.ResponseBody), little.BodyNote)
	}
	for _, secret := range []string{"very-secret", "abcdefgh", "hunter2", "abc.def"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in the answer", secret)
		}
	}
}
