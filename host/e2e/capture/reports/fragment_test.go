package reports

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestADocumentWithAFragmentIsOneRequest, without the fragment, whether it was watched from its beginning or not.
func TestADocumentWithAFragmentIsOneRequest(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Fragment", `<p>Routed</p>`), "/other": e2etest.StorePage("Other", `<p>Other</p>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL+"/#/list")
	check := func(how string, want int) {
		t.Helper()
		var list struct {
			Entries []struct{ URL, Resource string }
		}
		documents := 0
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			a.Changes()
			a.Call("get_network_bodies", map[string]any{"url": s.URL + "/", "after": 0, "format": "json"}, &list)
			documents = 0
			for _, e := range list.Entries {
				if strings.TrimPrefix(e.URL, s.URL) == "/" {
					documents++
				}
			}
			return documents >= want, nil
		}); err != nil || documents != want {
			t.Errorf("%s: %d documents, want %d: %+v", how, documents, want, list)
		}
		for _, e := range list.Entries {
			if strings.Contains(e.URL, "#") {
				t.Errorf("%s: %s", how, e.URL)
			}
		}
	}
	check("opened", 1)
	p.Reload()
	check("reloaded", 2)
	a.Do("browser_navigate", map[string]any{"url": s.URL + "/other"})
	a.Do("browser_navigate", map[string]any{"url": s.URL + "/#/list"})
	check("navigated", 3)
	w.EndWorker(t)
	p.Reload()
	check("reloaded, with another worker", 4)
}
