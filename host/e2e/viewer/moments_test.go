package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestMomentsInTheViewer: a user looks at the files of moments in the dashboard, restores one, takes that back, and branches.
func TestMomentsInTheViewer(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		if r := w.RunIn(dir, args...); r.Code != 0 {
			t.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
		}
	}
	holds := func(name, want string) {
		t.Helper()
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			return string(data) == want, err
		}); err != nil {
			data, _ := os.ReadFile(filepath.Join(dir, name))
			t.Fatalf("%s is %q, not %q: %v", name, data, want, err)
		}
	}
	write("cart.ts", "export const total = (items) => items.length\n")
	run("project", "allow", dir)
	run("session", "start")
	t.Cleanup(func() {
		run("session", "end")
		run("project", "forget", dir)
	})
	run("timeline", "moment", "add", "--label", "the cart counts")
	write("cart.ts", "export const total = (items) => items.size\n")
	write("list<b>.ts", "export {}\n")
	run("timeline", "moment", "add", "--label", `sets have a "size", see <b>`)

	v := &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	v.JS(`await press('Moments')`)
	v.Shows("the cart counts", `sets have a "size", see <b>`, "2 changes")
	v.JS(`
globalThis.row = (label) => [...document.querySelectorAll('.moment')].find((one) => one.textContent.includes(label));
row('sets have').querySelector('.moment-head').click();
await until(() => document.querySelector('.moment-diff'), 'a diff');
const text = document.querySelector('.moment-diff').textContent;
for (const part of ['-export const total = (items) => items.length', '+export const total = (items) => items.size'])
	if (!text.includes(part)) throw new Error(part + ' is not in ' + text);
if (document.querySelector('.moments-view img, .moments-view b')) throw new Error('text of a file is markup');`)
	// A moment that is added elsewhere appears by itself, and on the timeline.
	run("timeline", "moment", "add", "--label", "from the terminal")
	v.Shows("from the terminal")
	v.JS(`await until(() => button('Moments', document.querySelector('.timeline')), 'the lane of moments')`)

	v.JS(`
await until(() => row('the cart counts'), 'the first moment');
row('the cart counts').querySelector('.moment-head').click();
await press('Restore files', row('the cart counts'));
await until(() => says('Restoring') && says('makes 3 changes'), 'a plan');`)
	holds("cart.ts", "export const total = (items) => items.size\n")
	v.JS(`await press('Restore now')`)
	holds("cart.ts", "export const total = (items) => items.length\n")
	v.Shows("Restored m")
	v.JS(`await press('Undo')`)
	holds("cart.ts", "export const total = (items) => items.size\n")
	v.Shows("Restore undone")

	// Why a branch is refused is in view, beside the button that was pressed, in a small panel too.
	run("timeline", "session-branch", "--moment", "now", "--name", "taken")
	for _, size := range [][2]int64{{1100, 800}, {380, 560}} {
		v.Tab.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
			return chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: size[0], Height: size[1], DeviceScaleFactor: 1})
		})
		v.JS(`
if (!button('Branch', row('the cart counts'))) row('the cart counts').querySelector('.moment-head').click();
if (!row('the cart counts').querySelector('form')) await press('Branch', row('the cart counts'));
const form = row('the cart counts').querySelector('form');
fill(form.querySelector('input'), 'taken');
await press('Create branch', form);
await until(() => form.querySelector('.problem')?.textContent.includes('already has a branch'), 'why it is refused');
const rows = document.querySelector('.rows');
const seen = (one) => {
	const at = one.getBoundingClientRect();
	const hit = document.elementFromPoint(at.left + 20, (at.top + at.bottom) / 2);
	return at.bottom <= innerHeight + 1 && at.top >= 0 && (one === hit || one.contains(hit));
};
// The rows below move a frame after the form grew.
for (const one of [form.querySelector('.problem'), button('Create branch', form)]) await until(() => seen(one), one.textContent + ' in view');
if (rows.scrollWidth > rows.clientWidth) throw new Error('the rows are ' + rows.scrollWidth + ' px wide, in ' + rows.clientWidth);`)
		if shots := os.Getenv(ScreenshotsEnv); shots != "" {
			takeInto(t, shots, fmt.Sprintf("branch-refused-%d", size[0]), v.Tab, size[0], size[1])
		}
		v.JS(`row('the cart counts').querySelector('.moment-head').click(); row('the cart counts').querySelector('.moment-head').scrollIntoView(); document.querySelector('.moments-view').scrollTop = 0;`)
	}
	run("branch", "rm", "taken")
	v.Tab.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		return chromedp.Call(ctx, emulation.ClearDeviceMetricsOverride, chromedp.Void{})
	})

	v.JS(`
if (!button('Branch', row('the cart counts'))) row('the cart counts').querySelector('.moment-head').click();
await press('Branch', row('the cart counts'));
const form = row('the cart counts').querySelector('form');
fill(form.querySelector('input'), 'by-length');
fill(form.querySelector('textarea'), 'Keep lists, and count them.');
pick(form.querySelector('select'), 'none');
await press('Create branch', form);
await until(() => says('Branch by-length created in') && says('Keep lists, and count them.'), 'the branch');`)
	v.JS(`if (!/Branch of \S+ at m\d/.test(document.body.innerText)) throw new Error("the branch does not name its session and moment");`)
	testedIn(t, w.World, dir)
	v.JS(`
await press('Compare', document.querySelector('.moments-head'));
await until(() => document.querySelector('.compare table'), 'the comparison');
const compared = document.querySelector('.compare').textContent;
for (const part of ['by-length', 'Original', 'Browser at the end', 'Files', 'Tests', 'npm test failed exit 1', 'npm test passed exit 0', 'Calls', 'Tokens', 'Time', 'Began with'])
	if (!compared.includes(part)) throw new Error(part + ' is not in ' + compared);`)
	v.CheckAccessible("a comparison of branches")
	if shots := os.Getenv(ScreenshotsEnv); shots != "" {
		takeInto(t, shots, "panel-compare", v.Tab, 1180, 760)
		takeInto(t, shots, "panel-compare-narrow", v.Tab, 380, 760)
	}
	v.JS(`await press('Close', document.querySelector('.compare'));`)

	// No agent is known at this moment: the branch is made, and the viewer says as a failure that none works on the message.
	v.JS(`
globalThis.first = [...document.querySelectorAll('.moment')].find((one) => one.textContent.includes('branched from'));
first.querySelector('.moment-head').click();
await press('Branch', first);
fill(first.querySelector('form input'), 'unstarted');
fill(first.querySelector('form textarea'), 'Count "sets"\n\nand lists 🎉');`)
	pictures := func(name string) {
		if shots := os.Getenv(ScreenshotsEnv); shots != "" {
			takeInto(t, shots, name, v.Tab, 1180, 760)
			takeInto(t, shots, name+"-narrow", v.Tab, 380, 760)
		}
	}
	pictures("panel-branch")
	v.JS(`
await press('Create branch', first.querySelector('form'));
await until(() => document.querySelector('.notice.failed')?.textContent.includes('unstarted. No agent was started, because no conversation of one is known'), 'why no agent works');`)
	pictures("panel-branch-unstarted")
	// Without its directory a session still has its moments with their files, and says what is missing. Another one can be chosen.
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	v.JS(`
const select = document.querySelector('.moments-head select');
pick(select, [...select.options].find((o) => o.title.endsWith('/shop')).value);
await until(() => document.querySelector('.moments-view .problem') && says('the cart counts') && document.querySelector('.moments-head select'), 'what is missing');
if (!row('sets have').querySelector('.moment-body')) row('sets have').querySelector('.moment-head').click();
await until(() => row('sets have').querySelector('.moment-diff')?.textContent.includes('+export const total = (items) => items.size'), 'its diff');`)
	if err := os.Rename(dir+"2", dir); err != nil {
		t.Fatal(err)
	}
	shots := os.Getenv(ScreenshotsEnv)
	if shots == "" {
		return
	}
	v.JS(`
pick(document.querySelector('.moments-head select'), [...document.querySelectorAll('.moments-head option')].at(-1).value);
await until(() => row('sets have'), 'the moments');
row('sets have').querySelector('.moment-head').click();
await until(() => document.querySelector('.moment-diff'), 'a diff');
await press('Close');
document.querySelector('.rows').scrollTop = 0;`)
	takeInto(t, shots, "panel-moments", v.Tab, 1180, 760)
}

// TestWhatBrokeInTheViewer: the list shows after which moment the page broke. A button, and the error itself, name the edit and
// lead to its diff.
func TestWhatBrokeInTheViewer(t *testing.T) {
	w := e2etest.SharedWorld(t)
	p, page := newProject(t, w)
	write, run := p.write, p.run
	v := &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	v.JS(`await until(() => document.querySelector('#tab-moments'), 'the viewer'); document.querySelector('#tab-moments').click(); await press('Find what broke'); await until(() => says('Nothing broke: no new errors'), 'that nothing broke'); await press('Close', document.querySelector('.broke'));`)
	for i := range 3 {
		write("app.css", fmt.Sprintf("body { margin: %dpx; }\n", i))
		run("timeline", "moment", "add", "--label", fmt.Sprintf("margin %d", i))
	}
	write("app.js", "const shop = { items: [1, 2] };\ndocument.title = `${shop.goods.length} items`;\n")
	run("timeline", "moment", "add", "--label", "the edit that breaks")
	page.JS(`setTimeout(() => location.reload())`)
	v.JS(`
globalThis.row = (label) => [...document.querySelectorAll('.moment')].find((one) => one.textContent.includes(label));
globalThis.is = (label, severity) => row(label)?.querySelector('.moment-severity .severity-mark').classList.contains(severity);
await press('Changes');
await until(() => document.querySelector('.introduced'), 'the edit at the error');
document.querySelector('#tab-moments').click();
await until(() => is('the edit that breaks', 'error') && is('margin 1', 'clean'), 'the course of the session');
await press('Find what broke');
await until(() => says('m5 broke it: the edit that breaks') && says('Cannot read properties of undefined') && says('First appeared after app.js:2'), 'what broke');
const text = document.querySelector('.broke .moment-diff').textContent;
if (!text.includes('+document.title = ` + "`${shop.goods.length} items`" + `;')) throw new Error(text);`)
	if shots := os.Getenv(ScreenshotsEnv); shots != "" {
		takeInto(t, shots, "panel-broke", v.Tab, 1180, 900)
	}
	v.JS(`
await press('Open m5');
await until(() => row('the edit that breaks').querySelector('.moment-diff'), 'its diff');`)
	if list := run("timeline", "list"); !strings.Contains(list, "  m5 ✖  s5  the edit that breaks") || strings.Count(list, "✖") != 1 {
		t.Errorf("the list is\n%s", list)
	}
	v.JS(`
await press('Close', document.querySelector('.broke'));
row('the edit that breaks').querySelector('.moment-head').click();
await press('Changes');
await press('after app.js:2 (m5)');
await until(() => document.querySelector('#tab-moments[aria-selected=true]') && row('the edit that breaks')?.querySelector('.moment-diff'), 'the edit of the error');`)
}

// TestOlderMomentsInTheViewer: a list begins with the newest moments. Older ones are added above, and what was in view stays.
func TestOlderMomentsInTheViewer(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		if r := w.RunIn(dir, args...); r.Code != 0 {
			t.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
		}
	}
	run("project", "allow", dir)
	run("session", "start")
	t.Cleanup(func() {
		run("session", "end")
		run("project", "forget", dir)
	})
	v := &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	v.JS(`
await until(() => document.querySelector('#tab-moments'), 'the viewer');
document.querySelector('#tab-moments').click();
await until(() => document.querySelector('.moments-head select')?.value.startsWith('shop'), 'the session');
const { token } = JSON.parse(sessionStorage.getItem('tidemark.session'));
const session = document.querySelector('.moments-head select').value;
for (let i = 2; i <= 131; i++) {
	const made = await fetch('/api/v1/sessions/' + session + '/moments', { method: 'POST', headers: { Authorization: 'Bearer ' + token, 'Content-Type': 'application/json' }, body: JSON.stringify({ label: 'step ' + i + '.' }) });
	if (!made.ok) throw new Error(await made.text());
}
await until(() => says('step 131.') && !document.querySelector('.moments-older'), 'all moments: they came one by one');`)
	v = &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	v.JS(`
await until(() => document.querySelector('#tab-moments'), 'the viewer again');
document.querySelector('#tab-moments').click();
globalThis.rows = () => document.querySelector('.rows');
globalThis.row = (label) => [...document.querySelectorAll('.moment')].find((one) => one.textContent.includes(label));
await until(() => row('step 131.') && says('31 earlier moments are not shown'), 'the newest moments');
rows().scrollTop = 0;
await until(() => row('step 32.') && !row('step 131.'), 'the first of them');
const top = row('step 32.').getBoundingClientRect().top;
await press('Show older');
await until(() => !document.querySelector('.moments-older') && rows().scrollTop > 0 && row('step 32.'), 'the older moments');
await until(() => Math.abs(row('step 32.').getBoundingClientRect().top - top) < 40, 'what was in view at its place');
rows().scrollTop = 0;
await until(() => row('session started'), 'the first moment');
row('step 2.').querySelector('.moment-head').click();
await until(() => row('step 2.').textContent.includes('No files changed since m1'), 'its changes');`)
}

// testedIn has an agent work in the only branch of a project: it edits files and runs tests, first without success.
func testedIn(t *testing.T, w *testbed.World, dir string) {
	t.Helper()
	var list branches.List
	if err := json.Unmarshal([]byte(w.RunIn(dir, "branch", "list", "--json").Out), &list); err != nil || len(list.Branches) != 1 {
		t.Fatalf("the branches are %+v, %v", list, err)
	}
	branch := list.Branches[0].Workspace
	for n := range 12 {
		if err := os.WriteFile(filepath.Join(branch, fmt.Sprintf("item-%d.ts", n)), []byte("export {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, fields := range []string{
		`"hook_event_name":"PostToolUseFailure","error":"Exit code 1\nnot ok"`,
		`"hook_event_name":"PostToolUse","tool_response":{"stdout":"ok"}`,
	} {
		cmd := w.Command("hook", "--debug", "--patience", "0s")
		cmd.Dir = branch
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"a","cwd":%q,"transcript_path":"/h/projects/a.jsonl","tool_name":"Bash","tool_use_id":"t%d","tool_input":{"command":"npm test"},%s}`, branch, i, fields))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the hook: %v: %s", err, out)
		}
		if err := testbed.Eventually(t.Context(), func() (bool, error) { // it does not wait for the snapshot
			return strings.Contains(w.RunIn(branch, "timeline", "list", "--json").Out, fmt.Sprintf(`"messageId":"t%d"`, i)), nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
