package e2etest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// Tab is a tab of the browser.
type Tab struct {
	T *testing.T
	*testbed.Tab
}

// Open opens a tab. It is closed before the site is.
func (w *World) Open(t *testing.T, url string) *Tab {
	t.Helper()
	p, err := w.World.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &Tab{t, p}
}

// Do runs actions in the tab.
func (p *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	if err := p.Tab.Do(actions...); err != nil {
		p.T.Fatal(err)
	}
}

// Reload reloads the page.
func (p *Tab) Reload() {
	p.T.Helper()
	p.Do(chromedp.Reload())
}

// JS runs a script in the page and waits for its promise.
func (p *Tab) JS(script string) {
	p.T.Helper()
	if err := p.Tab.JS(script); err != nil {
		p.T.Fatalf("%s: %v", script, err)
	}
}

// Start runs a script in the page without waiting for it: the script may be paused.
func (p *Tab) Start(script string) {
	p.T.Helper()
	p.JS("setTimeout(() => {" + script + "\n}, 0)")
}

// Text evaluates an expression in the page.
func (p *Tab) Text(expression string) string {
	p.T.Helper()
	text, err := chromedp.Run(p.Ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		p.T.Fatalf("%s: %v", expression, err)
	}
	return text
}

// WaitForTitle waits until the page has a title.
func (p *Tab) WaitForTitle(want string) {
	p.T.Helper()
	if err := testbed.Eventually(p.T.Context(), func() (bool, error) { return p.Text("document.title") == want, nil }); err != nil {
		p.T.Fatalf("the title is %q, not %q: %v", p.Text("document.title"), want, err)
	}
}

// WaitUntil waits in the page until an expression is true.
func (p *Tab) WaitUntil(condition string) {
	p.T.Helper()
	p.JS(fmt.Sprintf(`for (let i = 0; i < 1500; i++) { if (%s) return; await new Promise((done) => setTimeout(done, 10)) } throw new Error(document.body.innerText)`, condition))
}

// Press clicks a button by its text or label.
func (p *Tab) Press(name string) {
	p.T.Helper()
	p.JS(fmt.Sprintf(`[...document.querySelectorAll('button')].find((b) => b.textContent === %[1]q || b.ariaLabel === %[1]q).click()`, name))
}

// Picture saves a screenshot in both themes to the directory that TIDEMARK_TEST_PICTURES names, if any.
func (p *Tab) Picture(name string) {
	p.T.Helper()
	dir := os.Getenv("TIDEMARK_TEST_PICTURES")
	if dir == "" {
		return
	}
	for _, theme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(p.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}); err != nil {
			p.T.Fatal(err)
		}
		data, err := chromedp.Run(p.Ctx, chromedp.Screenshot("body"))
		if err != nil {
			p.T.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+theme+".png"), data, 0o600); err != nil {
			p.T.Fatal(err)
		}
	}
}

// Attach waits for a target of the browser and attaches to it. What names it in failures.
func Attach(t *testing.T, b *browser.Browser, what string, is func(*target.Info) bool) context.Context {
	t.Helper()
	var found target.ID
	err := testbed.Eventually(t.Context(), func() (bool, error) {
		infos, err := chromedp.CallBrowser(b.Context(), target.GetTargets, target.GetTargetsParams{})
		if err != nil {
			return false, err
		}
		seen := []string{}
		for _, info := range infos.TargetInfos {
			seen = append(seen, info.Type+" "+info.URL)
			if is(info) {
				found = info.TargetID
				return true, nil
			}
		}
		return false, fmt.Errorf("there are %s", strings.Join(seen, ", "))
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	ctx, cancel := chromedp.NewContext(b.Context(), chromedp.WithTargetID(found))
	t.Cleanup(cancel)
	// The session lives as long as the context of the first command does.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return ctx
}

// RunIn runs a script in an attached target and waits for its promise.
func RunIn(ctx context.Context, t *testing.T, script string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, testbed.Patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void]("(async () => {"+script+"\n})()", chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
}

// isWorker reports whether a target is the extension's worker.
func isWorker(info *target.Info) bool {
	return info.Type == "service_worker" && strings.HasPrefix(info.URL, installer.Origin)
}

// AskWorker evaluates an expression in the extension's worker.
func AskWorker[T any](t *testing.T, w *testbed.World, expression string) (answer T) {
	t.Helper()
	infos, err := chromedp.CallBrowser(w.Browser.Context(), target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos.TargetInfos {
		if !isWorker(info) {
			continue
		}
		ctx, detach := chromedp.NewContext(w.Browser.Context(), chromedp.WithTargetID(info.TargetID), chromedp.WithDetachOnCancel())
		defer detach()
		if answer, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression)); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	t.Fatal("the worker does not run")
	return answer
}

// EndWorker ends the extension's worker, as Chromium may at any time.
func (w *World) EndWorker(t *testing.T) {
	t.Helper()
	infos, err := chromedp.CallBrowser(w.Browser.Context(), target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos.TargetInfos {
		if isWorker(info) {
			if _, err := chromedp.CallBrowser(w.Browser.Context(), target.CloseTarget, target.CloseTargetParams{TargetID: info.TargetID}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// WaitForText waits until the page contains a text.
func (p *Tab) WaitForText(text string) {
	p.T.Helper()
	if err := testbed.Eventually(context.Background(), func() (bool, error) {
		return strings.Contains(p.Text("document.body.innerText"), text), nil
	}); err != nil {
		p.T.Fatalf("%q is not seen: %v in\n%s", text, err, p.Text("document.body.innerText"))
	}
}

// SetTheme shows the page light or dark.
func (p *Tab) SetTheme(name string) {
	p.T.Helper()
	p.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return chromedp.Void{}, err
	})
}

// CheckAccessible checks the page with axe-core.
func (p *Tab) CheckAccessible(what string) {
	p.T.Helper()
	axe, err := os.ReadFile(Repository("node_modules/axe-core/axe.min.js"))
	if err != nil {
		p.T.Skip(err)
	}
	p.JS(string(axe) + "\n;window.axeFound = JSON.stringify((await axe.run(document)).violations.map((v) => [v.id, v.nodes.map((n) => n.html + ' ' + n.failureSummary)]));")
	if found := p.Text("window.axeFound"); found != "[]" {
		p.T.Errorf("%s: axe-core finds %s", what, found)
	}
}
