package effects

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestAPageThatCannotBeReadSaysWhy: a dialog, a crash and an error page want different things done.
func TestAPageThatCannotBeReadSaysWhy(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button>Buy</button>`)})
	a := w.AgentOf(t, s)
	fails := func(want string) {
		t.Helper()
		if text, err := a.Text("browser_snapshot", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q\n%s", err, want, text)
		}
	}
	p := w.Open(t, s.URL)
	a.Look()
	p.JS(`setTimeout(() => alert('Stop "here"'))`)
	if os.Getenv(testbed.WayEnv) == "quiet" {
		fails("It may have a dialog open (alert, confirm)")
	} else {
		fails(`A dialog is open (alert "Stop \"here\"")`)
	}
	p.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		return chromedp.Void{}, err
	})
	e2etest.Holds(t, a.Look(), "Shop")
	_ = p.Tab.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // a page that crashes does not answer
		defer cancel()
		_, err := chromedp.Call(ctx, page.Crash, cdp.Empty{})
		return chromedp.Void{}, err
	})
	if os.Getenv(testbed.WayEnv) == "quiet" {
		fails("or it crashed")
	} else {
		fails("The page crashed")
	}
}
