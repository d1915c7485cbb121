package act

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// NavigateParams are the arguments of browser_navigate.
type NavigateParams struct {
	URL string `json:"url"`
	Tab int    `json:"tab,omitempty"`
}

// loadTimeout is how long a page may take to load.
const loadTimeout = 15 * time.Second

// Navigate answers browser_navigate. It opens a tab where none is watched.
func (e *Actor) Navigate(ctx context.Context, client *checkpoint.Client, p NavigateParams) (*Answer, error) {
	to := strings.TrimSpace(p.URL)
	switch to {
	case "back", "forward", "reload":
	default:
		address, err := webAddress(to, ", or back, forward or reload")
		if err != nil {
			return nil, err
		}
		to = address
		if p.Tab == 0 && e.pages.DefaultTab(e.store.View(e.clock()), client) == 0 {
			return e.openTab(ctx, client, to)
		}
	}
	return e.act(ctx, client, action{tab: p.Tab, what: "go to " + to, leaves: true, settle: loadTimeout, steps: func(*references) ([]protocol.ActStep, error) {
		return []protocol.ActStep{{Op: protocol.StepNavigate, Texts: []string{to}}}, nil
	}})
}

// webAddress checks an address to go to; or is what could have stood in its place.
func webAddress(to, or string) (string, error) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", usererr.Invalid("url is %q; it must be a whole http or https address%s", to, or)
	}
	return u.String(), nil
}

// openTab opens a tab in the only browser that is connected, and answers with its page.
func (e *Actor) openTab(ctx context.Context, client *checkpoint.Client, to string) (*Answer, error) {
	id, result, err := e.newTab(ctx, client, to)
	if err != nil {
		return nil, err
	}
	done, err := e.opened(ctx, client, id, action{what: "go to " + to}, result)
	if err != nil {
		return nil, err
	}
	answer, err := e.tellActed(ctx, client, done)
	if err != nil {
		return nil, err
	}
	answer.NewTab = true
	return answer, nil
}

// opened reads the page of a tab that was opened.
func (e *Actor) opened(ctx context.Context, client *checkpoint.Client, id int, a action, result *protocol.ActResult) (*finished, error) {
	t := e.pages.Tab(id)
	t.Lock()
	defer t.Unlock()
	e.pages.Use(client, id)
	r := &references{tab: id, page: t.Page, seen: e.pages.SeenBy(t, client)}
	return e.finish(ctx, client, t, outcome{id: id, action: a, result: result, refs: r, began: e.clock().UnixMilli(), from: e.store.View(e.clock()).Start(), first: true})
}

// newTab opens a tab, and returns when it is watched.
func (e *Actor) newTab(ctx context.Context, client *checkpoint.Client, to string) (int, *protocol.ActResult, error) {
	if e.hands == nil {
		return 0, nil, usererr.New(usererr.NoBrowser, "no browser is connected; open one with `tidemark browser`")
	}
	var instances []string
	for _, b := range e.store.View(e.clock()).Browsers {
		if b.Connected {
			instances = append(instances, b.Instance)
		}
	}
	switch len(instances) {
	case 0:
		return 0, nil, usererr.New(usererr.NoBrowser, "no browser is connected; open one with `tidemark browser`")
	case 1:
	default:
		return 0, nil, usererr.New(usererr.Ambiguous, "%d browsers are connected; name a tab of the one that is meant (browser_tabs lists them)", len(instances))
	}
	ctx, release, err := e.take(ctx, client, 0, "open "+to)
	if err != nil {
		return 0, nil, err
	}
	defer release()
	result, err := e.do(ctx, 0, instances[0], 0, []protocol.ActStep{{Op: protocol.StepTab, Texts: []string{"new", to}}}, action{settle: loadTimeout}, nil, false)
	if err != nil {
		return 0, nil, err
	}
	if len(result.Opened) == 0 {
		return 0, nil, usererr.New(usererr.NoBrowser, "the browser opened no tab")
	}
	id, err := e.waitForOpened(ctx, instances[0], result.Opened[0])
	result.Opened = nil
	return id, result, err
}

// BrowserTabs answers browser_tabs.
func (e *Actor) BrowserTabs(ctx context.Context, client *checkpoint.Client, p pages.TabsParams) (*pages.TabList, error) {
	switch p.Action {
	case "", "list":
	case "new", "select", "close":
		if err := e.actOnTabs(ctx, client, p); err != nil {
			return nil, err
		}
	default:
		return nil, usererr.Invalid("action is %q; it must be list, new, select or close", p.Action)
	}
	return e.pages.List(client), nil
}

// actOnTabs opens, shows or closes a tab: the one named, else the one that a call without one speaks of.
func (e *Actor) actOnTabs(ctx context.Context, client *checkpoint.Client, p pages.TabsParams) error {
	if !slices.Contains(e.sets(client), tool.Act) {
		return usererr.New(usererr.SwitchedOff, "opening, showing and closing tabs belongs to the tool set act, which is off for this session")
	}
	if p.Action == "new" {
		to, err := webAddress(p.URL, "")
		if err != nil {
			return err
		}
		id, _, err := e.newTab(ctx, client, to)
		if err == nil {
			e.pages.Use(client, id)
		}
		return err
	}
	id, err := e.pages.TabFor(client, p.Tab)
	if err != nil {
		return err
	}
	instance, theirs, ok := e.store.BrowserTab(id)
	if !ok {
		return usererr.New(usererr.TabClosed, "the tab %d has been closed", id)
	}
	ctx, release, err := e.take(ctx, client, id, p.Action+" the tab")
	if err != nil {
		return err
	}
	defer release()
	result, err := e.do(ctx, id, instance, theirs, []protocol.ActStep{{Op: protocol.StepTab, Texts: []string{p.Action}}}, action{}, nil, false)
	if err != nil {
		return err
	}
	if result.Dialog != nil {
		return usererr.New(usererr.ActionRefused, "tab %d is still open: its page asks whether to leave it; browser_handle_dialog with accept closes it", id)
	}
	if p.Action == "select" {
		e.pages.Use(client, id)
		return nil
	}
	return e.waitUntilClosed(ctx, id)
}

// waitUntilClosed returns when a tab is no longer listed.
func (e *Actor) waitUntilClosed(ctx context.Context, id int) error {
	ctx, cancel := context.WithTimeout(ctx, pages.LoadPatience)
	defer cancel()
	for {
		changed := e.store.Changed()
		if _, _, open := e.store.BrowserTab(id); !open {
			return nil
		}
		select {
		case <-ctx.Done():
			return usererr.New(usererr.ActionRefused, "tab %d does not close; its page may be asking whether to leave it", id)
		case <-changed:
		}
	}
}

// waitForOpened is the host's id of a tab that has just been opened, once it is watched.
func (e *Actor) waitForOpened(ctx context.Context, instance string, theirs int) (int, error) {
	watched := func(t *capture.Tab) bool { return t.Watched }
	if t := e.tabOnce(ctx, instance, theirs, pages.LoadPatience, watched); t != nil && t.Watched {
		return t.ID, nil
	}
	return 0, usererr.New(usererr.NotWatched, "the tab was opened, and is not watched; a person can switch it on in Tidemark's popup")
}

// openedPatience is how long a tab that a page has opened may take until it is known where it leads to, and it is
// watched, where it is to be.
const openedPatience = time.Second

// knownTab is a tab that has just been opened, once it can be looked at, or as far as it is known when that takes too
// long; then nil for one that is not known.
func (e *Actor) knownTab(ctx context.Context, instance string, theirs int) *capture.Tab {
	return e.tabOnce(ctx, instance, theirs, openedPatience, func(t *capture.Tab) bool {
		return t.Watched && t.URL != "" && t.URL != "about:blank"
	})
}

// tabOnce is a tab by the browser's own id once it is ready, or as it is when that takes too long; then nil for one
// that is not known.
func (e *Actor) tabOnce(ctx context.Context, instance string, theirs int, patience time.Duration, ready func(*capture.Tab) bool) *capture.Tab {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		changed := e.store.Changed()
		var found *capture.Tab
		if id := e.store.HostTab(instance, theirs); id != 0 {
			v := e.store.View(e.clock())
			if i := slices.IndexFunc(v.Tabs, func(t capture.Tab) bool { return t.ID == id }); i >= 0 {
				found = &v.Tabs[i]
			}
		}
		if found != nil && ready(found) {
			return found
		}
		select {
		case <-ctx.Done():
			return found
		case <-changed:
		}
	}
}

// WaitParams are the arguments of browser_wait_for.
type WaitParams struct {
	Text      string `json:"text,omitempty"`
	TextGone  string `json:"text_gone,omitempty"`
	Ref       string `json:"ref,omitempty"`
	Settled   bool   `json:"settled,omitempty"`
	TimeoutMs *int   `json:"timeout_ms,omitempty"`
	Tab       int    `json:"tab,omitempty"`
}

// Of waiting.
const (
	waitTimeout = 10 * time.Second
	maxTextWait = 2 * time.Minute
	// lookAgain is after how long a page is looked at again although no change of it was noticed.
	lookAgain = 500 * time.Millisecond
	// leastLook is how long a look may take, however soon the waiting is to be over.
	leastLook = 500 * time.Millisecond
)

// WaitFor answers browser_wait_for.
func (e *Actor) WaitFor(ctx context.Context, client *checkpoint.Client, p WaitParams) (*Answer, error) {
	timeout := waitTimeout
	if p.TimeoutMs != nil {
		timeout = time.Duration(*p.TimeoutMs) * time.Millisecond
	}
	if timeout < 0 || timeout > maxTextWait {
		return nil, usererr.Invalid("timeout_ms must be from 0 to %d", maxTextWait.Milliseconds())
	}
	if p.Text == "" && p.TextGone == "" && p.Ref == "" && !p.Settled {
		return nil, usererr.Invalid("say what to wait for: text, text_gone, ref (until it can be acted on) or settled")
	}
	a := action{tab: p.Tab, what: "wait", looks: true, waits: true, settle: timeout, timeout: timeout, steps: func(r *references) ([]protocol.ActStep, error) {
		if p.Ref == "" {
			return nil, nil
		}
		path, err := r.path(p.Ref)
		return []protocol.ActStep{{Op: protocol.StepReady, Path: path}}, err
	}}
	deadline := e.clock().Add(timeout)
	a.otherwise = func(ctx context.Context, t *actingTab, result *protocol.ActResult) (*protocol.ActResult, error) {
		goesOn := func(err error) bool { return err == nil && result.Refused == "" && result.Dialog == nil }
		var err error
		if (p.Text != "" || p.TextGone != "") && goesOn(nil) {
			result, err = e.waitForText(ctx, t, p, deadline)
		}
		if p.Settled && goesOn(err) {
			result, err = e.waitUntilQuiet(ctx, client, t, deadline)
		}
		return result, err
	}
	return e.act(ctx, client, a)
}

// waitUntilQuiet waits until the tab has no request in flight and nothing comes any more.
func (e *Actor) waitUntilQuiet(ctx context.Context, client *checkpoint.Client, t *actingTab, deadline time.Time) (*protocol.ActResult, error) {
	o := e.rules.Of(client).Options(client.Scope)
	o.Tab, o.Origins = t.id, nil
	var outcome *observe.Settled
	var err error
	t.tab.Unlocked(func() { outcome, err = e.observer.UntilQuiet(ctx, o, max(deadline.Sub(e.clock()), 0)) })
	if err != nil {
		return nil, err
	}
	unsettled := "the page did not settle: " + outcome.Because
	if !outcome.OK && !slices.Contains(outcome.NoDOM, t.id) {
		return &protocol.ActResult{Refused: protocol.RefusedFailed, Text: unsettled}, nil
	}
	result, err := t.do(ctx, []protocol.ActStep{{Op: protocol.StepRest}})
	switch {
	case err != nil || result.Refused != "" || result.Dialog != nil:
	case result.Busy: // nothing comes of a page that hangs either
		result.Done, result.Refused, result.Text = 0, protocol.RefusedFailed, unresponsive
	case !outcome.OK:
		result.Done, result.Refused, result.Text = 0, protocol.RefusedFailed, unsettled
	}
	return result, err
}

// waitForText looks at the page until it says something, or no more.
func (e *Actor) waitForText(ctx context.Context, t *actingTab, p WaitParams, deadline time.Time) (*protocol.ActResult, error) {
	for {
		tree, err := e.lookBy(ctx, t, deadline)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return &protocol.ActResult{Refused: protocol.RefusedFailed, Text: unresponsive, Busy: true}, nil
		}
		if err != nil {
			return nil, err
		}
		missing := p.Text != "" && !says(tree.Root, p.Text)
		there := p.TextGone != "" && says(tree.Root, p.TextGone)
		if !missing && !there {
			return t.do(ctx, []protocol.ActStep{{Op: protocol.StepRest}})
		}
		left := deadline.Sub(e.clock())
		if left <= 0 {
			text := fmt.Sprintf("%q is still there", p.TextGone)
			if missing {
				text = fmt.Sprintf("%q did not come", p.Text)
			}
			return &protocol.ActResult{Refused: protocol.RefusedFailed, Text: text}, nil
		}
		change := action{settle: min(left, lookAgain)}
		result, err := t.send(ctx, []protocol.ActStep{{Op: protocol.StepChange}}, change, nil, false)
		if err != nil || result.Refused != "" || result.Dialog != nil {
			return result, err
		}
	}
}

// lookBy looks at the page of a tab until a deadline, at least for as long as one look may take.
func (e *Actor) lookBy(ctx context.Context, t *actingTab, deadline time.Time) (*aria.Tree, error) {
	ctx, cancel := context.WithTimeout(ctx, max(deadline.Sub(e.clock()), leastLook))
	defer cancel()
	return e.pages.Look(ctx, t.id, t.tab, false)
}

// says tells whether a text stands somewhere on the page, in any case.
func says(root *aria.Node, text string) bool {
	text = strings.ToLower(text)
	found := false
	root.Walk(func(n *aria.Node) {
		found = found || strings.Contains(strings.ToLower(n.Name), text) || strings.Contains(strings.ToLower(n.Value), text) || strings.Contains(strings.ToLower(n.Description), text)
	})
	return found
}

// PageEvaluateParams are the arguments of browser_evaluate.
type PageEvaluateParams struct {
	Expression string `json:"expression"`
	// Ref names an element, which is `this` and `element` in the expression; the expression may be a function of it.
	Ref string `json:"ref,omitempty"`
	Tab int    `json:"tab,omitempty"`
}

// evaluateTimeout is how long an agent's code may take.
const evaluateTimeout = 5 * time.Second

// Evaluate answers browser_evaluate. It goes around redaction, and is off until a person turns it on.
func (e *Actor) Evaluate(ctx context.Context, client *checkpoint.Client, p PageEvaluateParams) (*Answer, error) {
	if !e.evaluate {
		return nil, usererr.New(usererr.SwitchedOff, "evaluating code is off, because it goes around the masking of secrets; a person can turn it on: `evaluate = true` under [debugger] in %s, then `tidemark stop`", e.configPath())
	}
	return e.act(ctx, client, action{tab: p.Tab, what: "evaluate code", timeout: evaluateTimeout, steps: func(r *references) ([]protocol.ActStep, error) {
		s := protocol.ActStep{Op: protocol.StepEvaluate, Texts: []string{p.Expression}}
		var err error
		if p.Ref != "" {
			s.Path, err = r.path(p.Ref)
		}
		return []protocol.ActStep{s}, err
	}})
}

func (e *Actor) configPath() string {
	if e.config == "" {
		return "config.toml"
	}
	return e.config
}

// ScreenshotParams are the arguments of browser_screenshot.
type ScreenshotParams struct {
	Ref      string `json:"ref,omitempty"`
	FullPage bool   `json:"full_page,omitempty"`
	Tab      int    `json:"tab,omitempty"`
}

// Screenshot answers browser_screenshot.
func (e *Actor) Screenshot(ctx context.Context, client *checkpoint.Client, p ScreenshotParams) (*Answer, error) {
	return e.act(ctx, client, action{tab: p.Tab, what: "take a picture", looks: true, blind: true, steps: func(r *references) ([]protocol.ActStep, error) {
		s := protocol.ActStep{Op: protocol.StepScreenshot, Full: p.FullPage}
		var err error
		if p.Ref != "" {
			s.Path, err = r.path(p.Ref)
		}
		return []protocol.ActStep{s}, err
	}})
}

// UploadParams are the arguments of browser_upload_file.
type UploadParams struct {
	Ref   string `json:"ref"`
	Paths Texts  `json:"paths"`
	Tab   int    `json:"tab,omitempty"`
}

// Upload answers browser_upload_file.
func (e *Actor) Upload(ctx context.Context, client *checkpoint.Client, p UploadParams) (*Answer, error) {
	if len(p.Paths) == 0 {
		return nil, usererr.Invalid("paths is empty; pass files of the workspace")
	}
	workspace := client.Workspace
	if workspace == "" {
		return nil, usererr.New(usererr.SwitchedOff, "files are uploaded only from a workspace, and this agent has none; start it with `tidemark mcp --workspace DIR`")
	}
	var files []string
	for _, path := range p.Paths {
		file, err := inWorkspace(workspace, path)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return e.act(ctx, client, action{tab: p.Tab, what: fmt.Sprintf("upload %d file(s)", len(files)), steps: func(r *references) ([]protocol.ActStep, error) {
		path, err := r.path(p.Ref)
		return []protocol.ActStep{{Op: protocol.StepUpload, Path: path, Texts: files}}, err
	}})
}

// inWorkspace is the real path of a file, which must lie in the workspace, whatever links lead to it.
func inWorkspace(workspace, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(workspace, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", usererr.Invalid("%s cannot be uploaded: %v", path, err)
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", usererr.Invalid("the workspace %s cannot be read: %v", workspace, err)
	}
	if within, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(within) {
		return "", usererr.New(usererr.SwitchedOff, "%s lies outside the workspace %s; only files inside it are uploaded", path, workspace)
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return "", usererr.Invalid("%s is no file", path)
	}
	return real, nil
}
