package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/installer"
)

// visit is the shop in a browser, with all that a browser reports as wrong.
type visit struct {
	t    *testing.T
	ctx  context.Context
	url  string
	shop *Shop

	mu      sync.Mutex // guards the fields below
	trouble []string
	urls    map[network.RequestID]string
	slowest map[string]time.Duration
	begun   map[network.RequestID]float64
}

func openShop(t *testing.T) *visit {
	t.Helper()
	if testing.Short() {
		t.Skip("launches a browser")
	}
	if _, err := installer.FindBrowser(); err != nil {
		t.Skip(err)
	}
	shop := New()
	url, err := shop.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shop.Close(); err != nil {
			t.Error(err)
		}
	})
	b, err := browser.Launch(context.Background(), browser.Options{Headless: true, Notes: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	v := &visit{
		t: t, ctx: b.Context(), url: url, shop: shop,
		urls: make(map[network.RequestID]string), slowest: make(map[string]time.Duration), begun: make(map[network.RequestID]float64),
	}
	if err := chromedp.Listen(v.ctx, v.hear); err != nil {
		t.Fatal(err)
	}
	v.load()
	return v
}

// hear records the problems that a browser reports to a debugger.
func (v *visit) hear(ev any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	note := func(format string, args ...any) { v.trouble = append(v.trouble, fmt.Sprintf(format, args...)) }
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.ConsoleAPICalledTypeError || ev.Type == runtime.ConsoleAPICalledTypeWarning {
			var text string
			if json.Unmarshal(ev.Args[0].Value, &text) != nil {
				text = string(ev.Args[0].Value)
			}
			note("console %s: %s", ev.Type, text)
		}
	case *runtime.EventExceptionThrown:
		text := ev.ExceptionDetails.Text // a worker's error has no more than this
		if ev.ExceptionDetails.Exception != nil {
			text += " " + ev.ExceptionDetails.Exception.Description
		}
		note("exception: %s", text)
	case *log.EventEntryAdded:
		if ev.Entry.Level == log.EntryLevelError || ev.Entry.Level == log.EntryLevelWarning {
			note("log %s: %s %s", ev.Entry.Source, ev.Entry.Text, ev.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		v.urls[ev.RequestID] = ev.Request.Method + " " + v.path(ev.Request.URL)
		v.begun[ev.RequestID] = float64(ev.Timestamp)
	case *network.EventResponseReceived:
		if ev.Response.Status >= 400 {
			note("failure: %s %d", v.urls[ev.RequestID], int(ev.Response.Status))
		}
		took := time.Duration((float64(ev.Timestamp) - v.begun[ev.RequestID]) * float64(time.Second))
		v.slowest[v.urls[ev.RequestID]] = max(v.slowest[v.urls[ev.RequestID]], took)
	case *network.EventLoadingFailed:
		if !ev.Canceled {
			reason := strings.TrimPrefix(ev.ErrorText, "net::")
			if ev.CorsErrorStatus != nil {
				reason = "CORS " + string(ev.CorsErrorStatus.CorsError)
			}
			note("failure: %s 0 %s", v.urls[ev.RequestID], reason)
		}
	case *network.EventWebSocketCreated:
		v.urls[ev.RequestID] = v.path(ev.URL)
	case *network.EventWebSocketFrameReceived:
		if bytes.Contains(ev.Response.PayloadData, []byte(`"error"`)) {
			note("socket error: %s", ev.Response.PayloadData)
		}
	case *network.EventWebSocketClosed:
		note("disconnected: %s", v.urls[ev.RequestID])
	}
}

func (v *visit) path(url string) string {
	for _, prefix := range []string{strings.TrimSuffix(v.url, "/"), "ws" + strings.TrimSuffix(strings.TrimPrefix(v.url, "http"), "/"), v.shop.rates} {
		if rest, ok := strings.CutPrefix(url, prefix); ok {
			rest, _, _ = strings.Cut(rest, "?")
			return rest
		}
	}
	return url
}

// take returns the records since the last call. An evaluation first makes the browser deliver pending events.
func (v *visit) take() []string {
	v.t.Helper()
	v.run("", "await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));")
	v.mu.Lock()
	defer v.mu.Unlock()
	taken := v.trouble
	v.trouble = nil
	return taken
}

func (v *visit) load() {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, 20*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(v.url)); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visit) run(name, steps string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, 20*time.Second)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](Script(steps), chromedp.EvalAwaitPromise)); err != nil {
		v.t.Errorf("%s: %v", name, err)
	}
}

func TestHealthyShopIsQuiet(t *testing.T) {
	v := openShop(t)
	v.run("journey", `
await ready(); await live('on');
await until(() => document.documentElement.dataset.rated);
await click('[data-testid=open-2]'); await until(() => one('#detail[open]')); await click('[data-testid=close-detail]');
await click('[data-testid=save-5]'); await until(() => one('[data-testid=save-5][aria-pressed=true]'));
await click('[data-testid=add-2]'); await until(() => one('#cart-count').textContent === '1');
await click('[data-testid=add-3]'); await until(() => one('#cart-count').textContent === '2');
type('#query', 'lantern'); await until(() => one('#result-count').textContent === '1 of 8');
type('#query', ''); await until(() => one('#result-count').textContent === '8 of 8');
one('#currency').value = 'USD'; one('#currency').dispatchEvent(new Event('change'));
await until(() => one('.price').textContent.startsWith('$'));
await click('#open-cart'); await until(() => one('#shipping').textContent !== 'to be worked out');
type('#coupon', 'tide10'); await click('[data-testid=apply-coupon]'); await until(() => one('#totals').textContent.includes('Coupon'));
await click('[data-testid=place-order]'); await until(() => document.querySelectorAll('[aria-invalid=true]').length === 3);
type('#name', 'Anna'); type('#email', 'anna@example.com'); type('#card', '4242 4242 4242 4242');
await click('[data-testid=place-order]'); await until(() => !one('#cart').open);
await until(() => one('#cart-count').textContent === '0' && !one('[aria-invalid]'));
`)
	v.load()
	v.run("after a reload", `await ready(); await live('on');`)
	got := slices.DeleteFunc(v.take(), func(s string) bool { return s == "disconnected: /ws/stock" }) // by the reload
	if len(got) > 0 {
		t.Errorf("the healthy shop is not quiet:\n%s", strings.Join(got, "\n"))
	}
}

func TestBreakagesShowInTheBrowserAndRecover(t *testing.T) {
	v := openShop(t)
	v.run("first", `await ready();`)
	for _, b := range Breakages {
		if b.Prepare != "" {
			v.run(b.Name+", before", b.Prepare)
		}
		v.take()
		b.Break(v.shop)
		if b.Reload {
			v.load()
		}
		v.run(b.Name+", broken", b.Trigger)
		v.check(b, v.take())
		b.Mend(v.shop)
		if b.Reload {
			v.load()
		}
		v.run(b.Name+", mended", b.Recover)
		if got := unexpected(v.take(), nil); len(got) > 0 {
			t.Errorf("%s does not recover:\n%s", b.Name, strings.Join(got, "\n"))
		}
	}
}

// check compares the browser's reports with the expectation of the breakage.
func (v *visit) check(b Breakage, got []string) {
	v.t.Helper()
	var want []string
	want = append(want, slices.Concat(b.Expect.Errors, b.Expect.Warnings, b.Expect.SocketErrors)...)
	for _, f := range b.Expect.Failures {
		want = append(want, fmt.Sprintf("failure: %s %s %s", f.Method, f.URL, strings.TrimSpace(fmt.Sprint(f.Status, " ", f.Error))))
	}
	for _, url := range b.Expect.Disconnections {
		want = append(want, "disconnected: "+url)
	}
	for _, fragment := range want {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, fragment) }) {
			v.t.Errorf("%s does not show %q; the browser told:\n%s", b.Name, fragment, strings.Join(got, "\n"))
		}
	}
	if extra := unexpected(got, want); len(extra) > 0 {
		v.t.Errorf("%s shows more than it promises:\n%s", b.Name, strings.Join(extra, "\n"))
	}
	for _, url := range b.Expect.Degraded {
		if took := v.slowest["GET "+url]; took < slowSearchTime || took < 500*time.Millisecond {
			v.t.Errorf("%s: %s took at most %s", b.Name, url, took)
		}
	}
}

// unexpected removes the wanted records, the effect of a reload on the live feed, and the browser's own line
// about a failed request.
func unexpected(got, want []string) []string {
	return slices.DeleteFunc(slices.Clone(got), func(s string) bool {
		return s == "disconnected: /ws/stock" || strings.HasPrefix(s, "log network: ") || strings.HasPrefix(s, "log javascript: Access to fetch") ||
			slices.ContainsFunc(want, func(fragment string) bool { return strings.Contains(s, fragment) })
	})
}
