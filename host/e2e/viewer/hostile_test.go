package viewer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// trap is a server that nobody may ask, and a text that asks it and sets a variable where it is taken for more than text.
type trap struct {
	text  string
	asked atomic.Int32
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	r := &trap{}
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { r.asked.Add(1) }))
	t.Cleanup(s.Close)
	r.text = fmt.Sprintf(`</script></style></textarea></pre>--><script>globalThis.owned=1</script><img src="%[1]s/i" onerror="globalThis.owned=1">`+
		`<svg onload=globalThis.owned=1><a href="javascript:globalThis.owned=1">go</a><style>@import "%[1]s/s"; body{background:url(%[1]s/b)}</style>`+
		`<link rel=prefetch href="%[1]s/p"><meta http-equiv=refresh content="0;url=%[1]s/m">' onmouseover='globalThis.owned=1' x=" ![x](%[1]s/d) [y](javascript:globalThis.owned=1)`+
		"\u202e\u2066\u2028\x1b[31m\x1b]8;;javascript:globalThis.owned=1\x07link\x1b]8;;\x07\x1b]0;title\x07 end-of-trap", s.URL)
	return r
}

// holds checks a page that shows the text: it is text, without marks of direction and sequences of a terminal.
func (r *trap) holds(t *testing.T, p *e2etest.Tab, what string) {
	t.Helper()
	if err := p.Tab.JS(`
for (const link of document.querySelectorAll('a')) if (/^\s*javascript:/i.test(link.getAttribute('href'))) throw new Error('there is a link that runs: ' + link.outerHTML);
for (const one of document.querySelectorAll('[onerror], [onload], [onmouseover], img, meta[http-equiv=refresh], link[rel=prefetch]')) throw new Error('there is ' + one.outerHTML);
if (/[\u202a-\u202e\u2066-\u2069\u001b]/.test(document.body.innerText)) throw new Error('control characters are shown');
await new Promise((done) => setTimeout(done, 300));
if (globalThis.owned) throw new Error('a script ran');`); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if n := r.asked.Load(); n > 0 {
		t.Errorf("%s: %d requests left", what, n)
	}
}

// TestHostileTextIsTextInTheViewerAndItsFiles has a page, names of files, prompts, calls and moments say what would run in a viewer
// or in a saved file that believed it.
func TestHostileTextIsTextInTheViewerAndItsFiles(t *testing.T) {
	w := e2etest.SharedWorld(t)
	p, page := newProject(t, w, "--grant", "conversation")
	r := newTrap(t)
	quoted, err := json.Marshal(r.text)
	if err != nil {
		t.Fatal(err)
	}
	hook := func(event string, more map[string]any) {
		t.Helper()
		more["session_id"], more["cwd"], more["hook_event_name"], more["prompt_id"] = "hostile-text", p.dir, event, "p1"
		data, err := json.Marshal(more)
		if err != nil {
			t.Fatal(err)
		}
		cmd := w.Command("hook", "--patience", "4s")
		cmd.Dir, cmd.Stdin = p.dir, bytes.NewReader(data)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	hook("UserPromptSubmit", map[string]any{"prompt": "prompted " + r.text})
	name := "<img src=x onerror=globalThis.owned=1>\u202e\x1b[31m\n.js"
	p.write(name, r.text+"\n")
	hook("PostToolUse", map[string]any{"tool_name": "Bash", "tool_use_id": "t1", "tool_input": map[string]any{"command": "ran " + r.text}, "tool_response": map[string]any{"stdout": r.text}, "duration_ms": 4})
	hook("PostToolUse", map[string]any{"tool_name": "Edit", "tool_use_id": "t2", "tool_input": map[string]any{"file_path": filepath.Join(p.dir, name), "old_string": r.text, "new_string": "x"}, "tool_response": map[string]any{"ok": true}})
	p.run("timeline", "moment", "add", "--label", "labelled "+strings.ReplaceAll(r.text, "\x00", ""))
	page.JS(`
const text = ` + string(quoted) + ` + '\u0000\ud800';
console.error('logged ' + text); console.warn(text, { [text]: text }, new Error(text)); setTimeout(() => { throw new Error('thrown ' + text) });
await fetch('/' + encodeURIComponent(text.slice(0, -1)) + '?q=' + text, { method: 'POST', body: text }).catch(() => {});
const d = document.createElement('div'); d.setAttribute('role', 'alert'); d.textContent = 'alerted ' + text; document.body.append(d);
const b = document.createElement('button'); b.ariaLabel = 'pressed ' + text; b.id = text; b.className = text; document.body.append(b); b.click();
document.title = text;`)
	hook("Stop", map[string]any{"last_assistant_message": "said " + r.text, "stop_hook_active": true})

	dir := t.TempDir()
	if _, err := chromedp.CallBrowser(w.Browser.Context(), browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir}); err != nil {
		t.Fatal(err)
	}
	v := &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	for _, section := range []string{"moments", "conversation", "events", "changes"} {
		v.JS(`
await until(() => document.querySelector('#tab-` + section + `'), 'the viewer');
document.querySelector('#tab-` + section + `').click();
await until(() => says('end-of-trap'), 'the text');
for (const head of document.querySelectorAll('.moment-head, .opener:enabled')) head.click();
await new Promise((done) => setTimeout(done, 1000));
for (const more of document.querySelectorAll('details:not([open]) > summary')) more.click();`)
		r.holds(t, v.Tab, section)
	}
	for _, export := range []struct{ button, ending string }{{"Everything as one HTML file", "html"}, {"Everything as JSON", "json"}} {
		what, err := json.Marshal(export.button)
		if err != nil {
			t.Fatal(err)
		}
		v.JS(`await press('Export'); await press(` + string(what) + `)`)
		var files []string
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			files, err = filepath.Glob(filepath.Join(dir, "*."+export.ending))
			return len(files) == 1, err
		}); err != nil {
			t.Fatalf("%s is not saved: %v", export.button, err)
		}
		saved := w.Open(t, "about:blank")
		saved.Do(chromedp.Navigate("file://" + files[0]))
		if export.ending == "html" {
			saved.WaitForText("logged </script>") // long texts are cut
			saved.JS(`JSON.parse(document.getElementById('session').textContent)`)
		}
		r.holds(t, saved, export.button)
	}
	report := w.RunIn(p.dir, "changes", "--since", "start")
	if report.Code > 4 || strings.ContainsAny(report.Out, "\x1b\u202e") {
		t.Errorf("%d: %q %s", report.Code, report.Out, report.Err)
	}
}

// TestAHostileRecordingRunsNothingInAPlayer: neither what a terminal showed nor the names of commands are taken for markup.
func TestAHostileRecordingRunsNothingInAPlayer(t *testing.T) {
	bundle := e2etest.Repository("node_modules/asciinema-player/dist/bundle")
	if _, err := os.Stat(bundle); errors.Is(err, os.ErrNotExist) {
		t.Skip("asciinema-player is not installed; npm ci")
	}
	r := newTrap(t)
	path := filepath.Join(t.TempDir(), "hostile"+recording.Suffix)
	rec, err := recording.Create(path, recording.Header{ID: "t20260102-030405-abcd", Command: r.text, Dir: "/w", Started: time.Unix(1_700_000_000, 0), Cols: 200, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	for i, kind := range []recording.Code{recording.Output, recording.Marker, recording.Output} {
		if err := rec.Append(time.Duration(i)*time.Second, kind, []byte(r.text+"\x00\xff\u202e\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Finish(0); err != nil {
		t.Fatal(err)
	}
	opened, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	var cast bytes.Buffer
	if err := recording.WriteCast(&cast, opened, recording.CastOptions{Version: 3}); err != nil {
		t.Fatal(err)
	}
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":       `<!doctype html><title>player</title><link rel=icon href=data:,><link rel=stylesheet href=/bundle/asciinema-player.css><script src=/bundle/asciinema-player.min.js></script><div id=player></div>`,
		"/full.cast": cast.String(),
	})
	s.Mux.Handle("/bundle/", http.StripPrefix("/bundle/", http.FileServer(http.Dir(bundle))))
	p := e2etest.SharedWorld(t).Open(t, s.URL)
	p.JS(`const player = AsciinemaPlayer.create({ url: '/full.cast' }, document.getElementById('player'), { preload: true }); await player.seek(2.5);`)
	p.WaitUntil(`document.querySelector('.ap-term')?.innerText.includes('end-of-trap')`)
	p.JS(`if (globalThis.owned || document.querySelector('#player img, #player script, #player a[href^="javascript:"]')) throw new Error('the recording runs: ' + document.getElementById('player').innerHTML)`)
	if n := r.asked.Load(); n > 0 {
		t.Errorf("%d requests left", n)
	}
}
