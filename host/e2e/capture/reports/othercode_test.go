package reports

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap/maptest"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// version serves a script with a source map, in the version of the moment. Its code begins on line number+1.
type version struct {
	number atomic.Int32
	// asked counts the requests for the script.
	asked atomic.Int32
	// named has the server name each version by an ETag.
	named bool
}

func (v *version) code(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n := int(v.number.Load())
		if strings.HasSuffix(r.URL.Path, ".map") {
			_, _ = w.Write(maptest.Map{Sources: []string{"src/original.ts"}, Mappings: maptest.Mappings([]maptest.Segment{{SourceLine: 40 + n}, {Line: n, SourceLine: 40 + n}})}.JSON())
			return
		}
		v.asked.Add(1)
		if v.named {
			w.Header().Set("ETag", fmt.Sprintf(`W/"%d"`, n))
		} else if rc := http.NewResponseController(w); rc != nil {
			defer func() { _ = rc.Flush() }() // in chunks, and so without a length
		}
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Access-Control-Allow-Origin", "*") // otherwise the page does not see where it throws
		// Each version has the same size.
		_, _ = io.WriteString(w, strings.Repeat("\n", n)+text+strings.Repeat(" ", 9-n)+"\n//# sourceMappingURL="+r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]+".map")
	}
}

// TestAMapOfOtherCodeIsNotUsed looks at scripts that the server has in another version than the page runs, and that the page's
// resource timing cannot tell apart: of another origin, of a worker, after the first 250 resources, and of the same size.
func TestAMapOfOtherCodeIsNotUsed(t *testing.T) {
	w := e2etest.SharedWorld(t)
	const throws = `function breaks() { throw new Error('broken') }; self.breaks = breaks; self.onmessage = breaks`
	const many = `<script>for (let i = 0; i <= 300; i++) document.write('<script src="' + (i < 300 ? '/n/' + i : '/app') + '.js"><\/script>')</script>`
	for name, c := range map[string]struct {
		page, script string
		named, other bool
		// unknown is true where nothing tells whether the code is the same.
		unknown bool
	}{
		"same size":                   {page: `<script src="/app.js"></script>`, named: true},
		"another origin":              {page: `<script crossorigin src="OTHER/app.js"></script>`, named: true, other: true},
		"another origin, not named":   {page: `<script crossorigin src="OTHER/app.js"></script>`, other: true, unknown: true},
		"worker":                      {page: `<script>const w = new Worker('/app.js'); breaks = () => w.postMessage(1)</script>`, named: true},
		"imported by a worker":        {page: `<script>const w = new Worker('/worker.js'); breaks = () => w.postMessage(1)</script>`, script: `importScripts('/app.js')`, named: true},
		"module of a worker":          {page: `<script>const w = new Worker('/worker.js', { type: 'module' }); breaks = () => w.postMessage(1)</script>`, script: `import '/app.js'`, named: true},
		"after many others":           {page: many, named: true},
		"after many others, no names": {page: many, unknown: true},
	} {
		for _, replaced := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, replaced %t", name, replaced), func(t *testing.T) {
				v := &version{named: c.named}
				code := http.NewServeMux()
				code.HandleFunc("/app.js", v.code(throws))
				code.HandleFunc("/app.js.map", v.code(throws))
				s := e2etest.NewSite(t, map[string]string{"/worker.js": c.script, "/n/": ""})
				at := s.URL
				if c.other {
					other := testbed.Serve(code)
					t.Cleanup(other.Close)
					at = other.URL
				} else {
					s.Mux.Handle("/app.js", code)
					s.Mux.Handle("/app.js.map", code)
				}
				page := e2etest.BlankPage + strings.ReplaceAll(c.page, "OTHER", at)
				s.Mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					_, _ = io.WriteString(w, page)
				})
				a := w.AgentOf(t, s)
				p := w.Open(t, s.URL)
				p.WaitUntil(`document.readyState === 'complete' && typeof breaks === 'function'`)
				if err := testbed.Eventually(t.Context(), func() (bool, error) { return v.asked.Load() > 0, nil }); err != nil {
					t.Fatal(err)
				}
				if replaced {
					v.number.Store(3)
				}
				p.Start(`breaks()`)
				var source report.Place
				if err := testbed.Eventually(t.Context(), func() (bool, error) {
					r := a.ChangesWith(map[string]any{"checkpoint": "2020-01-01"})
					if r.Console == nil || len(r.Console.NewErrors) != 1 {
						return false, nil
					}
					e := r.Console.NewErrors[0]
					source = report.Place{File: e.Source, Generated: e.Generated}
					return v.asked.Load() > 1 && (!e.Generated || replaced || c.unknown), nil
				}); err != nil {
					t.Fatalf("%v: %+v", err, source)
				}
				if want := !replaced && !c.unknown; want != (source.File == "original.ts:41" || source.File == "src/original.ts:41") || want == source.Generated {
					t.Errorf("%+v", source)
				}
			})
		}
	}
}
