package ways

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

func TestASiteIsCapturedAsChosenInThePopup(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	popup := w.Open(t, installer.Origin+"popup/index.html")
	front := func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, page.BringToFront, cdp.Empty{})
		return chromedp.Void{}, err
	}
	for i, way := range []string{"quiet", "debugger", cmp.Or(w.Way, "debugger")} {
		p.Do(front) // the tab in front is the popup's own
		popup.JS(`
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
		// The tab is named with its way as soon as capture starts, which ends the gap a moment later.
		if err := testbed.Eventually(context.Background(), func() (bool, error) { return a.Changes().Coverage == nil, nil }); err != nil {
			t.Fatalf("%s: %v: %s", way, err, e2etest.Show(a.Changes()))
		}
		p.JS(fmt.Sprintf(`console.error('seen %c')`, 'a'+i))
		if r := a.Changes(); len(r.Console.NewErrors) != 1 || r.Coverage != nil {
			t.Errorf("%s: %s", way, e2etest.Show(r))
		}
	}
}
