package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

func TestThePopupShowsTheConnectionAndSetsCheckpoints(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": blank})
	a := w.of(t, s)
	w.open(t, s.URL)
	a.changes()
	popup := w.open(t, installer.Origin+"popup/index.html")
	popup.js(`
const until = async (holds) => { for (let i = 0; i < 500 && !holds(); i++) await new Promise((done) => setTimeout(done, 10)); if (!holds()) throw new Error(document.body.innerText); };
await until(() => document.body.innerText.includes('Connected') && document.body.innerText.includes(` + "`" + s.URL + "`" + `));
const button = [...document.querySelectorAll('button')].find((b) => b.textContent.includes('session_start'));
button.click();
await until(() => /session_start[\s\S]*session_start/.test(document.body.innerText));`)
	var list struct{ Checkpoints []struct{ Name string } }
	w.agent(t).call("checkpoint_list", nil, &list)
	found := false
	for _, c := range list.Checkpoints {
		found = found || c.Name == "session_start"
	}
	if !found {
		t.Errorf("%+v", list)
	}
}

// endWorker ends the extension's worker, as Chromium may at any time.
func (w *world) endWorker(t *testing.T) {
	t.Helper()
	infos, err := chromedp.CallBrowser(w.Browser.Context(), target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos.TargetInfos {
		if info.Type == "service_worker" && strings.HasPrefix(info.URL, installer.Origin) {
			if _, err := chromedp.CallBrowser(w.Browser.Context(), target.CloseTarget, target.CloseTargetParams{TargetID: info.TargetID}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestAWorkerThatIsEndedComesBackAndSaysWhatItMissed ends the extension's worker as Chromium may at
// any time.
func TestAWorkerThatIsEndedComesBackAndSaysWhatItMissed(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": blank})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	a.changes()
	w.endWorker(t)
	p.js(`console.error('while it was away')`)
	p.reload()
	var r *diff.Report
	err := testbed.Eventually(context.Background(), func() (bool, error) {
		if err := p.JS(`console.error('after it came back')`); err != nil {
			return false, err
		}
		r = a.changesWith(map[string]any{"checkpoint": "2020-01-01", "wait": "settled"})
		return strings.Contains(show(r), "after it came back"), nil
	})
	if err != nil || r.Coverage == nil || !strings.Contains(show(r), "worker_restart") {
		t.Errorf("%v: %s", err, show(r))
	}
}

func TestASiteIsCapturedAsChosenInThePopup(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": blank})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	a.changes()
	popup := w.open(t, installer.Origin+"popup/index.html")
	front := func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, page.BringToFront, cdp.Empty{})
		return chromedp.Void{}, err
	}
	for i, way := range []string{"quiet", "debugger", cmp.Or(w.Way, "debugger")} {
		p.do(front) // the tab in front is the popup's own
		popup.js(`
const until = async (holds) => { for (let i = 0; i < 500 && !holds(); i++) await new Promise((done) => setTimeout(done, 10)); if (!holds()) throw new Error(document.body.innerText); };
await until(() => document.body.innerText.includes(` + "`" + s.URL + "`" + `) && document.querySelector('select'));
const select = document.querySelector('select');
select.value = ` + "`" + way + "`" + `;
select.dispatchEvent(new Event('change', {bubbles: true}));`)
		if err := testbed.Eventually(context.Background(), func() (bool, error) {
			var st struct {
				Browsers []struct {
					Tabs []struct{ URL, Capture string }
				}
			}
			err := json.Unmarshal([]byte(w.Run("status", "--json").Out), &st)
			for _, b := range st.Browsers {
				for _, tab := range b.Tabs {
					if strings.HasPrefix(tab.URL, s.URL) && tab.Capture == way {
						return true, err
					}
				}
			}
			return false, err
		}); err != nil {
			t.Fatalf("%s: %v: %s", way, err, w.Run("status", "--json").Out)
		}
		a.changes()
		p.js(fmt.Sprintf(`console.error('seen %c')`, 'a'+i))
		if r := a.changes(); len(r.Console.NewErrors) != 1 || r.Coverage != nil {
			t.Errorf("%s: %s", way, show(r))
		}
	}
}
