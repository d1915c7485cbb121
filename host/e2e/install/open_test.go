//go:build unix

package install

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// processesIn lists the processes whose command line speaks of a directory, as those of a browser do of its profile.
func processesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && strings.Contains(string(line), dir) {
			list = append(list, filepath.Dir(f))
		}
	}
	return list
}

// alone is a world without a browser, and where the profiles of its browsers lie.
func alone(t *testing.T) (w *testbed.World, profiles string) {
	t.Helper()
	e2etest.NeedBrowser(t)
	profiles = t.TempDir()
	t.Setenv("TMPDIR", profiles)
	w, err := testbed.New(e2etest.Binary())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if left := processesIn(t, profiles); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if left, _ := filepath.Glob(filepath.Join(profiles, "tidemark-browser-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return w, profiles
}

func agentOf(t *testing.T, w *testbed.World, args ...string) *testbed.Agent {
	t.Helper()
	a, err := w.Agent(args...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// openBrowsers are the connected browsers with their tabs' addresses.
func openBrowsers(t *testing.T, w *testbed.World) (list [][]string) {
	t.Helper()
	var s struct {
		Browsers []struct {
			Connected bool
			Tabs      []struct{ URL string }
		}
	}
	if err := json.Unmarshal([]byte(w.Run("status", "--json").Out), &s); err != nil {
		t.Fatal(err)
	}
	for _, b := range s.Browsers {
		if !b.Connected {
			continue
		}
		urls := []string{}
		for _, tab := range b.Tabs {
			urls = append(urls, tab.URL)
		}
		list = append(list, urls)
	}
	return list
}

const shop = `<!doctype html><title>Shop</title><link rel=icon href=data:,><h1>Shop</h1><button>Buy</button><script>console.error('from the first line')</script>`

func TestAnAgentWithoutABrowserOpensOne(t *testing.T) {
	w, profiles := alone(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": shop, "/kept": "<title>Kept</title><button>Stay</button>"})
	a := agentOf(t, w)
	defer func() { _ = a.Close() }()
	if _, err := a.Text("browser_snapshot", nil); err == nil || !strings.Contains(err.Error(), "browser_open") {
		t.Errorf("without a browser: %v", err)
	}
	text, err := a.Text("browser_open", map[string]any{"url": s.URL, "headless": true})
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Holds(t, text, "headless, fresh profile), tab ", `button "Buy" [e`, "[Page: Shop]")
	// What the page did from its first line on is seen, and the tab is the current one.
	text, err = a.Text("get_changes_since", map[string]any{"wait": "settled"})
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Holds(t, text, "from the first line")
	if text, err = a.Text("browser_snapshot", nil); err != nil || !strings.Contains(text, "nchanged") {
		t.Errorf("%s %v", text, err)
	}

	// The kept profile is another browser, and asked for again it is the same one. A page that is open is not opened again.
	tab := ""
	for _, path := range []string{"/kept", "/kept?", "/kept"} {
		if text, err = a.Text("browser_open", map[string]any{"url": s.URL + path, "headless": true, "profile": "kept"}); err != nil {
			t.Fatal(err)
		}
		if tab == "" {
			tab = tabOf(t, text)
		}
		e2etest.Holds(t, text, "kept profile), tab ", "[URL: "+s.URL+"/kept")
	}
	e2etest.Holds(t, text, "(already open, headless, kept profile), tab "+tab+"\n")
	open := openBrowsers(t, w)
	slices.SortFunc(open, func(a, b []string) int { return len(a) - len(b) }) // they are listed by names of chance
	if len(open) != 2 || len(open[0]) != 1 || len(open[1]) != 2 {
		t.Errorf("%q", open)
	}
	kept := filepath.Join(w.Home, "browser")
	if len(processesIn(t, kept)) == 0 || len(processesIn(t, profiles)) == 0 {
		t.Error("no browser runs")
	}
	// The daemon's end is theirs, at once.
	if r := w.Run("stop"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	if left := processesIn(t, w.Home+"/browser"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// TestABrowserIsOpenOnceItsPageHasRendered: also where that takes requests that come after loading.
func TestABrowserIsOpenOnceItsPageHasRendered(t *testing.T) {
	w, _ := alone(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Late</title><link rel=icon href=data:,><div id=app></div><script>
		addEventListener('load', () => setTimeout(async () => {
			const name = await (await fetch('/api/slow')).text()
			setTimeout(() => { document.getElementById('app').innerHTML = '<button>' + name + '</button>' }, 300)
		}))</script>`})
	s.Mux.HandleFunc("/api/slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(2500 * time.Millisecond): // longer than what settling waits for
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "Rendered")
	})
	a := agentOf(t, w)
	defer func() { _ = a.Close() }()
	text, err := a.Text("browser_open", map[string]any{"url": s.URL, "headless": true})
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Holds(t, text, `button "Rendered" [e`)
	e2etest.Lacks(t, text, "empty", "loading")
	// Another agent has its own browser.
	other := agentOf(t, w)
	defer func() { _ = other.Close() }()
	if text, err = other.Text("browser_open", map[string]any{"url": s.URL, "headless": true}); err != nil {
		t.Fatal(err)
	}
	tab := tabOf(t, text)
	e2etest.Holds(t, text, "(headless, fresh profile), tab "+tab+"\n")
	if text, err = other.Text("browser_open", map[string]any{"url": s.URL}); err != nil {
		t.Fatal(err)
	}
	e2etest.Holds(t, text, "(already open, headless, fresh profile), tab "+tab+"\n", "[Same page: Late]")
}

func TestABrowserWithoutAWindowGoesWithItsAgent(t *testing.T) {
	w, profiles := alone(t)
	if err := os.WriteFile(filepath.Join(w.Home, "config.toml"), []byte("[browser]\nkeep_minutes = 0.001\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := e2etest.NewSite(t, map[string]string{"/{$}": shop})
	one, two := agentOf(t, w), agentOf(t, w)
	defer func() { _ = two.Close() }()
	tab := ""
	for range 2 {
		text, err := one.Text("browser_open", map[string]any{"url": s.URL, "headless": true, "profile": "fresh"})
		if err != nil {
			t.Fatal(err)
		}
		tab = tabOf(t, text)
	}
	// The other agent uses one of them: that one is its own from then on.
	if _, err := two.Text("browser_snapshot", map[string]any{"tab": json.Number(tab)}); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		left, err := filepath.Glob(filepath.Join(profiles, "tidemark-browser-*.lock"))
		return len(left) == 1, err
	}); err != nil {
		t.Error(err)
	}
	if text, err := two.Text("browser_snapshot", map[string]any{"full_snapshot": true}); err != nil || !strings.Contains(text, "Buy") {
		t.Errorf("%s %v", text, err)
	}
}

func TestABrowserThatCannotBeOpenedIsSaid(t *testing.T) {
	w, _ := alone(t)
	t.Setenv("TIDEMARK_BROWSER", "/bin/false")
	a := agentOf(t, w, "--origin", "http://localhost:5173")
	defer func() { _ = a.Close() }()
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{nil, "cannot open a browser: cannot start /bin/false"},
		{map[string]any{"url": "file:///etc/passwd"}, "must be an http or https URL"},
		{map[string]any{"url": "http://127.0.0.1:1/"}, "this client sees only http://localhost:5173"},
		{map[string]any{"profile": "mine"}, "must be fresh or kept"},
		{map[string]any{"browser": "/bin/sh"}, `there is no browser "/bin/sh" here. Available: `},
	} {
		if _, err := a.Text("browser_open", c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}

// TestADaemonThatIsKilledLeavesNoBrowser: what it could not remove itself the next one does.
func TestADaemonThatIsKilledLeavesNoBrowser(t *testing.T) {
	w, profiles := alone(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": shop})
	a := agentOf(t, w)
	defer func() { _ = a.Close() }()
	if _, err := a.Text("browser_open", map[string]any{"url": s.URL, "headless": true}); err != nil {
		t.Fatal(err)
	}
	var st struct{ PID int }
	if err := json.Unmarshal([]byte(w.Run("status", "--json").Out), &st); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(st.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := testbed.Eventually(context.Background(), func() (bool, error) {
		if _, err := a.Text("checkpoint_list", nil); err != nil { // which starts the next daemon
			return false, err
		}
		left, err := filepath.Glob(filepath.Join(profiles, "tidemark-browser-*"))
		return len(left) == 0 && len(processesIn(t, profiles)) == 0, err
	}); err != nil {
		t.Errorf("%v: %v", err, processesIn(t, profiles))
	}
}

func TestWithSeveralBrowsersATabMustBeNamedOnce(t *testing.T) {
	w, _ := alone(t)
	s := e2etest.NewSite(t, map[string]string{"/one": "<title>One</title><button>First</button>", "/two": "<title>Two</title><button>Second</button>"})
	opener, other := agentOf(t, w), agentOf(t, w)
	defer func() { _ = opener.Close() }()
	defer func() { _ = other.Close() }()
	for _, page := range []string{"/one", "/two"} {
		if _, err := opener.Text("browser_open", map[string]any{"url": s.URL + page, "headless": true, "profile": "fresh"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := other.Text("browser_snapshot", nil)
	if err == nil {
		t.Fatal("one was picked")
	}
	// A browser's first tab may have taken a number before it showed the page.
	listed := regexp.MustCompile(`several browsers show watched pages: Chromium \S+ with tab (\d+) \(\Q` + s.URL + `/one\E\); Chromium \S+ #2 with tab \d+ \(\Q` + s.URL + `/two\E\)\. Pass the tab you mean`).FindStringSubmatch(err.Error())
	if listed == nil {
		t.Fatal(err)
	}
	one, _ := strconv.Atoi(listed[1])
	if text, err := other.Text("browser_tabs", nil); err != nil || !strings.Contains(text, `#2"`) {
		t.Errorf("%s %v", text, err)
	}
	for _, args := range []map[string]any{{"tab": one}, {"full_snapshot": true}} {
		if text, err := other.Text("browser_snapshot", args); err != nil || !strings.Contains(text, "First") {
			t.Errorf("%v: %s %v", args, text, err)
		}
	}
	// Who opened a browser means that one.
	if text, err := opener.Text("browser_snapshot", map[string]any{"full_snapshot": true}); err != nil || !strings.Contains(text, "Second") {
		t.Errorf("%s %v", text, err)
	}
}

// TestThePageOfAnAgentThatLeftIsUsedAgain: the next agent gets the tab that still shows it, also when no further browser may be
// opened, and the browser stays for it. For another page, a browser without its agent makes room.
func TestThePageOfAnAgentThatLeftIsUsedAgain(t *testing.T) {
	w, _ := alone(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": shop})
	one := agentOf(t, w)
	for i := range 4 {
		if _, err := one.Text("browser_open", map[string]any{"url": fmt.Sprintf("%s/?%d", s.URL, i), "headless": true, "profile": "fresh"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	two := agentOf(t, w)
	defer func() { _ = two.Close() }()
	if err := testbed.Eventually(t.Context(), func() (bool, error) { // the daemon notices that the first one has left
		text, err := two.Text("browser_open", map[string]any{"url": s.URL + "/?2"})
		return err == nil && strings.Contains(text, "already open, headless, fresh profile"), nil
	}); err != nil {
		t.Error(err)
	}
	if text, err := two.Text("browser_open", map[string]any{"url": s.URL + "/?new", "headless": true, "profile": "fresh"}); err != nil || !strings.Contains(text, "Buy") {
		t.Errorf("%s %v", text, err)
	}
	if text, err := two.Text("browser_open", map[string]any{"url": s.URL + "/?2"}); err != nil || !strings.Contains(text, "already open") {
		t.Errorf("its own browser made room: %s %v", text, err)
	}
}

// tabOf is the number of the tab that an answer of browser_open names. It is not the count of opened pages: a browser's first,
// empty page may have been numbered before.
func tabOf(t *testing.T, answer string) string {
	t.Helper()
	_, rest, ok := strings.Cut(answer, "), tab ")
	if !ok {
		t.Fatalf("no tab in %q", answer)
	}
	number, _, _ := strings.Cut(rest, "\n")
	return number
}

// TestABrowserWithoutTabsMakesRoom: a browser ends with its last tab, so that closed tabs are no limit. Another page of a site
// opens in the agent's browser that has the site open.
func TestABrowserWithoutTabsMakesRoom(t *testing.T) {
	w, _ := alone(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": shop})
	a := agentOf(t, w)
	defer func() { _ = a.Close() }()
	open := func(path string, args map[string]any) (string, error) {
		args["url"], args["headless"] = s.URL+path, true
		return a.Text("browser_open", args)
	}
	var tabs []string
	for i := range 4 {
		text, err := open(fmt.Sprintf("/?%d", i), map[string]any{"profile": "fresh"})
		if err != nil {
			t.Fatal(err)
		}
		tabs = append(tabs, tabOf(t, text))
	}
	if _, err := open("/?4", map[string]any{"profile": "fresh"}); err == nil || !strings.Contains(err.Error(), "4 of them are yours: use one of your tabs") {
		t.Errorf("at the limit: %v", err)
	}
	for _, tab := range tabs[:3] {
		if _, err := a.Text("browser_tabs", map[string]any{"action": "close", "tab": json.Number(tab)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return len(openBrowsers(t, w)) == 1, nil }); err != nil {
		t.Errorf("%v: %v", err, openBrowsers(t, w))
	}
	if text, err := open("/?other", map[string]any{}); err != nil || !strings.Contains(text, "(headless, fresh profile), tab ") {
		t.Errorf("%s %v", text, err)
	}
	if open := openBrowsers(t, w); len(open) != 1 || len(open[0]) != 2 {
		t.Errorf("another page of the site is not in its browser: %v", open)
	}
	if _, err := open("/?4", map[string]any{"profile": "fresh"}); err != nil {
		t.Error(err)
	}
}

// TestAPageWithHangingResourcesIsOpened: the answer has its buttons, although an image and a script never come.
func TestAPageWithHangingResourcesIsOpened(t *testing.T) {
	w, _ := alone(t)
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			<-ended
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>Hang</title><link rel=icon href=data:,><button>Go</button><img src=/image><script async src=/script></script>`)
	}))
	defer server.Close()
	defer close(ended)
	a := agentOf(t, w)
	defer func() { _ = a.Close() }()
	text, err := a.Text("browser_open", map[string]any{"url": server.URL, "headless": true})
	if err != nil || !strings.Contains(text, `"Go"`) || strings.Contains(text, "still loading") {
		t.Errorf("%s %v", text, err)
	}
}

// TestAPageThatCouldNotBeLoadedIsLoadedAgain: when its server has started, and the failure is not told of other pages.
func TestAPageThatCouldNotBeLoadedIsLoadedAgain(t *testing.T) {
	w, _ := alone(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	a := agentOf(t, w)
	defer func() { _ = a.Close() }()
	open := func(path string) string {
		t.Helper()
		text, err := a.Text("browser_open", map[string]any{"url": "http://" + address + path, "headless": true})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const failed = "net::ERR_CONNECTION_REFUSED"
	tab := ""
	for _, shape := range []string{"(headless, fresh profile), tab ", "(already open, headless, fresh profile), tab "} {
		text := open("/")
		if tab == "" {
			tab = tabOf(t, text)
		}
		e2etest.Holds(t, text, shape+tab+"\n", "cannot open http://"+address)
		if strings.Count(text, failed) != 1 {
			t.Errorf("the failure is not reported once:\n%s", text)
		}
	}
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, shop) })}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	text := open("/")
	e2etest.Holds(t, text, "(already open, headless, fresh profile), tab "+tab+"\n", `button "Buy" [e`)
	e2etest.Lacks(t, text, failed)
	text = open("/about")
	e2etest.Holds(t, text, "(headless, fresh profile), tab ", `button "Buy" [e`) // in a tab of its own
	e2etest.Lacks(t, text, failed, "tab "+tab+"\n")
}
