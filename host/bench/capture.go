package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/testing/cases"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// linesTarget is how many times as long a page may take that is captured quietly and logs many lines.
const linesTarget = 1.3

// ways are those in which pages are captured; none is a browser without the extension.
var ways = []string{"none", "quiet", "debugger"}

// burden is something that a page does, whose time it takes; the script returns milliseconds.
type burden struct {
	name   string
	script string
	// most, where it is a call of the console, is how many times as long its hook may take as [bareWrapper].
	most float64
}

const inTasks = `const t = performance.now(); for (let i = 0; i < N; i++) { CALL; if (i % 500 === 499) await new Promise((done) => setTimeout(done)) } return performance.now() - t`

var burdens = []burden{
	{lines, strings.NewReplacer("N", "50_000", "CALL", "console.log('row', i, 'of the list')").Replace(inTasks), 0},
	{"1,000 fetches of JSON", `const t = performance.now(); for (let i = 0; i < 1000; i++) await (await fetch('/item?i=' + i)).json(); return performance.now() - t`, 0},
	{"10,000 WebSocket frames", `const t = performance.now(); const s = new WebSocket(location.origin.replace('http', 'ws') + '/socket?n=10000'); let n = 0; s.onmessage = () => { n++ }; await new Promise((done) => { s.onclose = done }); return performance.now() - t`, 0},
	// What a page waits for one call, without what happens between its tasks.
	{"a console.log", call("console.log('row', i, 'of the list')"), .37},
	{"a console.log of an object", call("console.log('row', {id: i, name: 'kettle', tags: ['a', 'b']})"), .8},
	{"a console.warn", call("console.warn('row', i, 'has no key')"), 2.2},
	{"a console.error", call("console.error('row', i, 'has no price')"), 2.2},
}

const lines = "50,000 console lines"

// call measures one call in µs, as the middle of 40 tasks, in each of which the hooks hand over records once.
func call(js string) string {
	return `const all = []; for (let k = 0; k < 40; k++) { const t = performance.now(); for (let i = 0; i < 256; i++) { ` + js + ` } all.push((performance.now() - t) * 1000 / 256); await new Promise((done) => setTimeout(done, 5)) }; return all.sort((a, b) => a - b)[20]`
}

// bareWrapper is what hooks of the console are compared with. It does the least that a tool must: it takes the stack,
// writes the arguments as text, and hands over what it has as JSON, as many records at a time as the hooks.
const bareWrapper = `for (const name of ['log', 'warn', 'error']) {
  const native = console[name]
  let kept = []
  console[name] = (...args) => {
    kept.push({at: Date.now(), level: name, text: args.map((a) => typeof a === 'object' ? JSON.stringify(a) : String(a)).join(' '), stack: new Error().stack})
    if (kept.length === 256) {
      dispatchEvent(new CustomEvent('kept', {detail: JSON.stringify(kept)}))
      kept = []
    }
    native.apply(console, args)
  }
}`

// capture compares the ways of capture: what they see of the regression set, and what they cost the page.
func (r *run) capture() error {
	site := newFloodSite()
	defer site.Close()
	took := map[string]map[string][]float64{}
	rounds := max(1, r.third(3))
	s := r.sheet(fmt.Sprintf("Ways of capture, side by side; without capture and quiet the middle of %d in turn", rounds))
	for i := range rounds {
		for _, way := range ways {
			if way == "debugger" && i > 0 {
				continue // the slowest, of which no target is
			}
			progress("capture: what %s costs, %d of %d", way, i+1, rounds)
			if took[way] == nil {
				took[way] = map[string][]float64{}
			}
			if err := burdensIn(r.binary, way, site, took[way]); err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
		}
	}
	for _, b := range burdens {
		of := func(way string) float64 { return quantile(took[way][b.name], .5) }
		none, quiet, debugger := of("none"), of("quiet"), of("debugger")
		if b.most > 0 {
			s.figure(b.name, fmt.Sprintf("%.1f µs without, %.1f more quiet, %.1f more debugger", none, quiet-none, debugger-none))
			continue
		}
		// The debugger's way is measured less often, so that its runs have no neighbors.
		times := pairwise(took["quiet"][b.name], took["none"][b.name])
		s.figure(b.name, fmt.Sprintf("%.0f ms without, %.0f ms quiet (%.2f), %.0f ms debugger (%.2f)", none, quiet, times, debugger, debugger/none))
		if b.name == lines {
			s.row(lines+", quiet / without", fmt.Sprintf("%.2f times", times), fmt.Sprintf("at most %s times", plain(linesTarget)), times <= linesTarget)
		}
	}
	if err := r.hooks(s, site); err != nil {
		return err
	}
	d, err := r.recall("quiet") // the part signal does so for the other way
	if err != nil {
		return err
	}
	s.figure("quiet: regressions told, cause named", fmt.Sprintf("%d of %d", d.detected, d.regressions))
	s.figure("quiet: false alarms", fmt.Sprintf("%d of %d", d.alarms, d.visits))
	progress("")
	return s.print()
}

// hooks compares the program's hooks of the console with a bare wrapper, in turn, in pages whose own console does
// nothing: what the browser does with a line takes many times as long as either, and varies more.
func (r *run) hooks(s *sheet, site *floodSite) (err error) {
	w, err := testbed.New(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	dir, err := w.Extension()
	if err != nil {
		return err
	}
	hooks, err := os.ReadFile(filepath.Join(dir, "page.js"))
	if err != nil {
		return err
	}
	b, err := browser.Launch(context.Background(), browser.Options{Headless: true, Notes: io.Discard})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var calls []burden
	for _, b := range burdens {
		if b.most > 0 {
			calls = append(calls, b)
		}
	}
	mine, bare := map[string][]float64{}, map[string][]float64{}
	rounds := max(1, r.third(6))
	for i := range rounds {
		progress("capture: hooks, %d of %d", i+1, rounds)
		if err := burdensOf(b.Context(), site, calls, "console.log = console.warn = console.error = () => {}\n"+string(hooks), mine); err != nil {
			return err
		}
		if err := burdensOf(b.Context(), site, calls, "console.log = console.warn = console.error = () => {}\n"+bareWrapper, bare); err != nil {
			return err
		}
	}
	for _, b := range calls {
		middle := pairwise(mine[b.name], bare[b.name])
		s.row("the hook of "+b.name+" / a bare wrapper that takes the stack", fmt.Sprintf("%.2f times (%.2f µs, %.2f µs)", middle, quantile(mine[b.name], .5), quantile(bare[b.name], .5)), fmt.Sprintf("at most %s times", plain(b.most)), middle <= b.most)
	}
	return nil
}

// burdensIn has a page do everything in a browser that captures in one way, and adds how long each took.
func burdensIn(binary, way string, site *floodSite, took map[string][]float64) (err error) {
	var root context.Context
	if way == "none" {
		b, err := browser.Launch(context.Background(), browser.Options{Headless: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.Close()) }()
		root = b.Context()
	} else {
		w, err := testbed.StartIn(binary, way)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		root = w.Browser.Context()
	}
	return burdensOf(root, site, burdens, "", took)
}

// burdensOf has a page of a browser do some burdens after a script, and adds how long each took. Nothing may be attached
// to the page, because a debugger has every line cost more. So it does everything by itself.
func burdensOf(root context.Context, site *floodSite, all []burden, first string, took map[string][]float64) error {
	var scripts []string
	for _, b := range all {
		scripts = append(scripts, fmt.Sprintf("took[%q] = await (async () => {%s})()", b.name, b.script))
	}
	told := make(chan map[string]float64, 1)
	page := httptest.NewServer(site.withPage("/burdens", "<script>"+first+"</script><script>(async () => { const took = {}; await new Promise((done) => setTimeout(done, 500))\n"+
		strings.Join(scripts, "\n")+"\nawait fetch('/took', {method: 'POST', body: JSON.stringify(took)}) })()</script>", told))
	defer page.Close()
	opened, err := chromedp.CallBrowser(root, target.CreateTarget, target.CreateTargetParams{URL: page.URL + "/burdens"})
	if err != nil {
		return err
	}
	select {
	case list := <-told:
		for name, ms := range list {
			took[name] = append(took[name], ms)
		}
		_, err := chromedp.CallBrowser(root, target.CloseTarget, target.CloseTargetParams(opened))
		return err
	case <-time.After(2 * time.Minute):
		return errors.New("the page did not come to its end")
	}
}

// withPage is the site with one more page, which posts its results to /took.
func (f *floodSite) withPage(path, html string, told chan<- map[string]float64) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", f.Config.Handler)
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		// The page's clock is exact only in a page that is isolated from others.
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		_, _ = io.WriteString(w, "<!doctype html><title>burdens</title><link rel=icon href=data:,>"+html)
	})
	mux.HandleFunc("POST /took", func(_ http.ResponseWriter, req *http.Request) {
		var took map[string]float64
		if json.NewDecoder(req.Body).Decode(&took) == nil {
			told <- took
		}
	})
	return mux
}

// recall lets every case happen in a browser that captures in one way, on pages without chatter.
func (r *run) recall(way string) (*detection, error) {
	var chosen []cases.Case
	for i, c := range cases.All() {
		if !r.leftOut(i, c.Name) && (r.match != "" || i%3 == 0) { // the end-to-end tests run all of them in both ways
			chosen = append(chosen, c)
		}
	}
	led, err := outcomes("capture: "+way, chosen, func() (*testbed.World, error) { return testbed.StartIn(r.binary, way) })
	if err != nil {
		return nil, err
	}
	d := &detection{run: r}
	for i, o := range led {
		c := &chosen[i]
		switch {
		case o.err != nil:
			return nil, fmt.Errorf("%s: %w", c.Name, o.err)
		case c.Healthy():
			d.healthy(c.Name, o.After)
		default:
			d.regression(c.Name, o.After, c.Wanted(o.Outcome), c.Unseen(o.Outcome))
		}
	}
	return d, nil
}
