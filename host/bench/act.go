package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/testing/cases"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// What acting promises, of the TodoMVC task.
const (
	budgetTaskCalls   = 10
	budgetTask        = 750  // tokens; the last call's endpoints have their start, duration and initiator
	aboveBare         = 1.4  // times as long as a bare client
	budgetDefinitions = 2600 // tokens of the default sets
)

// actRounds is how often the task is done with Tidemark and with the bare client, in turn, in each application: a call
// that the machine held up is no figure.
const actRounds = 7

// act measures the acting tools beside the peers: one task on a TodoMVC in each framework.
func (r *run) act() (err error) {
	w, err := testbed.Start(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	built, err := os.MkdirTemp("", "tma")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(built)) }()
	if err := testbed.BuildApps("host/e2e/apps", built); err != nil {
		return err
	}
	peers, stopPeers, err := startPeers()
	if err != nil {
		return err
	}
	defer stopPeers()
	bare, err := startBareClient()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	b := &actBench{run: r, bare: bare, sheet: r.sheet("Acting: TodoMVC (add 5, tick 2, filter, then console and network)"), world: w, built: built, peers: peers, count: newCounter()}
	if err := b.definitions(); err != nil {
		return err
	}
	if err := b.steps(); err != nil {
		return err
	}
	for _, app := range testbed.Apps {
		if !strings.Contains(app, b.match) {
			continue
		}
		progress("act: %s …", app)
		if err := b.task(app); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", app, err), b.print())
		}
	}
	if times := pairwise(b.took, b.alone); len(b.took) > 0 {
		b.row("all tasks / a bare client", fmt.Sprintf("%.2f times", times), fmt.Sprintf("at most %s times", plain(aboveBare)), times <= aboveBare)
	}
	b.note("The peers look after each action, since their answers do not say what it caused. The bare client sends the same input,")
	b.note("waits for two frames without a change or an open request, and reads the accessibility tree once.")
	return b.print()
}

type actBench struct {
	*run
	*sheet
	world *testbed.World
	built string
	peers []*peer
	bare  *bareClient
	count counter
	// took and alone are how long each task took, with Tidemark and with the bare client just after it.
	took, alone []time.Duration
}

// definitions compares what the tools cost before the first call.
func (b *actBench) definitions() error {
	agent, err := b.world.Agent()
	if err != nil {
		return err
	}
	defer func() { _ = agent.Close() }()
	ours, err := definitionTokens(agent, b.count)
	if err != nil {
		return err
	}
	var said []string
	for _, p := range b.peers {
		theirs, err := definitionTokens(&testbed.Agent{ClientSession: p.session}, b.count)
		if err != nil {
			return err
		}
		said = append(said, fmt.Sprintf("%s %d", p.name, theirs))
	}
	b.row("definitions of the default sets", fmt.Sprintf("%d tokens (%s)", ours, strings.Join(said, ", ")), fmt.Sprintf("at most %d", budgetDefinitions), ours <= budgetDefinitions)
	return nil
}

// steps counts how many steps that break are told in the answer of the action that caused them, and in no other's.
func (b *actBench) steps() error {
	if b.match != "" {
		return nil
	}
	steps := cases.Steps()
	if b.quick {
		steps = steps[:len(steps)/3]
	}
	progress("act: %d steps that break …", len(steps))
	o, err := cases.RunSteps(b.world, steps)
	if err != nil {
		return err
	}
	b.row("broken steps told in their action's answer", fmt.Sprintf("%d of %d, %d in another's", o.Found, o.Steps, len(o.Wrong)), "all, 0", o.Found == o.Steps && len(o.Wrong) == 0)
	for _, problem := range append(o.Missed, o.Wrong...) {
		b.note(problem)
	}
	return nil
}

// agentRun is an agent at a task: what it was told, and what that cost. All that it knows of the page is told.
type agentRun struct {
	name   string
	call   func(tool string, args map[string]any) (string, error)
	count  counter
	told   []string
	calls  int
	tokens int
	took   time.Duration
	show   bool // print each call
}

func (a *agentRun) do(tool string, args map[string]any) (string, error) {
	began := time.Now()
	text, err := a.call(tool, args)
	took := time.Since(began)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", a.name, tool, err)
	}
	a.calls++
	a.took += took
	a.tokens += a.count.tokens(text)
	a.told = append(a.told, text)
	if a.show {
		fmt.Printf("%s: %s, %d tokens\n%s\n", tool, ms(took), a.count.tokens(text), text)
	}
	return text, nil
}

// reference is how each listing names an element: what stands before it, and the reference in the group.
var references = map[string]*regexp.Regexp{
	"tidemark":            regexp.MustCompile(`\[(e\d+)\]`),
	"@playwright/mcp":     regexp.MustCompile(`\[ref=(\w+)\]`),
	"chrome-devtools-mcp": regexp.MustCompile(`uid=(\S+)`),
}

// find is the reference of an element in what was told last of it, "" when nothing was.
func (a *agentRun) find(what string) string {
	for i := len(a.told) - 1; i >= 0; i-- {
		for line := range strings.Lines(a.told[i]) {
			if at := strings.Index(line, what); at >= 0 {
				if m := references[a.name].FindStringSubmatch(line); m != nil {
					return m[1]
				}
			}
		}
	}
	return ""
}

// ref is [agentRun.find], with another look when it was not told yet.
func (a *agentRun) ref(what, look string) (string, error) {
	if ref := a.find(what); ref != "" {
		return ref, nil
	}
	text, err := a.do(look, map[string]any{})
	if err != nil {
		return "", err
	}
	if ref := a.find(what); ref != "" {
		return ref, nil
	}
	return "", fmt.Errorf("%s: nothing says where %s is: %.2000s", a.name, what, text)
}

var tasks = []string{"Buy milk", "Call the plumber", "Book a table", "Water the plants", "Write to Ada"}

const (
	newTodo = `textbox "What needs to be done?"`
	firstOf = `checkbox "Buy milk"`
	thirdOf = `checkbox "Book a table"`
	active  = `link "Active"`
)

// withPeers are the applications that the peers do the task on too: they need the same calls in each.
var withPeers = []string{"react", "vue", "svelte"}

// task has everyone do the same task on one application.
func (b *actBench) task(app string) error {
	site := serveTodos(b.built) // an origin of its own: nobody hears of another application
	defer site.Close()
	var ours *agentRun
	rounds := actRounds
	if b.quick {
		rounds = 1
	}
	var took, bare []time.Duration
	for range rounds {
		var err error
		if ours, err = b.ours(site, app); err != nil {
			return err
		}
		alone, err := b.barely(site, app)
		if err != nil {
			return err
		}
		took, bare = append(took, ours.took), append(bare, alone)
	}
	b.took, b.alone = append(b.took, took...), append(b.alone, bare...)
	said, peers := []string{}, b.peers
	if !slices.Contains(withPeers, app) {
		peers = nil
	}
	for _, p := range peers {
		theirs, err := b.theirs(site, p, app)
		if err != nil {
			return err
		}
		said = append(said, fmt.Sprintf("%s: %d calls, %d tokens, %.0f ms a call", p.name, theirs.calls, theirs.tokens, perCall(theirs)))
	}
	b.row(app, fmt.Sprintf("%d calls, %d tokens, %.0f ms a call", ours.calls, ours.tokens, inMs(quantile(took, .5))/float64(ours.calls)),
		fmt.Sprintf("at most %d, %d", budgetTaskCalls, budgetTask), ours.calls <= budgetTaskCalls && ours.tokens <= budgetTask)
	times := pairwise(took, bare)
	b.row(app+" / a bare client", fmt.Sprintf("%.2f times (%s, %s)", times, ms(quantile(took, .5)), ms(quantile(bare, .5))), fmt.Sprintf("at most %s times", plain(aboveBare)), times <= aboveBare)
	if len(said) > 0 {
		b.note(app + ": " + strings.Join(said, "; "))
	}
	return nil
}

func perCall(a *agentRun) float64 { return inMs(a.took) / float64(a.calls) }

func inMs(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ours does the task with Tidemark, in a tab that is open.
func (b *actBench) ours(site *todoSite, app string) (_ *agentRun, err error) {
	agent, err := b.world.Agent("--origin", site.URL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	tab, err := b.world.Open(site.URL + "/blank")
	if err != nil {
		return nil, err
	}
	defer tab.Close()
	if err := testbed.Eventually(context.Background(), func() (bool, error) {
		list, err := agent.Text("browser_tabs", nil)
		return strings.Contains(list, `"current":true`), err
	}); err != nil {
		return nil, err
	}
	a := &agentRun{name: "tidemark", show: b.match != "", call: agent.Text, count: b.count}
	url := site.page(app)
	if _, err := a.do("browser_navigate", map[string]any{"url": url}); err != nil {
		return nil, err
	}
	field, err := a.ref(newTodo, "browser_snapshot")
	if err != nil {
		return nil, err
	}
	if _, err := a.do("browser_type", map[string]any{"ref": field, "text": tasks, "submit": true}); err != nil {
		return nil, err
	}
	for _, what := range []string{firstOf, thirdOf, active} {
		ref, err := a.ref(what, "browser_snapshot")
		if err != nil {
			return nil, err
		}
		if _, err := a.do("browser_click", map[string]any{"ref": ref}); err != nil {
			return nil, err
		}
	}
	last, err := a.do("get_changes_since", map[string]any{"include": []string{"console", "network"}})
	if err != nil {
		return nil, err
	}
	if !strings.Contains(last, `"severity":"clean"`) {
		return nil, fmt.Errorf("the page broke: %s", last)
	}
	return a, site.done(url)
}

// barely does it with the bare client, and returns what its calls took together.
func (b *actBench) barely(site *todoSite, app string) (sum time.Duration, err error) {
	if _, err := b.bare.do(bareOrder{Do: "open", URL: site.URL + "/blank"}); err != nil {
		return 0, err
	}
	url := site.page(app) + "?rests"
	orders := []bareOrder{{Do: "go", URL: url}, {Do: "type", Role: "textbox", Name: "What needs to be done?", Texts: tasks}}
	for _, what := range []string{firstOf, thirdOf, active} {
		role, name, _ := strings.Cut(what, ` "`)
		orders = append(orders, bareOrder{Do: "click", Role: role, Name: strings.TrimSuffix(name, `"`)})
	}
	for _, order := range orders {
		took, err := b.bare.do(order)
		if err != nil {
			return 0, err
		}
		if b.match != "" {
			fmt.Printf("the bare client, %s: %s\n", order.Do, ms(took))
		}
		sum += took
	}
	return sum, site.done(url)
}

// theirs does it with a peer.
func (b *actBench) theirs(site *todoSite, p *peer, app string) (*agentRun, error) {
	a := &agentRun{name: p.name, call: p.call, count: b.count}
	url := site.page(app)
	if _, err := a.do(p.navigate, map[string]any{"url": url}); err != nil {
		return nil, err
	}
	playwright := p.name == "@playwright/mcp"
	uid := "uid"
	if playwright {
		uid = "target"
	}
	// act does something, and looks when the answer does not show the page.
	act := func(tool string, args map[string]any) error {
		text, err := a.do(tool, args)
		if err == nil && !references[p.name].MatchString(text) {
			_, err = a.do(p.look, map[string]any{})
		}
		return err
	}
	for _, text := range tasks {
		field, err := a.ref(newTodo, p.look)
		if err != nil {
			return nil, err
		}
		if playwright {
			err = act("browser_type", map[string]any{"element": "new to-do", uid: field, "text": text, "submit": true})
		} else {
			if _, err = a.do("fill", map[string]any{uid: field, "value": text}); err == nil {
				err = act("press_key", map[string]any{"key": "Enter"})
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for _, what := range []string{firstOf, thirdOf, active} {
		ref, err := a.ref(what, p.look)
		if err != nil {
			return nil, err
		}
		if playwright {
			err = act("browser_click", map[string]any{"element": what, uid: ref})
		} else {
			err = act("click", map[string]any{uid: ref})
		}
		if err != nil {
			return nil, err
		}
	}
	last := []string{"list_console_messages", "list_network_requests"}
	if playwright {
		last = []string{"browser_console_messages", "browser_network_requests"}
	}
	for _, tool := range last {
		if _, err := a.do(tool, map[string]any{}); err != nil {
			return nil, err
		}
	}
	return a, site.done(url)
}

// todoSite serves the applications, and keeps what they save.
type todoSite struct {
	*httptest.Server
	mu    sync.Mutex
	pages int
	saved map[string]string // by the page
}

func serveTodos(built string) *todoSite {
	s := &todoSite{saved: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /blank", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>Blank</title>")
	})
	mux.HandleFunc("GET /todo/{app}/{run}", func(w http.ResponseWriter, r *http.Request) {
		first := ""
		if r.URL.RawQuery == "rests" {
			first = "<script>" + rests + "</script>"
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>TodoMVC: %[1]s</title><link rel="icon" href="data:,">%[2]s<div id="app"></div><script src="/todo-%[1]s.js"></script>`, r.PathValue("app"), first)
	})
	mux.HandleFunc("PUT /api/todos", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // its page has gone
		}
		s.mu.Lock()
		s.saved[r.Referer()] = string(body)
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(built, filepath.Base(r.PathValue("file"))))
	})
	s.Server = testbed.Serve(mux)
	return s
}

// page is an address of an application that nobody has been at.
func (s *todoSite) page(app string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages++
	return fmt.Sprintf("%s/todo/%s/%d", s.URL, app, s.pages)
}

// done says whether the page at an address was brought to where the task wants it.
func (s *todoSite) done(url string) error {
	const want = `[{"id":1,"title":"Buy milk","done":true},{"id":2,"title":"Call the plumber","done":false},{"id":3,"title":"Book a table","done":true},{"id":4,"title":"Water the plants","done":false},{"id":5,"title":"Write to Ada","done":false}]`
	err := testbed.Eventually(context.Background(), func() (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if got := s.saved[url]; got != want {
			return false, fmt.Errorf("the page has saved %q", got)
		}
		return true, nil
	})
	return err
}

// rests lets the bare client, whose pages alone have it, wait as Tidemark does: pageRests resolves after so many frames without a change or an open
// request.
const rests = `(() => {
	let changes = 0, open = 0;
	const observer = new MutationObserver(() => { changes++ }), all = { subtree: true, childList: true, attributes: true, characterData: true };
	observer.observe(document, all);
	const { attachShadow } = Element.prototype, { fetch } = window;
	Element.prototype.attachShadow = function (how) { const root = attachShadow.call(this, how); observer.observe(root, all); return root };
	window.fetch = (...args) => { open++; return fetch(...args).finally(() => { open--; changes++ }) };
	window.pageRests = async (frames) => {
		for (let still = 0, before = changes; still < frames; still = changes === before && open === 0 ? still + 1 : 0, before = changes) await new Promise(requestAnimationFrame);
	};
})()`
