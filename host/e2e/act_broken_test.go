package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// brokenStep is a step that breaks: what the page runs when its button is clicked, and what has to stand in
// an answer. Late ones begin after the step's answer, and stand in the next one.
type brokenStep struct {
	script, told string
	late         bool
}

// brokeLine is a line of an answer that tells of something broken.
var brokeLine = regexp.MustCompile(`^- (error|warning|[A-Z]+ /)`)

// brokenSteps are 50 ways in which a step breaks; # is the step's number, so that each can be told from all
// others.
func brokenSteps() []brokenStep {
	var steps []brokenStep
	add := func(told string, scripts ...string) {
		for _, s := range scripts {
			steps = append(steps, brokenStep{script: s, told: told})
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
		`requestAnimationFrame(() => { throw new Error('boom #') })`, `queueMicrotask(() => { throw new Error('boom #') })`,
		`fetch('/api/#/200').then(() => { throw new Error('boom #') })`, `fetch('/slow/#/200').then(() => { throw new Error('boom #') })`,
		`console.error('boom #')`, `console.error(new Error('boom #'))`, `console.warn('boom #')`, `console.assert(false, 'boom #')`,
		`reportError(new Error('boom #'))`, `dispatchEvent(new ErrorEvent('error', {message: 'boom #'})); console.error('boom', '#')`)
	add("banner #",
		`say('<div role="alert">Error: banner #</div>')`, `say('<p class="error">banner #</p>')`, `say('<div class="toast toast-error">banner #</div>')`,
		`say('<div class="alert alert-danger">banner #</div>')`, `fetch('/api/#/200').then(() => say('<div role="alert">Error: banner #</div>'))`,
		`requestAnimationFrame(() => say('<div class="error-message">banner #</div>'))`)
	for script, told := range map[string]string{
		`late(() => { throw new Error('boom #') })`:                                 "boom #",
		`late(() => fetch('/api/#/500'))`:                                           "GET /api/#/500 500",
		`late(() => say('<div role="alert">Error: banner #</div>'))`:                "banner #",
		`late(() => console.error('boom #'))`:                                       "boom #",
		`late(() => Promise.reject(new Error('boom #')))`:                           "boom #",
		`late(() => fetch('/api/#/200').then(() => { throw new Error('boom #') }))`: "boom #",
	} {
		steps = append(steps, brokenStep{script, told, true})
	}
	return steps
}

// TestABrokenStepIsInTheAnswerOfTheActionThatCausedIt, and in no other's.
func TestABrokenStepIsInTheAnswerOfTheActionThatCausedIt(t *testing.T) {
	w := shared.get(t)
	steps := brokenSteps()
	var body strings.Builder
	body.WriteString(`<div id="said"></div><button>Nothing</button><script>window.say = (html) => said.innerHTML = html; window.fired = 0; window.late = (f) => setTimeout(() => { fired++; f() }, 700); const step = (n, f) => { const b = document.createElement('button'); b.textContent = 'Step ' + n; b.onclick = f; document.getElementById('main').append(b) };` + "\n")
	for i, s := range steps {
		n := strconv.Itoa(1000 + i)
		script := strings.ReplaceAll(s.script, "#", n)
		fmt.Fprintf(&body, "step(%s, () => { %s });\n", n, script)
	}
	s := newSite(t, map[string]string{"/{$}": store("Broken", body.String()+"</script>")})
	reply := func(wait time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(wait) // what the page waits for
			status, _ := strconv.Atoi(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
			w.WriteHeader(status)
		}
	}
	s.mux.HandleFunc("/api/", reply(0))
	s.mux.HandleFunc("/slow/", reply(200*time.Millisecond))
	s.mux.HandleFunc("/cut/", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	idle := refOf(t, first, `"Nothing"`)
	a.do("browser_click", map[string]any{"ref": idle}) // what loading the page did is nobody's step
	found := 0
	answers := make([]string, len(steps))
	fired := 0
	for i, step := range steps {
		n := strconv.Itoa(1000 + i)
		answer := a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Step `+n+`"`)})
		told := strings.ReplaceAll(step.told, "#", n)
		if step.late {
			if strings.Contains(answer, told) {
				t.Errorf("step %s (%s) was to be late: %s", n, step.script, answer)
			}
			fired++
			p.js(fmt.Sprintf(`while (window.fired < %d) await new Promise((r) => setTimeout(r, 20)); await new Promise((r) => setTimeout(r, 200))`, fired))
			next := a.do("browser_click", map[string]any{"ref": idle})
			_, after, isLate := strings.Cut(next, "Late")
			answer += "\n" + after
			if !isLate {
				t.Errorf("step %s (%s) is not in the next answer as late:\n%s", n, step.script, next)
			}
		}
		answers[i] = answer
		broke, _, _ := strings.Cut(answer, "Nothing broke.")
		if strings.Contains(answer, told) && (step.late || strings.Contains(broke, told)) {
			found++
		} else {
			t.Errorf("step %s (%s) is not in its answer:\n%s", n, step.script, answer)
		}
	}
	for i, answer := range answers {
		for l := range strings.Lines(answer) {
			if !brokeLine.MatchString(l) {
				continue
			}
			for j := range steps {
				if i != j && strings.Contains(l, strconv.Itoa(1000+j)) {
					t.Errorf("step %d is in the answer of step %d:\n%s", 1000+j, 1000+i, answer)
				}
			}
		}
	}
	t.Logf("%d of %d broken steps are in the answer of the action that caused them", found, len(steps))
}
