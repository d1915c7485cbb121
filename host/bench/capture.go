package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/cases"
	"tidemark.dev/tidemark/host/internal/testbed"
)

// What a call may cost a page that is captured quietly, more than without an extension, in µs.
const (
	logTarget   = 5.0
	errorTarget = 25.0
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
		if err := burdensIn(r.binary, way, site.URL, took[way]); err != nil {
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
		switch target := errorTarget; {
		case strings.HasSuffix(b.name, "object"):
			s.figure(b.name, measured)
		case strings.HasSuffix(b.name, "log"):
			target = logTarget
			fallthrough
		default:
			s.row(b.name, measured, fmt.Sprintf("at most %.0f more quiet", target), quiet-none < target)
		}
	}
	for _, way := range ways[1:] {
		d, err := r.recall(way)
		if err != nil {
			return err
		}
		s.figure(way+": regressions told, cause named", fmt.Sprintf("%d of %d", d.detected, d.regressions))
		s.figure(way+": false alarms", fmt.Sprintf("%d of %d", d.alarms, d.visits))
	}
	progress("")
	return s.print()
}

// burdensIn has a page do everything in a browser that captures in one way.
func burdensIn(binary, way, url string, took map[string]float64) (err error) {
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
	if err := chromedp.Do(root, chromedp.Navigate(url)); err != nil {
		return err
	}
	for _, b := range burdens {
		ctx, cancel := context.WithTimeout(root, time.Minute)
		ms, err := chromedp.Run(ctx, chromedp.Evaluate[float64]("(async () => {"+b.script+"})()", chromedp.EvalAwaitPromise))
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		took[b.name] = ms
	}
	return nil
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
		if r.leftOut(i, c.Name) {
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
