package effects

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// TestWaitingUntilAPageSettlesIsForItsRequests: for those, too, that an earlier answer called unfinished.
func TestWaitingUntilAPageSettlesIsForItsRequests(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Slow", `<button onclick="fetch('/slow').then((r) => { out.textContent = 'answered ' + r.status })">Ask</button><p id="out"></p>`)})
	began, end := make(chan struct{}, 1), make(chan struct{})
	s.Mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		select {
		case <-end:
			w.WriteHeader(http.StatusInternalServerError)
		case <-r.Context().Done():
		}
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	ask := e2etest.RefOf(t, a.Look(), `"Ask"`)
	if d := a.Act("browser_click", map[string]any{"ref": ask}); !slices.Equal(d.Unfinished, []string{"GET /slow"}) {
		t.Errorf("unfinished: %v", d.Unfinished)
	}
	<-began
	e2etest.Holds(t, a.Refusal("browser_wait_for", map[string]any{"settled": true, "timeout_ms": 300}, protocol.RefusedFailed, 0).Refused.Detail, "the page did not settle: 1 request(s) in flight: GET /slow")
	if r := a.ChangesWith(map[string]any{"wait": "settled", "timeout_ms": 300}); *r.Settled || r.UnsettledBecause != "1 request(s) in flight: GET /slow" {
		t.Errorf("settled for get_changes_since: %s", r.Summary)
	}
	time.AfterFunc(time.Second, func() { close(end) }) // during the wait
	e2etest.Holds(t, e2etest.Said(a.Act("browser_wait_for", map[string]any{"settled": true}).Broke), "GET /slow 500")
	e2etest.Holds(t, a.Everything(), "answered 500")
}

// TestARequestOfAPageThatWasLeftIsNotWaitedFor: of a document that is gone, in the tab or in a frame of it.
func TestARequestOfAPageThatWasLeftIsNotWaitedFor(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":   e2etest.StorePage("First", `<button onclick="fetch('/slow')">Ask</button><button onclick="frames[0].frameElement.remove()">Remove</button><iframe src="/frame"></iframe>`),
		"/next":  e2etest.StorePage("Next", ""),
		"/frame": `<script>fetch('/slow')</script>`,
	})
	s.Mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Remove"`)})
	if r := a.ChangesWith(map[string]any{"wait": "settled"}); !*r.Settled {
		t.Errorf("after the frame was removed: %s", r.Summary)
	}
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Ask"`)})
	a.Do("browser_navigate", map[string]any{"url": s.URL + "/next"})
	if r := a.ChangesWith(map[string]any{"wait": "settled"}); !*r.Settled {
		t.Errorf("after the page was left: %s", r.Summary)
	}
}

// TestAPageThatIsEmptiedSoonAfterItsLoadIsEmptiedByTheAction: it is looked at only a second after its load.
func TestAPageThatIsEmptiedSoonAfterItsLoadIsEmptiedByTheAction(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":  e2etest.StorePage("Start", ""),
		"/shop": e2etest.StorePage("Shop", `<button onclick="document.body.innerHTML = '<div></div>'; throw new TypeError('no price')">Pay</button>`),
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	shop := a.Do("browser_navigate", map[string]any{"url": s.URL + "/shop"})
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, shop, `"Pay"`)})
	e2etest.Holds(t, e2etest.Said(d.Broke), "TypeError: no price", "the page is empty")
	if d.Late != nil {
		t.Errorf("before the click: %s", d)
	}
}

// TestAReferenceOfAClosedTabActsOnNoOther: references count from one in each tab.
func TestAReferenceOfAClosedTabActsOnNoOther(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Opener", `<button onclick="document.title = 'deleted'">Delete all</button>`), "/popup": e2etest.StorePage("Popup", `<button onclick="document.title = 'closing'">Close me</button>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	all := e2etest.RefOf(t, a.Look(), `"Delete all"`)
	popup := w.Open(t, s.URL+"/popup")
	var tab []string
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		list, err := a.Text("browser_tabs", nil)
		tab = regexp.MustCompile(`"id":(\d+),[^}]*?/popup"`).FindStringSubmatch(list)
		return tab != nil, err
	}); err != nil {
		t.Fatal(err)
	}
	id, _ := strconv.Atoi(tab[1])
	ref := e2etest.RefOf(t, a.Snapshot(map[string]any{"tab": id}), `"Close me"`)
	if ref != all {
		t.Fatalf("%s and %s: the test is to have the same reference in both tabs", ref, all)
	}
	popup.Close()
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		list, err := a.Text("browser_tabs", nil)
		return !strings.Contains(list, "/popup"), err
	}); err != nil {
		t.Fatal(err)
	}
	a.Cannot("browser_click", map[string]any{"ref": ref}, usererr.ReferenceGone, "was closed")
	e2etest.Holds(t, a.Look(), "[Tab: ", "page: Opener]")
	a.Do("browser_click", map[string]any{"ref": all})
}

// TestGoingBackWhereThereIsNoWebPageIsRefused: the tab would be lost to the agent.
func TestGoingBackWhereThereIsNoWebPageIsRefused(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Begin", ""), "/first": e2etest.StorePage("First", ""), "/second": e2etest.StorePage("Second", "")})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	a.Do("browser_navigate", map[string]any{"url": s.URL + "/first"})
	a.Do("browser_navigate", map[string]any{"url": s.URL + "/second"})
	e2etest.Holds(t, a.Act("browser_navigate", map[string]any{"url": "back"}).Page, "First")
	e2etest.Holds(t, a.Act("browser_navigate", map[string]any{"url": "forward"}).Page, "Second")
	var back *e2etest.Acted
	for range 4 { // to where the tab began
		if back = a.Answer("browser_navigate", map[string]any{"url": "back"}); back.Refused != nil {
			break
		}
	}
	if back.Refused == nil || back.Refused.Reason != protocol.RefusedFailed {
		t.Fatalf("it went back: %s", back)
	}
	e2etest.Holds(t, back.Refused.Detail, "has no web page to go back to")
}
