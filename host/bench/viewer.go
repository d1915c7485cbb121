package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// What the viewer promises, in milliseconds.
const (
	budgetReady  = 300 // from the opening of the page to the first report
	budgetDrawn  = 50  // of the main thread, for a report of 50+50 entries
	budgetFrame  = 8   // of the main thread, for a frame of panning or zooming over viewerEvents
	budgetShown  = 150 // from the page to the viewer
	viewerEvents = 100_000
	viewerBatch  = 2000
	viewerPause  = 300 * time.Millisecond // between events: what comes in a burst is told together
)

// viewerHelp times what the viewer's main thread does.
const viewerHelp = `
globalThis.until ??= async (holds) => { for (let i = 0; i < 2000 && !holds(); i++) await new Promise((done) => setTimeout(done, 5)); if (!holds()) throw new Error(holds + ' does not come to hold: ' + document.body.innerText.slice(0, 500)); };
globalThis.says ??= (text) => document.body.innerText.replace(/\s+/g, ' ').includes(text);
globalThis.press ??= (text) => [...document.querySelectorAll('button')].find((b) => b.textContent.trim() === text).click();
globalThis.pick ??= (select, value) => { select.value = value; select.dispatchEvent(new Event('change', { bubbles: true })); };
if (!globalThis.frames_) { globalThis.frames_ = []; const ask = requestAnimationFrame; globalThis.requestAnimationFrame = (f) => ask((t) => { const began = performance.now(); f(t); frames_.push(performance.now() - began); }); }
`

// viewer measures the person's viewer: how soon it is there, how soon an event is, and what 100,000 cost.
func (r *run) viewer() (err error) {
	home, err := testbed.New(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	config := fmt.Sprintf("[buffers.console]\nentries = %d\nmib = 256\n", viewerEvents+10_000)
	if err := os.WriteFile(filepath.Join(home.Home, "config.toml"), []byte(config), 0o600); err != nil {
		return err
	}
	w, err := home.Another()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	site := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(req.URL.Path, "/api/") {
			http.Error(out, "no", http.StatusInternalServerError)
			return
		}
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(out, `<!doctype html><title>Bench</title><link rel="icon" href="data:,">`)
	}))
	defer site.Close()
	page, err := w.Open(site.URL)
	if err != nil {
		return err
	}
	defer page.Close()
	s := r.sheet("The viewer")
	b := &viewerBench{r, s, w, page}
	for i, part := range []func() error{b.ready, b.shown, b.drawn, b.frames} {
		progress("viewer: part %d …", i)
		if err := part(); err != nil {
			return errors.Join(fmt.Errorf("part %d: %w", i, err), s.print())
		}
	}
	return s.print()
}

type viewerBench struct {
	*run
	*sheet
	world *testbed.World
	page  *testbed.Tab
}

// open opens the viewer.
func (b *viewerBench) open() (*testbed.Tab, error) {
	return b.world.Open(installer.Origin + "sidepanel/index.html")
}

// numbers evaluates a script that gives numbers.
func numbers(of *testbed.Tab, script string) (list []float64, err error) {
	ctx, cancel := context.WithTimeout(of.Ctx, 6*testbed.Patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("(async () => {"+viewerHelp+script+"\n})()", chromedp.EvalAwaitPromise))
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal([]byte(text), &list)
}

func (b *viewerBench) under(what string, list []float64, share, most float64) {
	b.within(what, time.Duration(quantile(list, share)*float64(time.Millisecond)), time.Duration(most*float64(time.Millisecond)), b.byLoop(), "")
}

// ready opens the viewer several times.
func (b *viewerBench) ready() error {
	var times []float64
	for range b.third(9) {
		v, err := b.open()
		if err != nil {
			return err
		}
		list, err := numbers(v, `await until(() => performance.getEntriesByName('tidemark ready').length > 0); return JSON.stringify([performance.getEntriesByName('tidemark ready')[0].startTime]);`)
		v.Close()
		if err != nil {
			return err
		}
		if list[0] < 0 {
			return errors.New("the viewer does not say when it is ready")
		}
		times = append(times, list[0])
	}
	b.under("from opening it to the first report, median", times, .5, budgetReady)
	return nil
}

// shown measures the way of an event from the page's console to the report on the viewer.
func (b *viewerBench) shown() error {
	v, err := b.open()
	if err != nil {
		return err
	}
	defer v.Close()
	var times []float64
	for i := range b.third(30) {
		began, err := numbers(v, fmt.Sprintf(`
await until(() => document.querySelector('.report'));
globalThis.seen = new Promise((done, fail) => {
  const o = new MutationObserver(() => { if (document.querySelector('.report').textContent.includes('event %s of the bench')) { o.disconnect(); done(Date.now()); } });
  o.observe(document.body, { subtree: true, childList: true, characterData: true });
  setTimeout(() => fail(new Error('it is not shown in ' + document.body.textContent)), 20000);
});
return '[0]';`, word(i)))
		if err != nil || len(began) == 0 {
			return err
		}
		at, err := b.page.Number(fmt.Sprintf(`(console.error('event %s of the bench'), Date.now())`, word(i)))
		if err != nil {
			return err
		}
		seen, err := numbers(v, `return JSON.stringify([await seen]);`)
		if err != nil {
			return err
		}
		times = append(times, seen[0]-at)
		time.Sleep(viewerPause)
	}
	b.under("from the page's console to the viewer's report, median", times, .5, budgetShown)
	b.figure("the same, p95", fmt.Sprintf("%.1f ms", quantile(times, .95)))
	return nil
}

// drawn measures what drawing a report of 50 errors and 50 failures takes of the main thread.
func (b *viewerBench) drawn() error {
	if err := b.page.JS(`for (let i = 0; i < 60; i++) { console.error('fault ' + String.fromCharCode(97 + i % 26, 97 + i / 26)); await fetch('/api/' + String.fromCharCode(97 + i % 26, 97 + i / 26)); }`); err != nil {
		return err
	}
	v, err := b.open()
	if err != nil {
		return err
	}
	defer v.Close()
	times, err := numbers(v, fmt.Sprintf(`
await until(() => document.querySelectorAll('.line').length >= 100);
const times = [];
for (let i = 0; i < %d; i++) {
  document.querySelector('#tab-page').click();
  await until(() => !document.querySelector('.report'));
  const began = performance.now();
  document.querySelector('#tab-changes').click();
  await until(() => document.querySelectorAll('.line').length >= 100);
  document.body.offsetHeight; // laid out as well
  times.push(performance.now() - began);
}
return JSON.stringify(times);`, b.third(15)))
	if err != nil {
		return err
	}
	b.under("a report of 50+50 entries drawn, median", times, .5, budgetDrawn)
	return nil
}

// frames measures frames of panning and zooming over many events.
func (b *viewerBench) frames() error {
	stream := b.world.NewStream("bench", "life", "s")
	if err := stream.Connect(); err != nil {
		return err
	}
	defer stream.Close()
	for sent := 0; sent < viewerEvents; sent += viewerBatch {
		for i := range viewerBatch {
			level := "log"
			if i%97 == 0 {
				level = "error"
			}
			stream.Push(testbed.Log(level, fmt.Sprintf("one of many, %d", i%13)))
		}
		if err := stream.Send(); err != nil {
			return err
		}
		if err := stream.WaitForAll(); err != nil {
			return err
		}
	}
	v, err := b.open()
	if err != nil {
		return err
	}
	defer v.Close()
	times, err := numbers(v, fmt.Sprintf(`
const count = () => Number(document.querySelector('canvas')?.dataset.events ?? 0);
await until(() => count() >= %d);
press('All');
const canvas = document.querySelector('canvas');
const box = canvas.getBoundingClientRect();
const next = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
await next(); await next();
const times = [];
for (let i = 0; i < %d; i++) {
  frames_.length = 0;
  const began = performance.now();
  canvas.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, clientX: box.x + 300, clientY: box.y + 60, deltaY: i %% 40 < 20 ? -30 : 30, shiftKey: i %% 3 === 0 }));
  const handled = performance.now() - began;
  await next();
  times.push(handled + frames_.reduce((a, b) => a + b, 0));
}
return JSON.stringify(times);`, viewerEvents, b.third(300)))
	if err != nil {
		return err
	}
	b.under(fmt.Sprintf("main thread for a frame of pan or zoom over %d events, p95", viewerEvents), times, .95, budgetFrame)
	b.figure("the same, median", fmt.Sprintf("%.1f ms", quantile(times, .5)))
	return nil
}
