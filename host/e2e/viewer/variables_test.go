package viewer

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestThePanelShowsSnapshotsAndTheirDifferenceAsTrees has a person follow an agent that debugs, in the real DevTools:
// which page is paused by whom, what the variables are and what became of them.
func TestThePanelShowsSnapshotsAndTheirDifferenceAsTrees(t *testing.T) {
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage + `<script src="/poll.js"></script>`, "/app.js": strings.Replace(e2etest.Retrying, "debugger;", "", 1), "/poll.js": e2etest.Polling})
	in := e2etest.Inspect(t, s)
	a := in.NewAgent(t, "--tools", "observe,debug")
	panel := func(script string) {
		t.Helper()
		e2etest.RunIn(in.Panel, t, e2etest.ViewerHelp+script)
	}
	panel(`await press('Variables'); await until(() => says('No variable snapshots'), 'that there is none')`)
	a.Breakpoint(map[string]any{"url": "app.js", "line": 10})
	in.Page.Start("go()")
	a.Paused()
	panel(`await until(() => says('This page is paused by testbed') && says('At a breakpoint since') && says('run (app.js:10)'), 'who paused it')`)
	a.TakeVariables(map[string]any{"label": "before-fix", "depth": 2})
	panel(`
await until(() => says('before-fix') && says('First snapshot of this function'), 'the snapshot');
globalThis.row ??= (name, level) => [...document.querySelectorAll('[role=treeitem]')].find((r) => r.querySelector('.value-name')?.textContent === name && (level === undefined || r.getAttribute('aria-level') === level));
globalThis.key ??= (row, key) => row.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
await until(() => row('retryCount')?.textContent.includes('0'), 'a variable');
if (row('Customer')) throw new Error('what variables hold is shown unasked');
key(row('order'), 'ArrowRight');
await until(() => row('Customer'), 'what order holds');
row('Customer').click();
await until(() => row('City')?.textContent.includes('Warsaw'), 'what its customer holds');
key(row('order'), 'ArrowLeft');
await until(() => !row('City'), 'that it is closed');`)
	a.Resume()
	a.TakeVariables(map[string]any{"label": "after-fix", "depth": 2})
	a.Resume()
	a.Resume()
	a.TakeVariables(map[string]any{"label": "at-the-end", "depth": 2})
	panel(`
await until(() => document.querySelectorAll('.snapshots tbody tr').length === 3, 'three snapshots');
await until(() => says('after-fix → at-the-end') && row('retryCount')?.textContent.includes('1→3'), 'the difference to the one before');
const change = row('result');
if (!change.classList.contains('retyped') || !change.textContent.includes('undefined → string') || !change.textContent.includes('"ok"')) throw new Error(change.outerHTML);
if (!row('Name').textContent.includes('"Ada"→"Alan"')) throw new Error(row('Name').outerHTML);
if (row('City') || !says('1 unchanged')) throw new Error('what is unchanged is not left out: ' + document.body.innerText);
// Any two are compared, and any one is opened.
const pickOne = async (label) => { button(label, document.querySelector('.snapshots')).click(); };
await pickOne('after-fix');
await until(() => says('before-fix → after-fix') && row('retryCount').textContent.includes('0→1'), 'another difference');
const against = document.querySelector('.against select');
pick(against, '');
await until(() => !says('before-fix → after-fix') && row('tries'), 'one alone');
pick(against, [...against.options].find((o) => o.textContent.startsWith('at-the-end')).value);
await until(() => says('at-the-end → after-fix') && row('retryCount').textContent.includes('3→1'), 'backwards');
// The search narrows the tree.
fill(document.querySelector('.search'), 'retrycount');
await until(() => row('retryCount') && !row('order'), 'what was looked for');
fill(document.querySelector('.search'), '');
// The person lets the page go on, from here.
await press('Resume This page');
await until(() => !says('This page is paused'), 'that it goes on');`)
	in.Page.WaitForTitle("done")
	if text := a.Refused("debugger_step", map[string]any{"kind": "over"}); !strings.Contains(text, "the user resumed it") {
		t.Error(text)
	}

	// Tracepoints are told as tables.
	args := map[string]any{"url": "poll.js", "line": 4, "paths": []string{"retryCount", "status"}, "limit": 3}
	a.Trace(args)
	in.Page.JS(`all(3)`)
	args["wait_ms"] = 10000
	if tr := a.Trace(args); tr.State != "done" {
		t.Fatalf("%+v", tr)
	}
	panel(`
await until(() => document.querySelectorAll('.trace tbody tr').length === 3, 'what was traced');
const cells = [...document.querySelectorAll('.trace tbody tr')].map((r) => [...r.cells].slice(1).map((c) => c.textContent).join());
if (cells.join(';') !== '0,"busy";1,"busy";2,"free"') throw new Error(cells.join(';'));`)

	// What ended is no longer there.
	var gone debugger.VariableSnapshotsRemoved
	a.Call("snapshot_clear", nil, &gone)
	panel(`await until(() => says('No variable snapshots'), 'that they are gone')`)
}

// TestDevToolsAndAnAgentPauseOnePage: the real DevTools is open and paused at the same time as an agent, and the person
// presses resume there.
func TestDevToolsAndAnAgentPauseOnePage(t *testing.T) {
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	in := e2etest.Inspect(t, s)
	a := in.NewAgent(t, "--tools", "observe,debug")
	devTools := func(script string) {
		t.Helper()
		e2etest.RunIn(in.Tools, t, `
const until = async (holds, what) => { for (let i = 0; i < 600; i++) { if (await holds()) return; await new Promise((done) => setTimeout(done, 20)); } throw new Error('DevTools: ' + what); };
const { TargetManager, DebuggerModel } = await import('./core/sdk/sdk.js');
const model = TargetManager.TargetManager.instance().primaryPageTarget().model(DebuggerModel.DebuggerModel);
const { ActionRegistry } = await import('./ui/legacy/legacy.js');
const press = (id) => ActionRegistry.ActionRegistry.instance().getAction(id).execute();
`+script)
	}
	b := a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	in.Page.Start(`document.getElementById('go').click()`)
	at := a.Paused()
	if len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID {
		t.Errorf("%+v", at)
	}
	devTools(`await until(() => model.isPaused(), 'it is not paused with the agent')`)
	// Both look at the same pause.
	if v := a.Variables(map[string]any{"depth": 1}); len(v.Variables) == 0 {
		t.Errorf("%+v", v)
	}
	first := a.TakeVariables(nil)
	// The person steps in DevTools: the agent sees where it stands then.
	devTools(`
const before = model.debuggerPausedDetails();
await press('debugger.step-over');
await until(() => model.isPaused() && model.debuggerPausedDetails() !== before, 'it does not step');`)
	stepped := a.Paused()
	if stepped.Stack[0].Source == at.Stack[0].Source {
		t.Errorf("%+v", stepped)
	}
	if s := a.TakeVariables(nil); s.Since != first.Label {
		t.Errorf("%+v", s)
	}
	// The agent steps: DevTools follows.
	a.Debugger("debugger_step", map[string]any{"kind": "over"})
	devTools(`await until(() => model.isPaused(), 'it lost the pause')`)
	// The person presses resume there.
	devTools(`
await press('debugger.toggle-pause');
await until(() => !model.isPaused(), 'it does not resume');`)
	in.Page.WaitForTitle("6")
	if text := a.Refused("debugger_step", map[string]any{"kind": "over"}); !strings.Contains(text, "another debugger, such as DevTools, resumed it") {
		t.Error(text)
	}
	if all := a.VariableSnapshots(); len(all) != 2 {
		t.Errorf("%+v", all)
	}
}

// TestTheDashboardShowsVariablesAndResumes does in a plain browser tab what the panel does.
func TestTheDashboardShowsVariablesAndResumes(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `function go(retryCount) { debugger; document.title = 'went on'; } `)
	a.Stop(p, "go(7)")
	a.TakeVariables(map[string]any{"label": "seen-in-the-dashboard"})
	board := e2etest.Dashboard(t, w, w.World)
	board.JS(e2etest.ViewerHelp + `
await press('Variables');
await press('seen-in-the-dashboard');
await until(() => [...document.querySelectorAll('[role=treeitem]')].some((r) => r.textContent === 'retryCountnumber7'), 'its variables');
await press('Resume shop');
await until(() => !button('Resume shop'), 'that the page goes on');`)
	p.WaitForTitle("went on")
}
