package reports

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark.dev/tidemark/host/internal/sourcemap/maptest"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestAMapOfAPageReachesNothingElse: a map is fetched without the cookies and the address of the page where that is another
// origin, never from a file, and its sources and sections are read from nowhere.
func TestAMapOfAPageReachesNothingElse(t *testing.T) {
	w := e2etest.SharedWorld(t)
	planted := filepath.Join(t.TempDir(), "planted.map")
	original := func(names ...string) string {
		m := maptest.Map{Sources: names, Mappings: maptest.Mappings([]maptest.Segment{{SourceLine: 40}})}
		return string(m.JSON())
	}
	if err := os.WriteFile(planted, []byte(original("file-was-read.ts")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		// reference and data have OTHER for another origin, FILE for the planted file.
		reference, data, source string
		// asked are the paths of the other origin that are requested.
		asked string
	}{
		"a map that is a file":            {reference: "file://FILE"},
		"a map of another origin":         {reference: "OTHER/app.map", source: "other.ts:41", asked: "/app.map"},
		"a source that is a file":         {reference: "app.js.map", data: original("file://FILE"), source: "planted.map:41"},
		"a source of another origin":      {reference: "app.js.map", data: original("OTHER/secret.ts"), source: "secret.ts:41"},
		"a source of the cloud's network": {reference: "app.js.map", data: original("http://169.254.169.254/latest/meta-data"), source: "meta-data:41"},
		"a section of another origin":     {reference: "app.js.map", data: `{"version":3,"sections":[{"offset":{"line":0,"column":0},"url":"OTHER/section.map"}]}`},
		"a section that is the map":       {reference: "app.js.map", data: `{"version":3,"sections":[{"offset":{"line":0,"column":0},"url":"app.js.map"}]}`},
		"a section of a file":             {reference: "app.js.map", data: `{"version":3,"sections":[{"offset":{"line":0,"column":0},"url":"file://FILE"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			var (
				lock  sync.Mutex
				asked []string
			)
			other := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				lock.Lock()
				asked = append(asked, r.URL.Path)
				lock.Unlock()
				if r.Header.Get("Cookie")+r.Header.Get("Referer")+r.Header.Get("Authorization") != "" {
					t.Errorf("%s was asked for with %v", r.URL.Path, r.Header)
				}
				_, _ = io.WriteString(w, original("/src/other.ts"))
			}))
			t.Cleanup(other.Close)
			filled := strings.NewReplacer("OTHER", other.URL, "FILE", filepath.ToSlash(planted))
			s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<script>document.cookie = 'session=1'</script><script src="/app.js"></script>`})
			maps := 0
			s.Mux.HandleFunc("/app.js", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/javascript")
				_, _ = fmt.Fprintf(w, "function breaks() { throw new Error('broken') }\n//# sourceMappingURL=%s", filled.Replace(c.reference))
			})
			s.Mux.HandleFunc("/app.js.map", func(w http.ResponseWriter, _ *http.Request) {
				lock.Lock()
				maps++
				lock.Unlock()
				_, _ = io.WriteString(w, filled.Replace(c.data))
			})
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL)
			p.Start(`breaks()`)
			var said string
			err := testbed.Eventually(t.Context(), func() (bool, error) {
				r := a.ChangesWith(map[string]any{"checkpoint": "2020-01-01"})
				said = e2etest.Show(r)
				if r.Console == nil || len(r.Console.NewErrors) != 1 {
					return false, nil
				}
				e := r.Console.NewErrors[0]
				if c.source == "" {
					return e.Generated && strings.HasPrefix(e.Source, "app.js:1"), nil
				}
				return !e.Generated && strings.HasPrefix(e.Source, c.source), nil
			})
			if err != nil {
				t.Errorf("%v: %s", err, said)
			}
			lock.Lock()
			defer lock.Unlock()
			if slices.ContainsFunc(asked, func(path string) bool { return path != c.asked }) {
				t.Errorf("the other origin was asked for %q", asked)
			}
			if maps > 2 {
				t.Errorf("the map was asked for %d times", maps)
			}
		})
	}
}
