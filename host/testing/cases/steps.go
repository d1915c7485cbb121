package cases

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// Step is an action that breaks the page: the script of its button, and the text that an answer must contain. In
// both, # stands for the step's number, which makes each step unique.
type Step struct {
	Script, Told string
	// Late steps break after their answer, and belong in the next one.
	Late bool
}

// Steps returns the ways in which a step breaks.
func Steps() []Step {
	var steps []Step
	add := func(told string, scripts ...string) {
		for _, s := range scripts {
			steps = append(steps, Step{Script: s, Told: told})
		}
	}
	for _, status := range []int{400, 401, 403, 404, 409, 418, 422, 429, 500, 501, 502, 503, 504} {
		add(fmt.Sprintf("GET /api/#/%d %d", status, status), fmt.Sprintf(`fetch('/api/#/%d')`, status))
	}
	add("POST /api/#/500 500", `fetch('/api/#/500', {method: 'POST', body: '{}'})`)
	add("DELETE /api/#/404 404", `fetch('/api/#/404', {method: 'DELETE'})`)
	add("GET /api/#/500 500",
		`const x = new XMLHttpRequest(); x.open('GET', '/api/#/500'); x.send()`,
		`Promise.resolve().then(() => fetch('/api/#/500'))`,
		`setTimeout(() => fetch('/api/#/500'), 0)`,
		`requestAnimationFrame(() => fetch('/api/#/500'))`,
		`fetch('/api/#/200').then(() => fetch('/api/#/500'))`,
		`fetch('/slow/#/200').then(() => fetch('/api/#/500'))`)
	add("GET /slow/#/503 503", `fetch('/slow/#/503')`)
	add("GET /cut/#", `fetch('/cut/#').catch(() => 0)`)
	add("boom #",
		`throw new Error('boom #')`, `throw new TypeError('boom #')`, `Promise.reject(new Error('boom #'))`,
		`(async () => { throw new Error('boom #') })()`, `setTimeout(() => { throw new Error('boom #') }, 0)`,
		`requestAnimationFrame(() => { throw new Error('boom #') })`,
		`requestAnimationFrame(() => requestAnimationFrame(() => { throw new Error('boom #') }))`,
		`requestAnimationFrame(() => setTimeout(() => { throw new Error('boom #') }, 0))`,
		`queueMicrotask(() => { throw new Error('boom #') })`,
		`fetch('/api/#/200').then(() => { throw new Error('boom #') })`, `fetch('/slow/#/200').then(() => { throw new Error('boom #') })`,
		`console.error('boom #')`, `console.error(new Error('boom #'))`, `console.warn('boom #')`, `console.assert(false, 'boom #')`,
		`reportError(new Error('boom #'))`, `dispatchEvent(new ErrorEvent('error', {message: 'boom #'})); console.error('boom', '#')`)
	add("banner #",
		`say('<div role="alert">Error: banner #</div>')`, `say('<p class="error">banner #</p>')`, `say('<div class="toast toast-error">banner #</div>')`,
		`say('<div class="alert alert-danger">banner #</div>')`, `fetch('/api/#/200').then(() => say('<div role="alert">Error: banner #</div>'))`,
		`requestAnimationFrame(() => say('<div class="error-message">banner #</div>'))`)
	for _, s := range []Step{
		{Told: "boom #", Script: `late(() => { throw new Error('boom #') })`},
		{Told: "GET /api/#/500 500", Script: `late(() => fetch('/api/#/500'))`},
		{Told: "banner #", Script: `late(() => say('<div role="alert">Error: banner #</div>'))`},
		{Told: "boom #", Script: `late(() => console.error('boom #'))`},
		{Told: "boom #", Script: `late(() => Promise.reject(new Error('boom #')))`},
		{Told: "boom #", Script: `late(() => fetch('/api/#/200').then(() => { throw new Error('boom #') }))`},
	} {
		s.Late = true
		steps = append(steps, s)
	}
	return steps
}

// StepsOutcome is what the answers reported of [Steps].
type StepsOutcome struct {
	Steps, Found int
	// Missed are the steps that were not reported in their answer. Wrong are those reported in another's. Each
	// includes the answer.
	Missed, Wrong []string
}

const stepsPage = `<!doctype html><title>Steps</title><link rel=icon href=data:,><main id="main"><div id="said"></div><button>Nothing</button></main><script>
window.say = (html) => said.innerHTML = html;
window.fired = window.asked = 0;
window.late = (f) => setTimeout(() => { fired++; f() }, 700);
const { fetch: ask } = window, dealtWith = () => setTimeout(() => asked--); // by then the caller has the answer
window.fetch = (...what) => { asked++; const answer = ask(...what); answer.then(dealtWith, dealtWith); return answer };
const step = (n, f) => { const b = document.createElement('button'); b.textContent = 'Step ' + n; b.onclick = f; main.append(b) };
`

// stepNumber returns the number of the i-th step.
func stepNumber(i int) string { return strconv.Itoa(1000 + i) }

// RunSteps makes an agent click through steps on one page, and reads each answer.
func RunSteps(w *testbed.World, steps []Step) (o *StepsOutcome, err error) {
	var page strings.Builder
	page.WriteString(stepsPage)
	for i, s := range steps {
		fmt.Fprintf(&page, "step(%s, () => { %s });\n", stepNumber(i), strings.ReplaceAll(s.Script, "#", stepNumber(i)))
	}
	site := testbed.Serve(stepsAPI(page.String() + "</script>"))
	defer site.Close()
	agent, err := w.Program("--origin", site.URL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	tab, err := w.Open(site.URL)
	if err != nil {
		return nil, err
	}
	defer tab.Close()
	first, err := agent.Text("browser_snapshot", nil)
	if err != nil {
		return nil, err
	}
	click := func(button string) (answer *act.Answer, text string, err error) {
		m := regexp.MustCompile(`"` + button + `" \[(e\d+)\]`).FindStringSubmatch(first)
		if m == nil {
			return nil, "", fmt.Errorf("the page has no button %q: %s", button, first)
		}
		answer = &act.Answer{}
		text, err = agent.Data("browser_click", map[string]any{"ref": m[1]}, answer)
		switch {
		case errors.Is(err, testbed.ErrTextOnly): // an older program: any line may be about what broke, at once or late
			for line := range strings.Lines(text) {
				answer.Broke = append(answer.Broke, diff.Consequence{Text: strings.TrimSpace(line)})
			}
			answer.Late, err = &act.Late{Broke: answer.Broke}, nil
		case err == nil && answer.Refused != nil:
			err = errors.New(text)
		}
		return answer, text, err
	}
	if _, _, err := click("Nothing"); err != nil { // takes up what loading the page did
		return nil, err
	}
	o = &StepsOutcome{Steps: len(steps)}
	answers := make([]string, len(steps)) // what they report as broken, at once or late
	fired := 0
	for i, s := range steps {
		told := strings.ReplaceAll(s.Told, "#", stepNumber(i))
		answer, text, err := click("Step " + stepNumber(i))
		if err != nil {
			return nil, err
		}
		broke, before := broken(answer)
		answers[i] = broke + before
		if s.Late {
			fired++
			if err := tab.JS(fmt.Sprintf(`while (window.fired < %d || window.asked > 0) await new Promise(requestAnimationFrame)`, fired)); err != nil {
				return nil, err
			}
			next, _, err := click("Nothing")
			if err != nil {
				return nil, err
			}
			atOnce, late := broken(next)
			answers[i] += atOnce + late
			if strings.Contains(text, told) {
				late = "" // it was reported as if it were on time
			}
			broke = late
		}
		if strings.Contains(broke, told) {
			o.Found++
		} else {
			o.Missed = append(o.Missed, fmt.Sprintf("step %s (%s): %s", stepNumber(i), s.Script, answers[i]))
		}
	}
	for i, answer := range answers {
		for l := range strings.Lines(answer) {
			for j := range steps {
				if i != j && strings.Contains(l, stepNumber(j)) {
					o.Wrong = append(o.Wrong, fmt.Sprintf("step %s is in the answer of step %s: %s", stepNumber(j), stepNumber(i), answer))
				}
			}
		}
	}
	return o, nil
}

// broken returns the lines of an answer about what its action broke, and about what broke before it.
func broken(a *act.Answer) (atOnce, late string) {
	if a.Late != nil {
		late = texts(slices.Concat(a.Late.Broke, a.Late.Repeated))
	}
	return texts(slices.Concat(a.Broke, a.Repeated)), late
}

// texts returns the lines of what broke.
func texts(list []diff.Consequence) string {
	var b strings.Builder
	for _, c := range list {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

// stepsAPI serves a page and the requests of its steps, with any status, at once, slowly, or cut off.
func stepsAPI(page string) http.Handler {
	mux := http.NewServeMux()
	reply := func(wait time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(wait) // the response time that the page sees
			status, _ := strconv.Atoi(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
			w.WriteHeader(status)
		}
	}
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page)
	})
	mux.HandleFunc("/api/", reply(0))
	mux.HandleFunc("/slow/", reply(200*time.Millisecond))
	mux.HandleFunc("/cut/", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	return mux
}
