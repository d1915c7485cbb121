package engine_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// ended sends the end of a request that was sent so many milliseconds ago, after others of the same millisecond.
func ended(w *enginetest.World, path string, status int, ago int64, order int) {
	w.Send("network", fmt.Sprintf(`"id":"r%d","method":"GET","url":%q,"resource":"fetch","status":%d,"started":%d,"order":%d,"duration":%d`,
		w.Now.UnixNano(), enginetest.Page+path, status, w.Now.UnixMilli()-ago, order, ago))
	w.Pass(time.Millisecond)
}

var paths = regexp.MustCompile(`/(?:ord|bad|slow|items)(?:/\w)?`)

// TestRequestsOfOneMillisecondAreListedAsTheyWereSent: they ended in another order, a millisecond after each other.
func TestRequestsOfOneMillisecondAreListedAsTheyWereSent(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	from := w.Store.View(w.Now).Now()
	for i, n := range "badc" {
		ended(w, fmt.Sprintf("/ord/%c", n), 200, int64(20+i), int(n-'a'))
	}
	for i, n := range "badc" {
		ended(w, fmt.Sprintf("/bad/%c", n), 500, int64(10+i), int(n-'a'))
	}
	const want = "/ord/a /ord/b /ord/c /ord/d /bad/a /bad/b /bad/c /bad/d"
	order := func(text string) string {
		var found []string
		for _, p := range paths.FindAllString(text, -1) {
			if strings.HasPrefix(p, "/ord/") || strings.HasPrefix(p, "/bad/") {
				found = append(found, p)
			}
		}
		return strings.Join(found, " ")
	}
	a := w.Agent()
	for _, tool := range []string{"get_network_requests", "get_network_bodies"} {
		if got := order(inLines(t, w, a, tool, `{}`)); got != want {
			t.Errorf("%s: %s", tool, got)
		}
	}
	var all []string
	for _, c := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
		all = append(all, c.Text)
	}
	if got := order(strings.Join(all, "\n")); got != want {
		t.Error("an action:", got)
	}
	all = nil
	for _, f := range w.Changes(a, params{}).Network.Failures {
		all = append(all, f.URL)
	}
	if got := order(strings.Join(all, "\n")); got != "/bad/a /bad/b /bad/c /bad/d" {
		t.Error("get_changes_since:", got)
	}
}

// TestAnOvertakenRequestSaysSo: requests are path, start and duration in milliseconds.
func TestAnOvertakenRequestSaysSo(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests []string
		want     string
	}{
		{"one answered after a later one", []string{"/items?tag=x 0 1233", "/items?tag=y 1 12"}, "GET /items?tag=x 200 (1233 ms, answered after a later one), GET /items?tag=y 200"},
		{"of one address", []string{"/items 0 1233", "/items 1 12"}, "GET /items 200 (1233 ms, answered after a later one), GET /items 200"},
		{"in the order of their starts", []string{"/items?tag=x 0 100", "/items?tag=y 50 100"}, "GET /items?tag=x 200, GET /items?tag=y 200"},
		{"about at once", []string{"/items/1 0 40", "/items/2 1 10"}, "GET /items/1 200, GET /items/2 200"},
		{"of another endpoint", []string{"/slow 0 1233", "/items 1 12"}, "GET /slow 200, GET /items 200"},
	} {
		w := enginetest.New(t, capture.Limits{})
		from, at := w.Store.View(w.Now).Now(), w.Now.UnixMilli()
		w.Pass(2 * time.Second)
		for i, r := range c.requests {
			var path string
			var start, ms int64
			if _, err := fmt.Sscan(r, &path, &start, &ms); err != nil {
				t.Fatal(err)
			}
			w.Send("network", fmt.Sprintf(`"id":"o%d","method":"GET","url":%q,"resource":"fetch","status":200,"started":%d,"order":%d,"duration":%d`, i, enginetest.Page+path, at+start, i, ms))
		}
		var all []string
		for _, c := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
			all = append(all, c.Line())
		}
		if got := strings.Join(all, ", "); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

// TestAFoldedLineStandsWhereItsFirstRequestWasSent: the last of several may have been answered first.
func TestAFoldedLineStandsWhereItsFirstRequestWasSent(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	from := w.Store.View(w.Now).Now()
	ended(w, "/slow", 200, 20, 0) // the second one, answered first
	ended(w, "/items", 200, 30, 0)
	ended(w, "/slow", 200, 40, 0) // the first one
	ended(w, "/items", 200, 10, 0)
	if got := strings.Join(paths.FindAllString(inLines(t, w, w.Agent(), "get_network_requests", `{}`), -1), " "); !strings.Contains(got, "/slow /items") {
		t.Error(got)
	}
	var all []string
	for _, c := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
		all = append(all, fmt.Sprintf("%s ×%d", c.Text, c.Count))
	}
	if got := strings.Join(all, ", "); got != "GET /slow 200 ×2, GET /items 200 ×2" {
		t.Error(got)
	}
}
