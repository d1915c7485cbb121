package viewer

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// TestAPersonIgnoresWhatIsNoise hides an entry for good in the viewer, is told why it is hidden, and has it back.
func TestAPersonIgnoresWhatIsNoise(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "before_noise"}, &struct{}{})
	p.JS(`console.error('the clock of the coffee machine is wrong'); console.error('a real fault')`)
	a.Changes()
	v := w.OpenViewer(t, s)
	v.JS(`
pick(document.querySelector('select[aria-label=From]'), 'before_noise');
const line = (text) => [...document.querySelectorAll('.line')].find((l) => l.textContent.includes(text));
await until(() => line('coffee machine') && line('a real fault'), 'both entries');
line('coffee machine').querySelector('.opener').click();
await press('Ignore from now on', line('coffee machine'));
await until(() => says('Ignored. 1 entry is hidden.'), 'that it is ignored');
await until(() => !line('coffee machine') && line('a real fault'), 'that it is gone, and only it');
await press('Show why');
await until(() => document.querySelector('.hidden-entries')?.textContent.includes('coffee machine'), 'what is hidden');
const why = document.querySelector('.hidden-entries small').textContent;
if (!/rule/.test(why)) throw new Error('it is not said why: ' + why);`)

	// The agent is told the same, and more of it is hidden as well.
	p.JS(`console.error('the clock of the coffee machine is wrong')`)
	r := a.ChangesWith(map[string]any{"wait": "settled", "checkpoint": "before_noise"})
	if text := e2etest.Show(r); strings.Contains(text, "coffee machine") || !strings.Contains(text, "a real fault") || r.NoiseHidden != 2 {
		t.Errorf("the agent is told %s", text)
	}
	v.JS(`
const line = (text) => [...document.querySelectorAll('.line:not(.plain)')].find((l) => l.textContent.includes(text));
await press('Show again', document.querySelector('.hidden-entries'));
await until(() => says('Shown again.') && line('coffee machine'), 'that it is back');`)
}

// TestWhatIsNotListedIsSaidWhereItIsMissing has more go wrong than a report lists.
func TestWhatIsNotListedIsSaidWhereItIsMissing(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	v := w.OpenViewer(t, s)
	p.JS(`for (let i = 0; i < 60; i++) console.error('fault ' + String.fromCharCode(97 + i % 26, 97 + i / 26)); console.warn('a warning')`)
	a.Changes()
	v.Shows("60 errors, 1 warning", "50 console errors · 11 more in this section not shown")
}

// TestAHeldAgentIsHeldByTheNextDaemon too: only a person lifts it.
func TestAHeldAgentIsHeldByTheNextDaemon(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.EmptyWorld(t)
	a := w.NewAgent(t)
	a.Call("checkpoint_list", nil, &struct{}{})
	d := e2etest.Dashboard(t, e2etest.SharedWorld(t), w.World)
	d.JS(e2etest.ViewerHelp + `await press('Agent calls'); await until(() => document.querySelector('.agent [role=switch]'), 'the agent');
document.querySelector('.agent [role=switch]').click(); await until(() => says('suspended'), 'that it is held')`)
	for range 3 { // who comes by its name is held as well, and leaves no line each time
		again := w.NewAgent(t)
		if _, err := again.Text("checkpoint_list", nil); err == nil || !strings.Contains(err.Error(), "suspended") {
			t.Errorf("the agent is answered on another connection: %v", err)
		}
		_ = again.Close()
	}
	d.JS(e2etest.ViewerHelp + `
const left = () => [...document.querySelectorAll('.agent')].filter((one) => /disconnected/.test(one.textContent));
await until(() => left().length === 1 && left()[0].querySelector('dd').textContent === '3', 'those that have left as one');
if (document.querySelectorAll('.agent').length !== 2) throw new Error('the agents are ' + document.querySelector('.agents').innerText);`)
	if r := w.Run("stop"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	if _, err := a.Text("checkpoint_list", nil); err == nil || !strings.Contains(err.Error(), "suspended") {
		t.Errorf("the agent is answered by the next daemon: %v", err)
	}
}

// TestKeysSetACheckpointAndPause gives the extension's keyboard commands, and reads the number on its icon. A
// browser without a window gives no extension its keys: the worker is told of the command as by them.
func TestKeysSetACheckpointAndPause(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.SeparateWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.NewAgent(t)
	icon := &e2etest.Viewer{Tab: w.Open(t, installer.Origin+"popup/index.html")}
	p := w.Open(t, s.URL)
	p.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		return chromedp.Call(ctx, page.BringToFront, chromedp.Void{})
	})
	a.Changes()
	worker := e2etest.Attach(t, w.Browser, "the extension's worker", func(info *target.Info) bool {
		return info.Type == "service_worker" && strings.HasPrefix(info.URL, installer.Origin)
	})
	command := func(name string) {
		t.Helper()
		e2etest.RunIn(worker, t, fmt.Sprintf(`
if (!(await chrome.commands.getAll()).some(({ name }) => name === %[1]q)) throw new Error('there is no such command');
chrome.commands.onCommand.dispatch(%[1]q);`, name))
	}
	badge := func(what, text string) {
		t.Helper()
		icon.JS(fmt.Sprintf(`
const began = Date.now();
let text;
do { text = await chrome.action.getBadgeText({}); await new Promise((done) => setTimeout(done, 50)); } while (text !== %q && Date.now() - began < 12000);
if (text !== %q) throw new Error(%q + ': the icon shows ' + JSON.stringify(text) + ', ' + await chrome.action.getTitle({}));`, text, text, what))
	}
	p.JS(`console.error('one'); console.error('two'); console.warn('three')`)
	a.Changes()
	badge("three findings", "3")
	command("checkpoint")
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return strings.Contains(w.Run("checkpoint", "list").Out, "by_hand"), nil
	}); err != nil {
		t.Fatalf("no checkpoint: %s", w.Run("checkpoint", "list").Out)
	}
	badge("a checkpoint", "")
	p.JS(`console.error('four')`)
	a.Changes()
	badge("one since the checkpoint", "1")
	p.JS(`
window.alarm = (text) => document.body.insertAdjacentHTML('beforeend', '<p role=alert id=' + text + '>' + text + '</p>');
alarm('stays');
alarm('leaves');`)
	a.Changes()
	badge("two elements more", "3")
	command("pause")
	badge("paused", "II")
	p.JS(`document.getElementById('leaves').remove(); alarm('comes')`)
	command("pause")
	badge("resumed", "4")
	r := a.Changes()
	if d := r.DOM; len(d.NewErrorElements) != 1 || d.NewErrorElements[0].Text != "comes" || len(d.DisappearedElements) != 1 || d.DisappearedElements[0].Text != "leaves" {
		t.Errorf("after the pause: %s", e2etest.Show(r))
	}
}

// TestADashboardThatFellBehindCatchesUp freezes the dashboard's page while more comes than buffers hold.
func TestADashboardThatFellBehindCatchesUp(t *testing.T) {
	w := e2etest.SharedWorld(t)
	home := e2etest.EmptyWorld(t)
	if r := home.Run("checkpoint", "add", "before_flood"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	stream := home.NewStream("busy profile", "life", "s")
	if err := stream.Connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Close)
	d := e2etest.Dashboard(t, w, home.World)
	d.WaitForText("before_flood")
	state := func(s page.SetWebLifecycleStateState) {
		t.Helper()
		d.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
			return chromedp.Call(ctx, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: s})
		})
	}
	d.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		return chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	})
	state(page.SetWebLifecycleStateStateFrozen)
	const sent, each = 30_000, 1000
	for range sent / each {
		for i := range each {
			stream.Push(testbed.Log("log", fmt.Sprintf("row %d", i)))
		}
		stream.Push(testbed.Log("error", "a fault of the flood"))
		if err := stream.Send(); err != nil {
			t.Fatal(err)
		}
		if err := stream.WaitForAll(); err != nil {
			t.Fatal(err)
		}
	}
	state(page.SetWebLifecycleStateStateActive)
	d.WaitForText("a fault of the flood")
	d.JS(`
const count = () => Number(document.querySelector('canvas').dataset.events);
for (let i = 0; i < 600 && !(count() >= 10000 && count() < 12000); i++) await new Promise((done) => setTimeout(done, 20));
if (!(count() >= 10000 && count() < 12000)) throw new Error('the timeline has ' + count() + ' events');`)
	d.WaitForText("30,030 console entries")
}
