package hunts

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is a connected server that shows pages to agents. Its name selects how an agent uses it: Tidemark, Playwright or
// DevTools.
type Tool struct {
	Name    string
	Session *mcp.ClientSession
	// Tab is the number of the tab, where a tool has such.
	Tab int
	// Heard is called, if not nil, with the text of each answer.
	Heard func(tool, text string)
}

// The names of tools.
const (
	Tidemark   = "tidemark"
	Playwright = "@playwright/mcp"
	DevTools   = "chrome-devtools-mcp"
)

// answer is what a call was answered.
type answer struct {
	tool   string
	text   string
	tokens int
	// refused is true when the answer is an error.
	refused bool
}

// agent uses a tool. All that it knows of a page is what it was told.
type agent struct {
	tool *Tool
	kind driver
	url  string // the application's
	// count counts tokens.
	count func(string) int
	told  []answer
	// refused is true when the step that shows the bug was answered with an error.
	refused bool
	// show, if it is set, gets each call with its answer.
	show func(format string, args ...any)
}

func newAgent(tool *Tool, url string, count func(string) int, show func(string, ...any)) *agent {
	return &agent{tool: tool, kind: drivers[tool.Name], url: url, count: count, show: show}
}

// call calls a tool. An answer that is an error is an answer.
func (a *agent) call(tool string, args map[string]any) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	r, err := a.tool.Session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", a.tool.Name, tool, err)
	}
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	got := answer{tool, b.String(), a.count(b.String()), r.IsError}
	a.told = append(a.told, got)
	if a.tool.Heard != nil {
		a.tool.Heard(tool, got.text)
	}
	a.show("%s %s %v: %d tokens, %s\n%s\n", a.tool.Name, tool, args, got.tokens, time.Since(began).Round(time.Millisecond), got.text)
	return got, nil
}

// must is [agent.call], where an answer that is an error ends the hunt.
func (a *agent) must(tool string, args map[string]any) (answer, error) {
	got, err := a.call(tool, args)
	if err == nil && got.refused {
		err = fmt.Errorf("%s %s: %s", a.tool.Name, tool, got.text)
	}
	return got, err
}

// find is the reference of an element in what was told last of it, "" when nothing was.
func (a *agent) find(what string) string {
	for i := len(a.told) - 1; i >= 0; i-- {
		for line := range strings.Lines(a.told[i].text) {
			if strings.Contains(line, what) {
				if m := a.kind.reference.FindStringSubmatch(line); m != nil {
					return m[1]
				}
			}
		}
	}
	return ""
}

// ref is [agent.find], with other looks while it was not told yet.
func (a *agent) ref(what string) (string, error) {
	for range looks {
		if ref := a.find(what); ref != "" {
			return ref, nil
		}
		if len(a.told) > 0 && a.told[len(a.told)-1].tool == a.kind.look {
			time.Sleep(thinks) // the page is not so far
		}
		if _, err := a.must(a.kind.look, map[string]any{}); err != nil {
			return "", err
		}
	}
	if ref := a.find(what); ref != "" {
		return ref, nil
	}
	return "", fmt.Errorf("%s does not show %s: %.1500s", a.tool.Name, what, a.told[len(a.told)-1].text)
}

// do does a step of a user. Its answer is that of the last call that acted.
func (a *agent) do(s *Step) (got answer, err error) {
	if s.Unless != "" {
		if _, err := a.must(a.kind.look, map[string]any{}); err != nil || a.find(s.Unless) != "" {
			return got, err
		}
	}
	switch {
	case s.Open != "":
		a.told = nil // references to elements of another page
		got, err = a.call(a.kind.open, map[string]any{"url": a.url + s.Open})
	case s.Click != "":
		got, err = a.click(s.Click)
	case len(s.Fill) > 0:
		got, err = a.kind.fill(a, s)
	case s.Seek != "":
		got, err = a.call(a.kind.seek(s.Seek))
	default:
		err = errors.New("a step does nothing")
	}
	if err != nil || s.Expect == "" || a.expects(s.Expect) {
		return got, err
	}
	// The page may not be so far, and not every answer shows the page.
	for range looks {
		if _, err := a.must(a.kind.look, map[string]any{}); err != nil || a.expects(s.Expect) {
			return got, err
		}
		time.Sleep(thinks)
	}
	return got, fmt.Errorf("%s was never told %q: %.3000s", a.tool.Name, s.Expect, a.told[len(a.told)-1].text)
}

// looks is how often an agent looks for what should be on the page.
const looks = 10

// expects says whether the last answer tells a text.
func (a *agent) expects(text string) bool {
	return strings.Contains(a.told[len(a.told)-1].text, text)
}

func (a *agent) click(what string) (answer, error) {
	ref, err := a.ref(what)
	if err != nil {
		return answer{}, err
	}
	return a.call(a.kind.clicks, map[string]any{a.kind.handle: ref})
}

// driver is how a tool is used.
type driver struct {
	reference          *regexp.Regexp // in a line that lists an element
	open, look, clicks string         // its tools
	handle             string         // its name for a reference
	fill               func(*agent, *Step) (answer, error)
	seek               func(text string) (tool string, args map[string]any)
	// requests lists the data requests of the page.
	requests func(a *agent) (tool string, args map[string]any)
	// follow is the fixed sequence. Its first call is a look at what happened.
	follow []follow
}

// follow is a call of the fixed sequence that an agent makes until it knows the cause. It is left out when it has
// nothing to call for.
type follow func(a *agent, b *Bug) (tool string, args map[string]any)

var drivers = map[string]driver{
	Tidemark: {
		reference: regexp.MustCompile(`\[(e\d+)\]`),
		open:      "browser_navigate", look: "browser_snapshot", clicks: "browser_click", handle: "ref",
		requests: func(a *agent) (string, map[string]any) {
			return "get_network_requests", map[string]any{"tab": a.tool.Tab}
		},
		seek: func(text string) (string, map[string]any) {
			return "browser_snapshot", map[string]any{"search": text}
		},
		fill: func(a *agent, s *Step) (answer, error) {
			var fields []map[string]any
			for _, f := range s.Fill {
				ref, err := a.ref(f.What)
				if err != nil {
					return answer{}, err
				}
				fields = append(fields, map[string]any{"ref": ref, "value": f.Value})
			}
			args := map[string]any{"fields": fields}
			if s.Submit != "" {
				ref, err := a.ref(s.Submit)
				if err != nil {
					return answer{}, err
				}
				args["submit"] = ref
			}
			return a.call("browser_fill_form", args)
		},
		follow: []follow{
			always("get_changes_since", map[string]any{"wait": "settled"}),
			always("get_network_requests", map[string]any{}),
			always("get_browser_logs", map[string]any{"level": "warning"}),
			always("get_network_bodies", map[string]any{"status_min": 400, "limit": 1}),
			always("browser_snapshot", map[string]any{}),
		},
	},
	Playwright: {
		reference: regexp.MustCompile(`\[ref=(\w+)\]`),
		open:      "browser_navigate", look: "browser_snapshot", clicks: "browser_click", handle: "target",
		requests: func(*agent) (string, map[string]any) {
			return "browser_network_requests", map[string]any{"static": false}
		},
		seek: func(text string) (string, map[string]any) {
			return "browser_find", map[string]any{"text": text}
		},
		fill: func(a *agent, s *Step) (answer, error) {
			var fields []map[string]any
			for _, f := range s.Fill {
				ref, err := a.ref(f.What)
				if err != nil {
					return answer{}, err
				}
				role, _, _ := strings.Cut(f.What, " ")
				fields = append(fields, map[string]any{"name": f.What, "type": role, "target": ref, "value": f.Value})
			}
			got, err := a.call("browser_fill_form", map[string]any{"fields": fields})
			if err == nil && s.Submit != "" {
				got, err = a.click(s.Submit)
			}
			return got, err
		},
		follow: []follow{
			always("browser_console_messages", map[string]any{"level": "warning"}),
			always("browser_network_requests", map[string]any{"static": false}),
			func(a *agent, _ *Bug) (string, map[string]any) {
				return "browser_network_request", withNumber("index", a.suspicious(`(?m)^\s*(\d+)\. .*\[(\d{3}|FAILED)`))
			},
			always("browser_snapshot", map[string]any{}),
		},
	},
	DevTools: {
		reference: regexp.MustCompile(`uid=(\S+)`),
		open:      "navigate_page", look: "take_snapshot", clicks: "click", handle: "uid",
		requests: func(*agent) (string, map[string]any) {
			return "list_network_requests", map[string]any{"resourceTypes": []string{"fetch", "xhr", "websocket"}}
		},
		seek: func(_ string) (string, map[string]any) {
			return "take_snapshot", map[string]any{}
		},
		fill: func(a *agent, s *Step) (answer, error) {
			var fields []map[string]any
			for _, f := range s.Fill {
				ref, err := a.ref(f.What)
				if err != nil {
					return answer{}, err
				}
				if strings.HasPrefix(f.What, "slider") { // frameworks do not notice that fill_form moved it
					return a.call("evaluate_script", map[string]any{"function": fmt.Sprintf(slide, f.Value), "args": []string{ref}})
				}
				fields = append(fields, map[string]any{"uid": ref, "value": f.Value})
			}
			got, err := a.call("fill_form", map[string]any{"elements": fields})
			if err == nil && s.Submit != "" {
				got, err = a.click(s.Submit)
			}
			return got, err
		},
		follow: []follow{
			always("list_console_messages", map[string]any{"types": []string{"error", "warn"}}),
			func(a *agent, _ *Bug) (string, map[string]any) {
				return "get_console_message", withNumber("msgid", a.suspicious(`(?m)^msgid=(\d+) \[(error|warn)`))
			},
			always("list_network_requests", map[string]any{"resourceTypes": []string{"fetch", "xhr", "websocket"}}),
			func(a *agent, _ *Bug) (string, map[string]any) {
				return "get_network_request", withNumber("reqid", a.suspicious(`(?m)^reqid=(\d+) .*\[(\d{3}|failed)`))
			},
			always("take_snapshot", map[string]any{}),
			func(a *agent, b *Bug) (string, map[string]any) {
				if !a.refused {
					return "", nil // only what cannot be used is a matter of styles
				}
				return "get_css_styles", map[string]any{"uid": a.find(b.Trigger.Click)}
			},
		},
	},
}

// slide moves a slider as a user would.
const slide = `(slider) => {
	Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(slider, %q);
	slider.dispatchEvent(new Event('input', { bubbles: true }));
}`

// always is a call that is made in each hunt.
func always(tool string, args map[string]any) follow {
	return func(*agent, *Bug) (string, map[string]any) { return tool, args }
}

// suspicious is the number of the entry of the last answer that an agent would look into: the first that failed, else
// the last. The expression matches an entry's number and its status.
func (a *agent) suspicious(entry string) string {
	last := ""
	for _, m := range regexp.MustCompile(entry).FindAllStringSubmatch(a.told[len(a.told)-1].text, -1) {
		if last = m[1]; m[2][0] < '1' || m[2][0] > '3' {
			return last
		}
	}
	return last
}

// withNumber are the arguments of a call that needs a number. There is no call without one.
func withNumber(name, number string) map[string]any {
	n := 0
	if _, err := fmt.Sscan(number, &n); err != nil {
		return nil
	}
	return map[string]any{name: n}
}
