package testbed

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Session is an agent's task, scripted as its calls.
type Session struct {
	// Prompt is the user's request.
	Prompt string
	Page   string // a path of [SessionPages]
	Steps  []SessionStep
}

// SessionStep is one call.
type SessionStep struct {
	Tool string
	Args map[string]any
	// Find identifies the call's element by a part of its line in a listing. Its reference is taken from the answers
	// so far.
	Find string
	// Told must be in the answer, or in a look after it. The agent needs it to continue.
	Told string
	// Holds is an expression that must then be true in the page.
	Holds string
}

// SessionRun is the result of a session.
type SessionRun struct {
	// Told are all answers, in order.
	Told []string
	// Looks counts the extra looks that the agent needed because the answers were insufficient.
	Looks int
}

var sessionRef = regexp.MustCompile(`\[(e\d+)\]`)

// sessionAgent knows only what its answers contained.
type sessionAgent struct {
	*Agent
	full bool
	run  *SessionRun
}

func (a *sessionAgent) call(tool string, args map[string]any) (string, error) {
	text, err := a.Text(tool, args)
	if err != nil {
		return "", fmt.Errorf("%s %v: %w", tool, args, err)
	}
	a.run.Told = append(a.run.Told, text)
	return text, nil
}

// find returns an element's reference from the newest answer that contains it. With full snapshots, it searches back
// to the newest snapshot only.
func (a *sessionAgent) find(what string) string {
	for i := len(a.run.Told) - 1; i >= 0; i-- {
		for line := range strings.Lines(a.run.Told[i]) {
			if m := sessionRef.FindStringSubmatch(line); m != nil && strings.Contains(line, what) {
				return m[1]
			}
		}
		if a.full && strings.HasPrefix(a.run.Told[i], "[Page:") {
			break
		}
	}
	return ""
}

// look requests the page, in full when that is forced or requested.
func (a *sessionAgent) look(whole bool) (string, error) {
	return a.call("browser_snapshot", map[string]any{"full_snapshot": a.full || whole, "interactive_only": false})
}

// Run runs the session in a tab that shows its page. With full set, it takes a full snapshot after every call instead
// of using differences. The error names the step that failed.
func (s *Session) Run(agent *Agent, tab *Tab, full bool) (*SessionRun, error) {
	a := &sessionAgent{agent, full, &SessionRun{}}
	if _, err := a.look(false); err != nil {
		return a.run, err
	}
	for i, step := range s.Steps {
		if err := a.step(tab, step); err != nil {
			return a.run, fmt.Errorf("step %d (%s %s): %w", i+1, step.Tool, step.Find, err)
		}
	}
	return a.run, nil
}

func (a *sessionAgent) step(tab *Tab, step SessionStep) error {
	args := map[string]any{}
	for k, v := range step.Args {
		args[k] = v
	}
	if step.Find != "" {
		ref := a.find(step.Find)
		if ref == "" {
			a.run.Looks++
			if _, err := a.look(true); err != nil {
				return err
			}
			ref = a.find(step.Find)
		}
		if ref == "" {
			return errors.New("no answer contains that element")
		}
		args["ref"] = ref
	}
	told := ""
	if step.Tool != "browser_snapshot" {
		text, err := a.call(step.Tool, args)
		if err != nil {
			return err
		}
		told = text
	}
	if a.full || step.Tool == "browser_snapshot" {
		text, err := a.look(false)
		if err != nil {
			return err
		}
		told += text
	}
	if !strings.Contains(told, step.Told) {
		return fmt.Errorf("%q is missing from the answer: %.1500s", step.Told, told)
	}
	if step.Holds != "" {
		holds, err := tab.Number("Number(" + step.Holds + ")")
		if err != nil {
			return err
		}
		if holds != 1 {
			return fmt.Errorf("%s is not true", step.Holds)
		}
	}
	return nil
}

// Sessions returns the specification's three prompts. The long one handles orders, in three steps each.
func Sessions(orders int) []Session {
	long := Session{Prompt: "Long multi-step task that previously failed with token limit", Page: fmt.Sprintf("/orders?%d", orders)}
	for i := 1; i <= orders; i++ {
		long.Steps = append(
			long.Steps,
			SessionStep{Tool: "browser_type", Find: fmt.Sprintf(`textbox "Note for order %d"`, i), Args: map[string]any{"text": fmt.Sprintf("left at the door %d", i)}, Holds: fmt.Sprintf(`document.getElementById('note%d').value === 'left at the door %d'`, i, i)},
			SessionStep{Tool: "browser_click", Find: fmt.Sprintf(`checkbox "Paid %d"`, i), Told: "[checked]", Holds: fmt.Sprintf(`document.getElementById('paid%d').checked`, i)},
			SessionStep{Tool: "browser_click", Find: fmt.Sprintf(`button "Ship %d"`, i), Told: fmt.Sprintf("Order %d is on its way", i), Holds: fmt.Sprintf(`document.getElementById('ship%d').disabled`, i)},
		)
	}
	dynamic := Session{Prompt: "Go to a complex page with dynamic content, take multiple snapshots", Page: "/dashboard"}
	for i := 1; i <= 6; i++ {
		dynamic.Steps = append(
			dynamic.Steps,
			SessionStep{Tool: "browser_click", Find: `button "Refresh"`, Told: fmt.Sprintf("Reading %d", i)},
			SessionStep{Tool: "browser_snapshot"},
			SessionStep{Tool: "browser_click", Find: fmt.Sprintf(`button "Acknowledge %d"`, i), Told: fmt.Sprintf("Alarm %d acknowledged", i), Holds: fmt.Sprintf(`window.acknowledged === %d`, i)},
		)
	}
	return []Session{
		{
			Prompt: "Go to a login page, fill in the email field, then fill in the password field", Page: "/login",
			Steps: []SessionStep{
				{Tool: "browser_type", Find: `textbox "Email"`, Args: map[string]any{"text": "ada@example.com"}, Told: "ada@example.com", Holds: `document.getElementById('email').value === 'ada@example.com'`},
				{Tool: "browser_type", Find: `textbox "Password"`, Args: map[string]any{"text": "correct horse"}, Holds: `document.getElementById('password').value === 'correct horse'`},
				{Tool: "browser_click", Find: `button "Log in"`, Told: "Welcome, ada@example.com", Holds: `document.title === 'Welcome'`},
			},
		},
		dynamic,
		long,
	}
}

// SessionPages serves the pages of the sessions.
func SessionPages() http.Handler {
	mux := http.NewServeMux()
	page := func(title, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<!doctype html><html lang=en><title>%s</title><link rel=icon href=data:,>%s", title, body)
		}
	}
	mux.HandleFunc("/login", page("Log in", `<main><h1>Log in</h1><form id="form"><label>Email <input id="email" type="email" autocomplete="username"></label>
<label>Password <input id="password" type="password" autocomplete="current-password"></label><label><input type="checkbox"> Stay logged in</label><button>Log in</button></form>
<p><a href="/forgot">Forgot your password?</a></p></main><script>form.onsubmit = (e) => { e.preventDefault(); if (!password.value) return; const name = email.value; document.title = 'Welcome'; document.querySelector('main').innerHTML = '<h1></h1>'; document.querySelector('h1').textContent = 'Welcome, ' + name }</script>`))
	mux.HandleFunc("/dashboard", page("Plant", `<nav><ul id="nav"></ul></nav><main><h1>Plant</h1><button id="refresh">Refresh</button><p role="status" id="reading">No reading</p><ul id="alarms" aria-label="Alarms"></ul><table><thead><tr><th>Pump<th>Pressure<th>State</thead><tbody id="pumps"></tbody></table></main><script>
for (let i = 0; i < 60; i++) nav.insertAdjacentHTML('beforeend', '<li><a href="/unit/' + i + '">Unit ' + i + '</a></li>');
let n = 0; window.acknowledged = 0;
const draw = () => { pumps.innerHTML = Array.from({ length: 40 }, (_, i) => '<tr><td>Pump ' + i + '<td>' + (i === n % 40 ? 90 + n : 20 + i) + ' bar<td>' + (i === n % 40 ? 'high' : 'normal')).join('') };
refresh.onclick = () => { n++; draw(); reading.textContent = 'Reading ' + n; const li = document.createElement('li'); li.innerHTML = '<button></button>'; const b = li.firstChild, of = n; b.textContent = 'Acknowledge ' + of; b.onclick = () => { window.acknowledged = of; li.textContent = 'Alarm ' + of + ' acknowledged' }; alarms.prepend(li) };
draw()</script>`))
	mux.HandleFunc("/orders", func(w http.ResponseWriter, r *http.Request) {
		page("Orders", `<header><a href="/">Home</a></header><main id="main"></main><div role="status" id="said"></div><script>
const n = 3 * Number(location.search.slice(1));
for (let i = 1; i <= n; i++) { main.insertAdjacentHTML('beforeend', '<section><h2>Order ' + i + '</h2><p>Placed on day ' + i + ' by a customer of long standing</p><ul><li><a href="/orders/' + i + '">Details of order ' + i + '</a></li><li><a href="/orders/' + i + '/invoice">Invoice ' + i + '</a></li></ul><label>Note for order ' + i + ' <input id="note' + i + '"></label><label><input type="checkbox" id="paid' + i + '"> Paid ' + i + '</label><button id="ship' + i + '">Ship ' + i + '</button><button>Cancel ' + i + '</button></section>');
	const b = document.getElementById('ship' + i); b.onclick = () => { b.disabled = true; said.textContent = 'Order ' + i + ' is on its way' } }</script>`)(w, r)
	})
	return mux
}
