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
	"tidemark.dev/tidemark/host/internal/winname"
	"tidemark.dev/tidemark/protocol"
)

// NavigateParams are the arguments of browser_navigate.
type NavigateParams struct {
	URL string `json:"url"`
	Tab int    `json:"tab,omitempty"`
}

// loadTimeout is how long a page may take to load.
const loadTimeout = 15 * time.Second

var browserNavigateTool = tool.New(tool.Definition{
	Name: "browser_navigate", Title: "Go to a page", Effect: tool.Acts,
	Description: "Load an address.",
	Arguments: `
		"url":{"type":"string","description":"http(s), or back, forward, reload"},` + tabArgument,
	Required: []string{"url"},
}, (*Actor).Navigate)

// Navigate answers browser_navigate. It opens a tab if no tab is watched.
func (a *Actor) Navigate(ctx context.Context, client *checkpoint.Client, p NavigateParams) (*Answer, error) {
	to := strings.TrimSpace(p.URL)
	switch to {
	case "back", "forward", "reload":
	default:
		address, err := webAddress(to, ", or back, forward or reload")
		if err != nil {
			return nil, err
		}
		to = address
		if err := client.Scope.MayOpen(capture.OriginOf(to)); err != nil {
			return nil, err
		}
		if p.Tab == 0 && a.pages.DefaultTab(a.store.View(a.clock()), client) == 0 {
			return a.openTab(ctx, client, to)
		}
	}
	return a.act(ctx, client, action{tab: p.Tab, what: "go to " + to, settle: loadTimeout, steps: func(*references) ([]protocol.ActStep, error) {
		return []protocol.ActStep{{Op: protocol.StepNavigate, Texts: []string{to}}}, nil
	}})
}

// webAddress checks an http or https address. The error lists the alternatives in or.
func webAddress(to, or string) (string, error) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", usererr.Invalid("url is %q; it must be a full http or https address%s", to, or)
	}
	return u.String(), nil
}

// openTab opens a tab in the only connected browser and reports its page.
func (a *Actor) openTab(ctx context.Context, client *checkpoint.Client, to string) (*Answer, error) {
	id, result, err := a.newTab(ctx, client, to)
	if err != nil {
		return nil, err
	}
	done, err := a.opened(ctx, client, id, action{what: "go to " + to}, result)
	if err != nil {
		return nil, err
	}
	answer, err := a.addConsequences(ctx, client, done)
	if err != nil {
		return nil, err
	}
	answer.NewTab = true
	return answer, nil
}

// opened reads the page of a new tab.
func (a *Actor) opened(ctx context.Context, client *checkpoint.Client, id int, act action, result *protocol.ActResult) (*finished, error) {
	t := a.pages.Tab(id)
	t.Lock()
	defer t.Unlock()
	a.pages.Use(client, id)
	r := &references{tab: id, page: t.Page, seen: a.pages.SeenBy(t, client)}
	return a.finish(ctx, client, t, outcome{id: id, action: act, result: result, refs: r, began: a.clock().UnixMilli(), from: a.store.View(a.clock()).Start(), first: true})
}

// newTab opens a tab and returns when it is watched.
func (a *Actor) newTab(ctx context.Context, client *checkpoint.Client, to string) (int, *protocol.ActResult, error) {
	if a.hands == nil {
		return 0, nil, pages.NoBrowser()
	}
	var instances []string
	for _, b := range a.store.View(a.clock()).Browsers {
		if b.Connected {
			instances = append(instances, b.Instance)
		}
	}
	switch len(instances) {
	case 0:
		return 0, nil, pages.NoBrowser()
	case 1:
	default:
		return 0, nil, usererr.New(usererr.Ambiguous, "%d browsers are connected. Pass a tab of the one you mean; browser_tabs lists them.", len(instances))
	}
	ctx, release, err := a.take(ctx, client, 0, "open "+to)
	if err != nil {
		return 0, nil, err
	}
	defer release()
	result, err := a.do(ctx, 0, instances[0], 0, []protocol.ActStep{{Op: protocol.StepTab, Texts: []string{"new", to}}}, action{settle: loadTimeout}, nil, false)
	if err != nil {
		return 0, nil, err
	}
	if len(result.Opened) == 0 {
		return 0, nil, usererr.New(usererr.NoBrowser, "the browser opened no tab")
	}
	id, err := a.waitForOpened(ctx, instances[0], result.Opened[0])
	if err == nil {
		a.agents.setTab(client, id)
	}
	result.Opened = nil
	return id, result, err
}

var browserTabsTool = tool.New(tool.Definition{
	Name: "browser_tabs", Title: "Tabs", Effect: tool.Acts,
	Description: "List tabs, or open, show or close one.",
	Arguments:   `"action":{"type":"string","enum":["list","new","select","close"]},"tab":{"type":"integer"},"url":{"type":"string","description":"for new"}`,
}, (*Actor).BrowserTabs)

// BrowserTabs answers browser_tabs.
func (a *Actor) BrowserTabs(ctx context.Context, client *checkpoint.Client, p pages.TabsParams) (*pages.TabList, error) {
	switch p.Action {
	case "", "list":
	case "new", "select", "close":
		if err := a.actOnTabs(ctx, client, p); err != nil {
			return nil, err
		}
	default:
		return nil, usererr.Invalid("action is %q; it must be list, new, select or close", p.Action)
	}
	return a.pages.List(client), nil
}

// actOnTabs opens, shows or closes a tab: the one named, else the tab for calls without one.
func (a *Actor) actOnTabs(ctx context.Context, client *checkpoint.Client, p pages.TabsParams) error {
	if !slices.Contains(a.sets(client), tool.Act) {
		return usererr.New(usererr.SwitchedOff, "opening, showing and closing tabs needs the tool set act, which is off for this client")
	}
	if p.Action == "new" {
		to, err := webAddress(p.URL, "")
		if err != nil {
			return err
		}
		if err := client.Scope.MayOpen(capture.OriginOf(to)); err != nil {
			return err
		}
		id, _, err := a.newTab(ctx, client, to)
		if err != nil {
			return err
		}
		a.pages.Use(client, id)
		return a.pages.Left(client, id) // a redirect
	}
	id, err := a.pages.TabFor(client, p.Tab)
	if err != nil {
		return err
	}
	instance, browserTab, ok := a.store.BrowserTab(id)
	if !ok {
		return pages.Closed(id)
	}
	ctx, release, err := a.take(ctx, client, id, p.Action+" the tab")
	if err != nil {
		return err
	}
	defer release()
	result, err := a.do(ctx, id, instance, browserTab, []protocol.ActStep{{Op: protocol.StepTab, Texts: []string{p.Action}}}, action{}, nil, false)
	if err != nil {
		return err
	}
	if result.Dialog != nil {
		return usererr.New(usererr.ActionRefused, "tab %d is still open, because its page asks whether to leave it. Accept with browser_handle_dialog to close it.", id)
	}
	if p.Action == "select" {
		a.pages.Use(client, id)
		return nil
	}
	return a.waitUntilClosed(ctx, id)
}

// waitUntilClosed returns when a tab is no longer listed.
func (a *Actor) waitUntilClosed(ctx context.Context, id int) error {
	ctx, cancel := context.WithTimeout(ctx, pages.LoadPatience)
	defer cancel()
	for {
		changed := a.store.Changed()
		if _, _, open := a.store.BrowserTab(id); !open {
			return nil
		}
		select {
		case <-ctx.Done():
			return usererr.New(usererr.ActionRefused, "tab %d does not close. Its page may be asking whether to leave it.", id)
		case <-changed:
		}
	}
}

// waitForOpened waits until a new tab is watched and returns the host's id of it.
func (a *Actor) waitForOpened(ctx context.Context, instance string, browserTab int) (int, error) {
	watched := func(t *capture.Tab) bool { return t.Watched }
	if t := a.tabOnce(ctx, instance, browserTab, pages.LoadPatience, watched); t != nil && t.Watched {
		return t.ID, nil
	}
	return 0, usererr.New(usererr.NotWatched, "the new tab is not watched. The user can turn it on in Tidemark's popup.")
}

// openedPatience is how long a tab that a page opened may take until its address is known and it is watched.
const openedPatience = time.Second

// knownTab waits until a new tab is watched and its address known. After [openedPatience] it returns the tab as it is, or
// nil if it is unknown.
func (a *Actor) knownTab(ctx context.Context, instance string, browserTab int) *capture.Tab {
	return a.tabOnce(ctx, instance, browserTab, openedPatience, func(t *capture.Tab) bool {
		return t.Watched && t.URL != "" && t.URL != "about:blank"
	})
}

// tabOnce waits until a tab, given by the browser's own id, is ready. After patience it returns the tab as it is, or nil
// if it is unknown.
func (a *Actor) tabOnce(ctx context.Context, instance string, browserTab int, patience time.Duration, ready func(*capture.Tab) bool) *capture.Tab {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		changed := a.store.Changed()
		var found *capture.Tab
		if id := a.store.HostTab(instance, browserTab); id != 0 {
			v := a.store.View(a.clock())
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

// Limits of waiting.
const (
	waitTimeout = 10 * time.Second
	maxTextWait = 2 * time.Minute
	// lookAgain is the longest time between two reads of the page. A change that is noticed leads to an earlier one.
	lookAgain = 500 * time.Millisecond
	// minLook is the time that a read may take at least, even if the wait ends sooner.
	minLook = 500 * time.Millisecond
)

var browserWaitForTool = tool.New(tool.Definition{
	Name: "browser_wait_for", Title: "Wait", Effect: tool.Acts,
	Description: "Wait until text appears or disappears, an element is usable, or the page settles. Actions already wait for their effects.",
	Arguments: `
		"text":{"type":"string"},"text_gone":{"type":"string"},` + refArgument + `
		"settled":{"type":"boolean"},
		"timeout_ms":{"type":"integer","description":"default 10000"},` + tabArgument,
}, (*Actor).WaitFor)

// WaitFor answers browser_wait_for.
func (a *Actor) WaitFor(ctx context.Context, client *checkpoint.Client, p WaitParams) (*Answer, error) {
	timeout := waitTimeout
	if p.TimeoutMs != nil {
		timeout = time.Duration(*p.TimeoutMs) * time.Millisecond
	}
	if timeout < 0 || timeout > maxTextWait {
		return nil, usererr.Invalid("timeout_ms must be from 0 to %d", maxTextWait.Milliseconds())
	}
	if p.Text == "" && p.TextGone == "" && p.Ref == "" && !p.Settled {
		return nil, usererr.Invalid("pass what to wait for: text, text_gone, ref (until it is ready) or settled")
	}
	act := action{tab: p.Tab, what: "wait", readOnly: true, waits: p.conditions(), settle: timeout, timeout: timeout, steps: func(r *references) ([]protocol.ActStep, error) {
		if p.Ref == "" {
			return nil, nil
		}
		path, err := r.path(p.Ref)
		return []protocol.ActStep{{Op: protocol.StepReady, Path: path}}, err
	}}
	deadline := a.clock().Add(timeout)
	act.followUp = func(ctx context.Context, t *actingTab, result *protocol.ActResult) (*protocol.ActResult, error) {
		canContinue := func(err error) bool { return err == nil && result.Refused == "" && result.Dialog == nil }
		var err error
		if (p.Text != "" || p.TextGone != "") && canContinue(nil) {
			result, err = a.waitForText(ctx, client, t, p, timeout, deadline)
		}
		if p.Settled && canContinue(err) {
			result, err = a.waitUntilQuiet(ctx, client, t, deadline)
		}
		return result, err
	}
	return a.act(ctx, client, act)
}

// conditions says that what the call waits for is the case.
func (p *WaitParams) conditions() string {
	var met []string
	if p.Text != "" {
		met = append(met, fmt.Sprintf("%q is on the page.", p.Text))
	}
	if p.TextGone != "" {
		met = append(met, fmt.Sprintf("%q is not on the page.", p.TextGone))
	}
	if p.Ref != "" {
		met = append(met, "The element is ready.")
	}
	if p.Settled {
		met = append(met, "The page is settled.")
	}
	return strings.Join(met, " ")
}

// waitUntilQuiet waits until the tab has no request in flight and no new events.
func (a *Actor) waitUntilQuiet(ctx context.Context, client *checkpoint.Client, t *actingTab, deadline time.Time) (*protocol.ActResult, error) {
	o := a.rules.Of(client).Options(client.Scope)
	o.Tab, o.Origins = t.id, nil
	var outcome *observe.Settled
	var err error
	t.tab.Unlocked(func() { outcome, err = a.observer.UntilQuiet(ctx, o, max(deadline.Sub(a.clock()), 0)) })
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
	case result.Busy: // a page that hangs is quiet too
		result.Done, result.Refused, result.Text = 0, protocol.RefusedFailed, unresponsive
	case !outcome.OK:
		result.Done, result.Refused, result.Text = 0, protocol.RefusedFailed, unsettled
	}
	return result, err
}

// waitForText reads the page until it contains a text, or no longer does.
func (a *Actor) waitForText(ctx context.Context, client *checkpoint.Client, t *actingTab, p WaitParams, timeout time.Duration, deadline time.Time) (*protocol.ActResult, error) {
	for {
		tree, err := a.lookBy(ctx, t, deadline)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return &protocol.ActResult{Refused: protocol.RefusedFailed, Text: unresponsive, Busy: true}, nil
		}
		if err != nil {
			return nil, err
		}
		if a.pages.Outside(client, t.id, tree) != nil {
			return t.do(ctx, nil)
		}
		missing := p.Text != "" && !containsText(tree.Root, p.Text)
		there := p.TextGone != "" && containsText(tree.Root, p.TextGone)
		if !missing && !there {
			return t.do(ctx, []protocol.ActStep{{Op: protocol.StepRest}})
		}
		left := deadline.Sub(a.clock())
		if left <= 0 {
			text := fmt.Sprintf("after %d ms, %q is still on the page", timeout.Milliseconds(), p.TextGone)
			if missing {
				text = fmt.Sprintf("after %d ms, %q did not appear", timeout.Milliseconds(), p.Text)
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

// lookBy reads the page of a tab until a deadline, but for at least [minLook].
func (a *Actor) lookBy(ctx context.Context, t *actingTab, deadline time.Time) (*aria.Tree, error) {
	ctx, cancel := context.WithTimeout(ctx, max(deadline.Sub(a.clock()), minLook))
	defer cancel()
	return a.pages.Look(ctx, t.id, t.tab, false)
}

// containsText reports whether a page contains a text, ignoring case.
func containsText(root *aria.Node, text string) bool {
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
	// Ref names an element, which is `this` and `element` in the expression. The expression may be a function of it.
	Ref string `json:"ref,omitempty"`
	Tab int    `json:"tab,omitempty"`
}

// evaluateTimeout limits an agent's code.
const evaluateTimeout = 5 * time.Second

var browserEvaluateTool = tool.New(tool.Definition{
	Name: "browser_evaluate", Title: "Run code", Effect: tool.Acts,
	Description: "Evaluate JavaScript in the page. Off until the user allows it.",
	Arguments: `
		"expression":{"type":"string","description":"with ref: the element is this and element"},` + refArgument + tabArgument,
	Required: []string{"expression"},
}, (*Actor).Evaluate)

// Evaluate answers browser_evaluate. It bypasses redaction and is off unless the user turns it on.
func (a *Actor) Evaluate(ctx context.Context, client *checkpoint.Client, p PageEvaluateParams) (*Answer, error) {
	if !a.evaluate {
		return nil, usererr.New(usererr.SwitchedOff, "evaluating code is off, because it bypasses the masking of secrets. The user can set `evaluate = true` under [debugger] in %s and run `tidemark stop`.", a.configPath())
	}
	return a.act(ctx, client, action{tab: p.Tab, what: "evaluate code", timeout: evaluateTimeout, steps: func(r *references) ([]protocol.ActStep, error) {
		s := protocol.ActStep{Op: protocol.StepEvaluate, Texts: []string{p.Expression}}
		var err error
		if p.Ref != "" {
			s.Path, err = r.path(p.Ref)
		}
		return []protocol.ActStep{s}, err
	}})
}

func (a *Actor) configPath() string {
	if a.config == "" {
		return "config.toml"
	}
	return a.config
}

// ScreenshotParams are the arguments of browser_screenshot.
type ScreenshotParams struct {
	Ref      string `json:"ref,omitempty"`
	FullPage bool   `json:"full_page,omitempty"`
	Tab      int    `json:"tab,omitempty"`
}

var browserScreenshotTool = tool.New(tool.Definition{
	Name: "browser_screenshot", Title: "Screenshot", Effect: tool.Acts,
	Description: "Take a screenshot of the page or an element. For appearance only: browser_snapshot is cheaper.",
	Arguments: refArgument + `
		"full_page":{"type":"boolean"},` + tabArgument,
}, (*Actor).Screenshot)

// Screenshot answers browser_screenshot.
func (a *Actor) Screenshot(ctx context.Context, client *checkpoint.Client, p ScreenshotParams) (*Answer, error) {
	return a.act(ctx, client, action{tab: p.Tab, what: "take a screenshot", readOnly: true, blind: true, steps: func(r *references) ([]protocol.ActStep, error) {
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

var browserUploadFileTool = tool.New(tool.Definition{
	Name: "browser_upload_file", Title: "Upload files", Effect: tool.Acts,
	Description: "Upload files from the workspace through a file field, or a button that opens a file chooser.",
	Arguments: refArgument + `
		"paths":{"type":"array","items":{"type":"string"}},` + tabArgument,
	Required: []string{"ref", "paths"},
}, (*Actor).Upload)

// Upload answers browser_upload_file.
func (a *Actor) Upload(ctx context.Context, client *checkpoint.Client, p UploadParams) (*Answer, error) {
	if len(p.Paths) == 0 {
		return nil, usererr.Invalid("paths is empty; pass files of the workspace")
	}
	workspace := client.Scope.Workspace
	if workspace == "" {
		return nil, usererr.New(usererr.SwitchedOff, "files are uploaded only from a workspace, which this agent does not have. Start it with `tidemark mcp --workspace DIR`.")
	}
	var files []string
	for _, path := range p.Paths {
		file, err := inWorkspace(workspace, path)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return a.act(ctx, client, action{tab: p.Tab, what: fmt.Sprintf("upload %d file(s)", len(files)), steps: func(r *references) ([]protocol.ActStep, error) {
		path, err := r.path(p.Ref)
		return []protocol.ActStep{{Op: protocol.StepUpload, Path: path, Texts: files}}, err
	}})
}

// inWorkspace resolves the links of a path and returns an error if the file is outside the workspace.
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
		return "", usererr.Invalid("cannot read the workspace %s: %v", workspace, err)
	}
	within, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(within) {
		return "", usererr.New(usererr.SwitchedOff, "%s is outside the workspace %s. Only files inside it can be uploaded.", path, workspace)
	}
	if at, why := winname.Here(filepath.ToSlash(within)); at != "" {
		return "", usererr.Invalid("%s cannot be uploaded: %s", path, why)
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return "", usererr.Invalid("%s cannot be uploaded: it is not a regular file", path)
	}
	return real, nil
}
