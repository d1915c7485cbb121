package viewer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestTheConversationInTheViewer: prompts and calls are a view and a lane. A call opens its prompt, the diff of its file, what
// it was given, and the browser's report after it.
func TestTheConversationInTheViewer(t *testing.T) {
	w := e2etest.SharedWorld(t)
	p, page := newProject(t, w, "--grant", "conversation")
	dir, write, run := p.dir, p.write, p.run
	hook := func(event string, more map[string]any) {
		t.Helper()
		more["session_id"], more["cwd"], more["hook_event_name"], more["prompt_id"] = "conversation-in-the-viewer", dir, event, "p1"
		data, err := json.Marshal(more)
		if err != nil {
			t.Fatal(err)
		}
		cmd := w.Command("hook", "--patience", "4s")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(string(data))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the hook fails: %v: %s", err, out)
		}
	}
	ran := func(id, tool string, input, output any) {
		t.Helper()
		hook("PostToolUse", map[string]any{"tool_name": tool, "tool_use_id": id, "tool_input": input, "tool_response": output, "duration_ms": 40})
	}
	hook("UserPromptSubmit", map[string]any{"prompt": "Show <b>how many</b> items\nthe cart has."})
	ran("toolu_1", "Bash", map[string]any{"command": "grep -n items app.js"}, map[string]any{"stdout": "1:const shop"})
	run("timeline", "moment", "add", "--label", "before the edit") // on a busy machine a hook does not wait for its moment
	write("app.js", "const shop = {};\ndocument.title = `${shop.items.length} items`;\n")
	ran("toolu_2", "Edit", map[string]any{"file_path": filepath.Join(dir, "app.js"), "old_string": "{ items: [1, 2] }", "new_string": "{}"}, map[string]any{"ok": true})
	page.Reload()
	hook("Stop", map[string]any{"last_assistant_message": "The title shows the items.", "stop_hook_active": true})

	v := &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	v.JS(`
await until(() => document.querySelector('#tab-conversation'), 'the viewer');
document.querySelector('#tab-conversation').click();
globalThis.row = (label) => [...document.querySelectorAll('.moment')].find((one) => one.textContent.includes(label));
await until(() => row('how many') && row('$ grep -n items') && row('Edit app.js')?.textContent.includes('1 change'), 'the prompt and its calls');
await until(() => button('Prompts', document.querySelector('.timeline')), 'the lane');
const order = ['how many', '$ grep -n items', 'Edit app.js'].map((label) => row(label).getBoundingClientRect().top);
if (!(order[0] < order[1] && order[1] < order[2])) throw new Error('the order is ' + order);
row('Edit app.js').querySelector('.moment-head').click();
await until(() => row('Edit app.js').querySelector('.moment-diff'), 'the diff of its file');
const call = row('Edit app.js');
for (const part of ['-const shop = { items: [1, 2] };', '+const shop = {};', 'Show <b>how many</b> items'])
	if (!call.textContent.includes(part)) throw new Error(part + ' is not in ' + call.textContent);
await until(() => call.querySelector('details'), 'what it was given');
call.querySelector('details summary').click();
await until(() => call.querySelector('details pre').textContent.includes('"old_string"'), 'its input');
await until(() => row('Edit app.js').querySelector('.moment-severity')?.title === 'After this call: Errors', 'the severity after it');
if (document.querySelector('.moments-view b')) throw new Error('text of a prompt is markup');
row('how many').querySelector('.moment-head').click();
await until(() => says('The title shows the items.'), 'the last message');`)
	if shots := os.Getenv(ScreenshotsEnv); shots != "" {
		v.JS(`row('how many').querySelector('.moment-head').click(); row('Edit app.js').querySelector('details').open = false;`)
		takeInto(t, shots, "panel-conversation", v.Tab, 1180, 760)
		takeInto(t, shots, "panel-conversation-narrow", v.Tab, 380, 760)
	}
	v.JS(`
await press('Show browser changes', row('Edit app.js'));
await until(() => document.querySelector('#tab-changes[aria-selected=true]') && says('TypeError'), 'the report after the call');`)
}
