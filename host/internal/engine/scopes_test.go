package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

func TestAnAgentHearsOfItsProjectOnly(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	shop, admin := w.Scoped("localhost:5173"), w.Scoped("localhost:3000")
	w.Log("error", "of the shop")
	w.Request("GET", "/of-the-shop", 500, 1)
	w.Socket("close", "")
	w.Element("appeared", 1, ".error", "the shop is closed")
	w.Send("action", `"action":"click","target":"button of the shop"`)
	if r := w.Changes(admin, params{}); !r.Empty() || r.Severity != "clean" || r.Coverage != nil {
		t.Errorf("%s", show(r))
	}
	if r := w.Changes(shop, params{}); r.Summary != "1 new console error(s), 1 network failure(s), 1 disconnection(s), 1 new error element(s)" || r.Actions.TotalNewActions != 1 {
		t.Errorf("%s", show(r))
	}
}

func TestATabThatGoesToAnotherProjectIsThatProjectsFromThenOn(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	shop, admin := w.Scoped("localhost:5173"), w.Scoped("localhost:3000")
	w.Element("appeared", 1, ".error", "of the shop")
	w.Changes(shop, params{})
	w.Send("network", `"id":"d","method":"GET","url":"http://localhost:3000/","resource":"document","status":500,"started":1,"duration":1`)
	w.Send("navigation", `"how":"load","url":"http://localhost:3000/"`)
	w.Send("element", `"op":"reset","frame":0,"document":"d2","id":0`)
	w.Log("error", "of the admin")
	r := w.Changes(shop, params{})
	is(t, r.DOM, `{"disappeared_elements":[{"selector":".error","text":"of the shop"}]}`)
	if r.Console.TotalNewEntries != 0 || r.Network.TotalNewRequests != 0 || note(r) != "no watched tab shows http://localhost:5173" {
		t.Errorf("%s", show(r))
	}
	r = w.Changes(admin, params{})
	if len(r.Console.NewErrors) != 1 || len(r.Network.Failures) != 1 || len(r.DOM.DisappearedElements) != 0 || r.Coverage != nil {
		t.Errorf("%s", show(r))
	}
}

func TestNamedCheckpointsOfTwoProjectsStayApart(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	shop, admin, all := w.Scoped("localhost:5173"), w.Scoped("localhost:3000"), w.Agent()
	create := func(c *checkpoint.Client, name, want string) {
		t.Helper()
		w.Pass(time.Second)
		if answer, err := w.Call(c, "checkpoint_create", `{"name":"`+name+`"}`); err != nil || !strings.Contains(answer, want) {
			t.Errorf("%s %v", answer, err)
		}
	}
	create(shop, "session_start", `"severity":"clean"`)
	w.Log("error", "of the shop")
	create(admin, "session_start", `"severity":"clean"`)
	create(shop, "before_refactor", `"severity":"error","summary":"1 new console error(s)"`)
	create(all, "everywhere", `"severity":"clean"`)
	create(shop, "session_start", `"replaced":"2026-01-23T10:30:01.000Z"`)
	for _, c := range []struct {
		name   string
		client *checkpoint.Client
		want   string
	}{
		{"shop", shop, `{"checkpoints":[{"name":"before_refactor","at":"2026-01-23T10:30:03.000Z","severity":"error","summary":"1 new console error(s)"},` +
			`{"name":"everywhere","at":"2026-01-23T10:30:04.000Z","severity":"clean","scope":"all"},{"name":"session_start","at":"2026-01-23T10:30:05.000Z","severity":"clean"}]}`},
		{"admin", admin, `{"checkpoints":[{"name":"session_start","at":"2026-01-23T10:30:02.000Z","severity":"clean"},{"name":"everywhere","at":"2026-01-23T10:30:04.000Z","severity":"clean","scope":"all"}]}`},
		{"all", all, `{"checkpoints":[{"name":"session_start","at":"2026-01-23T10:30:02.000Z","severity":"error","summary":"1 new console error(s)","scope":"http://localhost:3000"},` +
			`{"name":"before_refactor","at":"2026-01-23T10:30:03.000Z","severity":"clean","scope":"http://localhost:5173"},{"name":"everywhere","at":"2026-01-23T10:30:04.000Z","severity":"clean"},` +
			`{"name":"session_start","at":"2026-01-23T10:30:05.000Z","severity":"clean","scope":"http://localhost:5173"}]}`},
	} {
		if got, err := w.Call(c.client, "checkpoint_list", `{}`); err != nil || got != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
	if r := w.Changes(admin, params{Checkpoint: "session_start"}); r.Console.TotalNewEntries != 0 {
		t.Errorf("%s", show(r))
	}
}

func TestThePopupSpeaksForTheNarrowestScopeOfItsTab(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	w.Open(9, "about:blank")
	key := func(tab int) string { return w.Engine.Clients.ScopeOfTab(tab).Key() }
	if got := key(1); got != "http://localhost:5173" {
		t.Errorf("no agent: %q", got)
	}
	wide := w.Scoped("localhost:5173", "localhost:3000", "localhost:9000")
	if got := key(1); got != wide.Scope.Key() {
		t.Errorf("one agent: %q", got)
	}
	narrow := w.Scoped("localhost:5173", "localhost:9000")
	if got := key(1); got != narrow.Scope.Key() {
		t.Errorf("two agents: %q", got)
	}
	if got := key(2); got != wide.Scope.Key() {
		t.Errorf("the other tab: %q", got)
	}
	for _, tab := range []int{0, 3, 77} {
		if got := key(tab); got != "" {
			t.Errorf("tab %d: %q", tab, got)
		}
	}
	w.Log("error", "e")
	if o := overview(w); o.Severity != "error" || o.Summary != "1 new console error(s)" || o.Since != "" || o.Host != "1.2.3" {
		t.Errorf("%+v", o)
	}
	if _, err := w.Call(w.Agent(), "checkpoint_create", `{"name":"after_it","note":"n"}`); err != nil {
		t.Fatal(err)
	}
	if o := overview(w); o.Severity != "clean" || o.Since != "after_it" || len(o.Checkpoints) != 1 || o.Checkpoints[0].Note != "n" || o.Checkpoints[0].Severity != "error" {
		t.Errorf("%+v", o)
	}
}

// overview is what the popup shows.
func overview(w *enginetest.World) *protocol.Overview {
	o, _ := w.Engine.Viewer.Popup(context.Background(), "i", protocol.OverviewParams{Tabs: true}) // it never fails
	return o
}

func TestThePopupListsWhatItCounts(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	w.Element("appeared", 1, ".alert", "Payment failed")
	w.Log("warning", "slow")
	o := overview(w)
	if o.Warnings != 2 || len(o.Findings) != 2 || o.MoreFindings != 0 {
		t.Fatalf("%+v", o)
	}
	if f := o.Findings[0]; f.Text != "Payment failed" || f.Level != "warning" || f.Count != 1 || f.Fingerprint != "" {
		t.Errorf("an error element: %+v", f)
	}
	if f := o.Findings[1]; f.Text != "slow" || f.Fingerprint != "slow" {
		t.Errorf("a warning: %+v", f)
	}
	for _, text := range []string{"a", "b", "c"} {
		w.Log("error", text+" broke")
	}
	w.Element("appeared", 2, ".alert", "Delivery failed")
	w.Element("appeared", 3, "#other", "Delivery failed")
	o = overview(w)
	if o.Errors != 3 || o.Warnings != 4 || len(o.Findings) != protocol.MaxFindings || o.MoreFindings != 1 {
		t.Errorf("%+v", o)
	}
	if f := o.Findings[3]; f.Text != "Delivery failed" || f.Count != 2 {
		t.Errorf("two elements that say the same: %+v", f)
	}
}

func TestThePopupDistinguishesCheckpointsOfOneName(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	shop, admin := w.Scoped("localhost:5173"), w.Scoped("localhost:3000")
	for _, client := range []*checkpoint.Client{shop, admin} {
		if _, err := w.Call(client, "checkpoint_create", `{"name":"session_start"}`); err != nil {
			t.Fatal(err)
		}
	}
	o := overview(w)
	if len(o.Checkpoints) != 2 || o.Checkpoints[0].Name != "session_start@http://localhost:5173" ||
		o.Checkpoints[1].Name != "session_start@http://localhost:3000" {
		t.Errorf("of all: %+v", o)
	}
}
