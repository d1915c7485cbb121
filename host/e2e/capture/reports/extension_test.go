package reports

import (
	"context"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

func TestThePopupShowsTheConnectionAndSetsCheckpoints(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	a.Changes()
	popup := w.Open(t, installer.Origin+"popup/index.html")
	popup.JS(`
const until = async (holds) => { for (let i = 0; i < 500 && !holds(); i++) await new Promise((done) => setTimeout(done, 10)); if (!holds()) throw new Error(document.body.innerText); };
await until(() => document.body.innerText.includes('Connected') && document.body.innerText.includes(` + "`" + s.URL + "`" + `));
const button = [...document.querySelectorAll('button')].find((b) => b.textContent.includes('session_start'));
button.click();
await until(() => /session_start[\s\S]*session_start/.test(document.body.innerText));`)
	var list struct{ Checkpoints []struct{ Name string } }
	w.NewAgent(t).Call("checkpoint_list", nil, &list)
	found := false
	for _, c := range list.Checkpoints {
		found = found || c.Name == "session_start"
	}
	if !found {
		t.Errorf("%+v", list)
	}
}

// TestAWorkerThatIsEndedComesBackAndSaysWhatItMissed ends the extension's worker as Chromium may at
// any time.
func TestAWorkerThatIsEndedComesBackAndSaysWhatItMissed(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	w.EndWorker(t)
	p.JS(`console.error('while it was away')`)
	p.Reload()
	var r *report.Report
	err := testbed.Eventually(context.Background(), func() (bool, error) {
		if err := p.Tab.JS(`console.error('after it came back')`); err != nil {
			return false, err
		}
		r = a.ChangesWith(map[string]any{"checkpoint": "2020-01-01", "wait": "settled"})
		return strings.Contains(e2etest.Show(r), "after it came back"), nil
	})
	if err != nil || r.Coverage == nil || !strings.Contains(e2etest.Show(r), "worker_restart") {
		t.Errorf("%v: %s", err, e2etest.Show(r))
	}
}
