package effects

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
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

// TestAPasswordInADialogIsMaskedForEveryClient: for the agent that opened it, for others that only observe, and for the
// command line. No answer has control characters, and none has the name of a download with the password in it.
func TestAPasswordInADialogIsMaskedForEveryClient(t *testing.T) {
	const secret = "Horse-Battery7-Staple"
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Sign in", `<label>Password <input type="password" id="p"></label>
		<button onclick="alert('Your password is ' + p.value + '\x1b[31m')">alert</button>
		<button onclick="confirm('Keep ' + p.value + '\x1b[31m?')">confirm</button>
		<button onclick="prompt('Is it ' + p.value + '?', p.value)">prompt</button>
		<a download href="data:,x" onclick="this.download = p.value + '.txt'">Save</a>`)})
	a, other := w.AgentOf(t, s), w.NewAgent(t, "--origin", s.URL, "--tools", "observe")
	w.Open(t, s.URL)
	first := a.Look()
	tabOf := regexp.MustCompile(`tab (\d+)`)
	ref := func(name string) map[string]any { return map[string]any{"ref": e2etest.RefOf(t, first, name)} }
	masked := func(where, text string) {
		t.Helper()
		if strings.Contains(text, secret) || strings.ContainsAny(text, "\x1b") || strings.Contains(text, `\u001b`) || strings.Contains(text, "31m") {
			t.Errorf("%s: %s", where, text)
		}
		e2etest.Holds(t, text, "[masked]")
	}
	a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `textbox "Password"`), "text": secret})
	for _, kind := range []string{"alert", "confirm", "prompt"} {
		masked("the answer", a.Act("browser_click", ref(`button "`+kind+`"`)).String())
		masked("a refusal", a.Refusal("browser_click", ref(`button "alert"`), protocol.RefusedDialog, 0).String())
		unread := a.Refused("browser_snapshot", nil)
		masked("a snapshot", unread)
		masked("a snapshot of another agent", other.Refused("browser_snapshot", nil))
		_, err := a.Text("browser_wait_for", map[string]any{"text": "never", "timeout_ms": 300})
		masked("a wait", err.Error())
		masked("the command line", w.Run("snapshot", "--tab", tabOf.FindStringSubmatch(unread)[1]).Err)
		a.Act("browser_handle_dialog", map[string]any{"accept": true})
	}
	masked("a download", a.Act("browser_click", ref(`link "Save"`)).String())
}
