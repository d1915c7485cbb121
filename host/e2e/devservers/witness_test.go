package devservers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// witness records by a connection of its own what goes wrong in a tab.
type witness struct {
	p *e2etest.Tab

	mu               sync.Mutex
	errors, warnings []string
	stale            bool // a hot update failed since the last look, and the document is still the same
	urls             map[network.RequestID]string
}

func watch(t *testing.T, p *e2etest.Tab) *witness {
	t.Helper()
	w := &witness{p: p, urls: map[network.RequestID]string{}}
	if err := chromedp.Listen(p.Ctx, w.hear); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *witness) hear(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		text := ""
		for _, arg := range ev.Args {
			text += " " + string(arg.Value) + arg.Description
		}
		w.stale = w.stale || strings.Contains(text, "hot-reload. Full reload required")
		switch ev.Type {
		case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeAssert:
			w.errors = append(w.errors, "console.error"+text)
		case runtime.ConsoleAPICalledTypeWarning:
			w.warnings = append(w.warnings, "console.warn"+text)
		}
	case *runtime.EventExceptionThrown:
		text := ev.ExceptionDetails.Text
		if ev.ExceptionDetails.Exception != nil {
			text += " " + ev.ExceptionDetails.Exception.Description
		}
		w.errors = append(w.errors, text)
	case *log.EventEntryAdded:
		if ev.Entry.Level == log.EntryLevelError {
			w.errors = append(w.errors, ev.Entry.Text+" "+ev.Entry.URL)
		}
	case *page.EventFrameNavigated:
		w.stale = w.stale && ev.Frame.ParentID != ""
	case *network.EventRequestWillBeSent:
		w.urls[ev.RequestID] = ev.Request.URL
	case *network.EventResponseReceived:
		if ev.Response.Status >= http.StatusBadRequest {
			w.errors = append(w.errors, fmt.Sprintf("%d %s", ev.Response.Status, ev.Response.URL))
		}
	case *network.EventLoadingFailed:
		if !ev.Canceled {
			w.errors = append(w.errors, ev.ErrorText+" "+w.urls[ev.RequestID])
		}
	}
}

// asksForReload reports whether the code of the server said since the last look that a hot update failed and the page has to be
// loaded again. A later update may be applied all the same.
func (w *witness) asksForReload() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	asks := w.stale
	w.stale = false
	return asks
}

// heard reports whether anything went wrong since the last take.
func (w *witness) heard() bool {
	missing := w.holds(missingPicture)
	w.mu.Lock()
	defer w.mu.Unlock()
	return missing || len(w.errors)+len(w.warnings) > 0
}

// missingPicture is true in a page with a picture that cannot be shown.
const missingPicture = `[...document.images].some((e) => e.complete && e.naturalWidth === 0)`

// take returns what went wrong since the last call, and pictures that cannot be shown.
func (w *witness) take() (errors, warnings []string) {
	if w.holds(missingPicture) { // a server may answer with its page
		w.mu.Lock()
		w.errors = append(w.errors, "a picture is not shown")
		w.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	errors, warnings = w.errors, w.warnings
	w.errors, w.warnings = nil, nil
	return errors, warnings
}

// overlays are the elements by which development servers show an error over the page.
const overlays = `vite-error-overlay, #webpack-dev-server-client-overlay, #react-refresh-overlay, nextjs-portal, parcel-error-overlay, astro-dev-overlay, rsbuild-error-overlay`

// holds reports whether an expression is true in the page, false while it loads.
func (w *witness) holds(expression string) bool {
	return w.p.Tab.JS(fmt.Sprintf(`if (!(%s)) throw new Error('not so')`, expression)) == nil
}

// when looks from now on for the moment from which an expression is true in the page: in its present document, if an update loads it
// again. What it returns ends the look, and is that moment, if there was one.
func (w *witness) when(ctx context.Context, expression string) func() (time.Time, bool) {
	if expression == "" {
		return func() (time.Time, bool) { return time.Time{}, false }
	}
	ctx, end := context.WithCancel(ctx)
	found := make(chan time.Time, 1)
	go func() {
		var since time.Time
		var document float64 // when the document began in which it is true, 0 while it is in none
		for ctx.Err() == nil {
			now, err := chromedp.Run(w.p.Ctx, chromedp.Evaluate[float64](fmt.Sprintf(`(%s) ? performance.timeOrigin : 0`, expression)))
			if err == nil && now != document { // with an error the page loads, or has nothing of it yet
				since, document = time.Now(), now
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
		if document != 0 {
			found <- since
		}
		close(found)
	}()
	return func() (time.Time, bool) {
		end()
		at, ok := <-found
		return at, ok
	}
}

// covered reports whether an overlay shows an error. Next.js has its element all the time.
func (w *witness) covered() bool {
	return w.holds(`[...document.querySelectorAll('` + overlays + `')].some((e) => e.localName !== 'nextjs-portal' || e.shadowRoot?.querySelector('[role=dialog], [data-nextjs-dialog]'))`)
}
