package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/testing/cases"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// What a call may cost a page that is captured quietly, more than without an extension.
const (
	logTarget   = 5 * time.Microsecond
	errorTarget = 25 * time.Microsecond
)

// ways are those in which pages are captured; none is a browser without the extension.
var ways = []string{"none", "quiet", "debugger"}

// burden is something that a page does, whose time it takes; the script returns milliseconds.
type burden struct {
	name   string
	calls  float64
	script string
}

const inTasks = `const t = performance.now(); for (let i = 0; i < N; i++) { CALL; if (i % 500 === 499) await new Promise((done) => setTimeout(done)) } return performance.now() - t`

var burdens = []burden{
	{"50,000 console lines", 50_000, strings.NewReplacer("N", "50_000", "CALL", "console.log('row', i, 'of the list')").Replace(inTasks)},
	{"1,000 fetches of JSON", 1000, `const t = performance.now(); for (let i = 0; i < 1000; i++) await (await fetch('/item?i=' + i)).json(); return performance.now() - t`},
	{"10,000 WebSocket frames", 10_000, `const t = performance.now(); const s = new WebSocket(location.origin.replace('http', 'ws') + '/socket?n=10000'); let n = 0; s.onmessage = () => { n++ }; await new Promise((done) => { s.onclose = done }); return performance.now() - t`},
	// What a page waits for one call, without what happens between its tasks.
	{"a console.log", 0, call("console.log('row', i, 'of the list')")},
	{"a console.log of an object", 0, call("console.log('row', {id: i, name: 'kettle', tags: ['a', 'b']})")},
	{"a console.warn", 0, call("console.warn('row', i, 'has no key')")},
	{"a console.error", 0, call("console.error('row', i, 'has no price')")},
}

// call measures one call in µs, as the middle of 40 tasks of 250.
func call(js string) string {
	return `const all = []; for (let k = 0; k < 40; k++) { const t = performance.now(); for (let i = 0; i < 250; i++) { ` + js + ` } all.push((performance.now() - t) * 4); await new Promise((done) => setTimeout(done, 5)) }; return all.sort((a, b) => a - b)[20]`
}

// capture compares the ways of capture: what they see of the regression set, and what they cost the page.
func (r *run) capture() error {
	site := newFloodSite()
	defer site.Close()
	took := map[string]map[string]float64{}
	s := r.sheet("Ways of capture, side by side")
	for _, way := range ways {
		progress("capture: what %s costs", way)
		took[way] = map[string]float64{}
		if err := burdensIn(r.binary, way, site, took[way]); err != nil {
			return fmt.Errorf("%s: %w", way, err)
		}
	}
	for _, b := range burdens {
		none, quiet, debugger := took["none"][b.name], took["quiet"][b.name], took["debugger"][b.name]
		if b.calls > 0 {
			s.figure(b.name, fmt.Sprintf("%.0f ms without, %.0f ms quiet (%.2f), %.0f ms debugger (%.2f)", none, quiet, quiet/none, debugger, debugger/none))
			continue
		}
		measured := fmt.Sprintf("%.1f µs without, %.1f more quiet, %.1f more debugger", none, quiet-none, debugger-none)
		switch budget := errorTarget; {
		case strings.HasSuffix(b.name, "object"):
			s.figure(b.name, measured)
		case strings.HasSuffix(b.name, "log"):
			budget = logTarget
			fallthrough
		default:
			more := time.Duration((quiet - none) * float64(time.Microsecond))
			s.row(b.name, measured, fmt.Sprintf("at most %s more quiet (%s × %.2f)", r.scaled(budget), budget, r.scale()), more <= r.scaled(budget))
		}
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

// burdensIn has a page do everything in a browser that captures in one way.
func burdensIn(binary, way string, site *floodSite, took map[string]float64) (err error) {
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
	// Nothing may be attached to the page: a debugger has every line cost more. So it does everything by itself.
	var scripts []string
	for _, b := range burdens {
		scripts = append(scripts, fmt.Sprintf("took[%q] = await (async () => {%s})()", b.name, b.script))
	}
	told := make(chan map[string]float64, 1)
	page := httptest.NewServer(site.withPage("/burdens", "<script>(async () => { const took = {}; await new Promise((done) => setTimeout(done, 500))\n"+
		strings.Join(scripts, "\n")+"\nawait fetch('/took', {method: 'POST', body: JSON.stringify(took)}) })()</script>", told))
	defer page.Close()
	if _, err := chromedp.CallBrowser(root, target.CreateTarget, target.CreateTargetParams{URL: page.URL + "/burdens"}); err != nil {
		return err
	}
	select {
	case all := <-told:
		maps.Copy(took, all)
		return nil
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
func (r *run) recall(way string) (d *detection, err error) {
	w, err := testbed.StartIn(r.binary, way)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	d = &detection{run: r}
	all := cases.All()
	for i, c := range all {
		if r.leftOut(i, c.Name) || r.match == "" && i%3 != 0 { // the end-to-end tests run all of them in both ways
			continue
		}
		progress("capture: %s, case %d of %d …", way, i+1, len(all))
		o, err := c.Run(w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if c.Healthy() {
			d.healthy(c.Name, o.After)
		} else {
			d.regression(c.Name, o.After, c.Wanted(o), c.Unseen(o))
		}
	}
	return d, nil
}
