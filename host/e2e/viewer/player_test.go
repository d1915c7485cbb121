package viewer

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// terminalDemo writes a recording of half a minute: a build with colors, programs that draw their screen, wide characters.
func terminalDemo(t *testing.T, path string) {
	t.Helper()
	w, err := recording.Create(path, recording.Header{ID: "t20260102-030405-abcd", Command: "bash", Dir: "/w", Started: time.Unix(1_700_000_000, 0), Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var at time.Duration
	full := false
	for n := 0; n < 900_000; {
		at += time.Duration(r.IntN(60_000)) * time.Microsecond
		var b strings.Builder
		switch r.IntN(10) {
		case 0:
			if full = !full; full {
				b.WriteString("\x1b[?1049h\x1b[?25l\x1b[2J")
			} else {
				b.WriteString("\x1b[r\x1b[0m\x1b[?25h\x1b[?1049l")
			}
		case 1:
			fmt.Fprintf(&b, "\x1b[%d;%dr\x1b[%d;1H\x1b[1;3%dmscrolled 漢字\x1b[0m\n\n\x1b[r\x1b[24;1H", 1+r.IntN(5), 15+r.IntN(9), 10+r.IntN(5), r.IntN(8))
		case 2:
			fmt.Fprintf(&b, "\x1b7\x1b[%d;%dH\x1b[7m 😀 %d \x1b[27m\x1b8", 1+r.IntN(24), 1+r.IntN(70), r.IntN(1e6))
		default:
			for range 1 + r.IntN(50) {
				fmt.Fprintf(&b, "\x1b[3%dm%6d\x1b[0m build/%x/file_%d.go: \x1b[48;5;%dmcompiled\x1b[0m é%s\r\n", r.IntN(8), r.IntN(1e6), r.Uint64(), r.IntN(1e4), r.IntN(256), strings.Repeat("─", r.IntN(40)))
			}
		}
		n += b.Len()
		if err := w.Append(at, recording.Output, []byte(b.String())); err != nil {
			t.Fatal(err)
		}
		if r.IntN(40) == 0 {
			if err := w.Append(at, recording.Marker, fmt.Appendf(nil, "m%d go build", n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
}

// TestThePlayerOfAsciinemaPlaysASegmentedExport, and shows at any place what it shows after playing the whole recording.
func TestThePlayerOfAsciinemaPlaysASegmentedExport(t *testing.T) {
	bundle := e2etest.Repository("node_modules/asciinema-player/dist/bundle")
	if _, err := os.Stat(bundle); errors.Is(err, os.ErrNotExist) {
		t.Skip("asciinema-player is not installed; npm ci")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "demo"+recording.Suffix)
	terminalDemo(t, path)
	rec, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rec.Close() }()
	if err := recording.WriteSegmented(filepath.Join(dir, "segmented"), rec, 0); err != nil {
		t.Fatal(err)
	}
	var cast bytes.Buffer
	if err := recording.WriteCast(&cast, rec, recording.CastOptions{Version: 3}); err != nil {
		t.Fatal(err)
	}
	s := e2etest.NewSite(t, map[string]string{
		"/": `<!doctype html><title>player</title><link rel=icon href=data:,>
<link rel=stylesheet href=/bundle/asciinema-player.css><script src=/bundle/asciinema-player.min.js></script><div id=full></div><div id=segmented></div>`,
		"/full.cast": cast.String(),
	})
	s.Mux.Handle("/bundle/", http.StripPrefix("/bundle/", http.FileServer(http.Dir(bundle))))
	var asked []string
	segments := http.StripPrefix("/segmented/", http.FileServer(http.Dir(filepath.Join(dir, "segmented"))))
	s.Mux.HandleFunc("/segmented/", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		segments.ServeHTTP(w, r)
	})
	p := e2etest.SharedWorld(t).Open(t, s.URL)
	p.JS(fmt.Sprintf(`
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const full = AsciinemaPlayer.create({ url: '/full.cast' }, document.getElementById('full'), { preload: true });
const parts = AsciinemaPlayer.create({ url: '/segmented/index.json', format: 'segmented' }, document.getElementById('segmented'), { preload: true });
const term = (id) => document.querySelector('#' + id + ' .ap-term');
let x = 7;
const random = () => (x = (x * 1103515245 + 12345) %% 2147483648) / 2147483648;
const seen = new Set();
window.seeks = async (n) => {
	for (let i = 0; i < n; i++) {
		const at = random() * %f;
		await Promise.all([full.seek(at), parts.seek(at)]);
		await frame();
		seen.add(term('full').innerHTML);
		if (term('full').innerHTML !== term('segmented').innerHTML) {
			throw new Error('at ' + at + '\n' + term('full').innerText + '\n---\n' + term('segmented').innerText);
		}
	}
	window.seen = seen.size;
}`, rec.Summary().Duration.Seconds()))
	for range 20 {
		p.JS("await seeks(10)")
	}
	if n := p.Text("String(seen)"); len(n) < 3 {
		t.Errorf("the seeks show only %s screens", n)
	}
	if len(asked) < 5 {
		t.Errorf("the player asked only for %v", asked)
	}
	p.Picture("player")
}

// TestALiveTerminal: the session's timeline names the recording of a terminal, and asciinema-player shows it while it is made.
func TestALiveTerminal(t *testing.T) {
	bundle := e2etest.Repository("node_modules/asciinema-player/dist/bundle")
	if _, err := os.Stat(bundle); errors.Is(err, os.ErrNotExist) {
		t.Skip("asciinema-player is not installed; npm ci")
	}
	w := e2etest.SharedWorld(t)
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		r := w.RunIn(dir, args...)
		if r.Code != 0 {
			t.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
		}
		return string(r.Out)
	}
	run("project", "allow", dir)
	run("session", "start")
	t.Cleanup(func() {
		run("session", "end")
		run("project", "forget", dir)
	})
	began := time.Now()
	store := recording.Store{Dir: filepath.Join(w.Home, "terminals")}
	id := recording.NewID(began)
	made, err := store.Create(recording.Header{ID: id, Name: "agent", Command: "claude", Dir: dir, Started: began, Cols: 60, Rows: 12, HasInput: true})
	if err != nil {
		t.Fatal(err)
	}
	shows := func(text string) {
		t.Helper()
		if err := errors.Join(made.Append(time.Since(began), recording.Output, []byte(text)), made.Commit(false)); err != nil {
			t.Fatal(err)
		}
	}
	shows("\x1b[32mready\x1b[0m 漢字\r\n")
	v := &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	v.JS(fmt.Sprintf(`
await until(() => sessionStorage.getItem('tidemark.session'), 'signing in');
const { token } = JSON.parse(sessionStorage.getItem('tidemark.session'));
window.ask = async (path) => {
	const a = await fetch(path, { headers: { Authorization: 'Bearer ' + token } });
	if (!a.ok) throw new Error(await a.text());
	return a;
};
const { sessions } = await (await ask('/api/v1/sessions?workspace=' + encodeURIComponent(%q))).json();
const timeline = await (await ask('/api/v1/sessions/' + sessions[0].sessionId + '/timeline')).json();
const r = timeline.recording;
const got = [r.format, r.version, r.width, r.height, r.hasInput, r.id, timeline.recordings.length].join();
if (got !== 'cast,2,60,12,true,%s,1') throw new Error(got);
const cast = (await (await ask(r.uri)).text()).split('\n').map((l) => l && JSON.parse(l));
if (cast[0].version !== 2 || !cast[1][2].includes('ready')) throw new Error(JSON.stringify(cast));
const three = (await (await ask(r.uri + '?version=3')).text()).split('\n')[0];
if (JSON.parse(three).version !== 3) throw new Error(three);
window.live = r.liveUri;
window.token = token;`, dir, id))
	// EventSource sends no header: the page's server adds the token.
	target, err := url.Parse(v.Text("location.origin"))
	if err != nil {
		t.Fatal(err)
	}
	live, token := v.Text("live"), v.Text("token")
	s := e2etest.NewSite(t, map[string]string{"/": `<!doctype html><title>player</title><link rel=icon href=data:,>
<link rel=stylesheet href=/bundle/asciinema-player.css><script src=/bundle/asciinema-player.min.js></script><div id=live></div>`})
	s.Mux.Handle("/bundle/", http.StripPrefix("/bundle/", http.FileServer(http.Dir(bundle))))
	s.Mux.Handle("/live", &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.URL.Path, r.Out.Host = live, target.Host
		r.Out.Header.Del("Origin")
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	p := w.Open(t, s.URL)
	p.JS(`
window.player = AsciinemaPlayer.create({ driver: 'eventsource', url: '/live' }, document.getElementById('live'), { autoPlay: true });
window.shows = (text) => document.querySelector('#live .ap-term')?.innerText.replaceAll('\n', '').includes(text);`)
	p.WaitUntil("shows('ready 漢字')")
	shows("live now\x1b[?1049h\x1b[2J\x1b[3;3Hfull screen")
	p.WaitUntil("shows('full screen') && !shows('ready')")
	shows("\x1b[?1049l done")
	p.WaitUntil("shows('live now') && shows('done')")
	p.JS(`player.addEventListener('ended', () => { window.over = true })`)
	if err := made.Finish(0); err != nil {
		t.Fatal(err)
	}
	p.WaitUntil("window.over")
	run("timeline", "show", "--ts", "end", "--recording", "agent")
	if out := run("du"); !strings.Contains(out, "1 recordings of terminals") {
		t.Error(out)
	}
}
