// Package cases contains pages that break and pages that do not. End-to-end tests assert them one by one, and the
// signal-to-noise benchmark counts them.
//
// It guarantees:
//
//   - Each case stands alone, with its own origin.
//   - A client looks once while all is well, and twice after the event.
//   - Traffic goes to loopback only.
package cases

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// Case is one event on a page, with its expected report.
type Case struct {
	Name string
	// Page is HTML at /. Script runs in it after the first look. It may use OTHER, another site's origin, and
	// REFUSED, a port without a listener.
	Page, Script string
	// Reload loads the page again instead, with Broken appended.
	Reload bool
	Broken string
	// Serve adds routes.
	Serve func(*http.ServeMux)
	// Blocked are addresses that the browser refuses to request, as with ad blockers.
	Blocked []string
	// Want are parts that the answer's JSON must contain, Wrong parts that it must not.
	Want, Wrong []string
	Severity    report.Severity
	// Stands says that what is reported stays on the page, so that the next answer repeats it.
	Stands bool
	// Leaves says that the page is left, so that its origin is no longer observed.
	Leaves bool
	// Quiet replaces Want, and QuietSeverity replaces Severity, where quiet capture reports the event in other words.
	Quiet         []string
	QuietSeverity report.Severity
	// QuietUntold says why quiet capture does not report the event. The benchmark counts it as missed. A test fails
	// when it is reported after all.
	QuietUntold string
}

// All returns all cases.
func All() []Case {
	var all []Case
	for _, list := range [][]Case{sources, regressions, loading, scripting, healthy} {
		all = append(all, list...)
	}
	return all
}

// Healthy says whether the case breaks nothing.
func (c *Case) Healthy() bool { return c.Severity == report.Clean }

// Outcome are the answers that an agent got.
type Outcome struct {
	// Quiet says that the page was captured without the debugger.
	Quiet bool
	// Before is the answer while all is well, After the one under test, Again the next one.
	Before, After, Again string
}

// Problems lists how the answers differ from the expected ones.
func (c *Case) Problems(o *Outcome) []string {
	problems, untold := c.problems(o), c.Unseen(o)
	if untold == "" {
		return problems
	}
	if len(problems) == 0 {
		return []string{"it is reported, although it is declared as undetectable: " + untold}
	}
	return nil
}

// Unseen says why the capture mode cannot report the event, "" when it can.
func (c *Case) Unseen(o *Outcome) string {
	if o.Quiet {
		return c.QuietUntold
	}
	return ""
}

// Wanted returns the parts that the answer's JSON must contain in the capture mode.
func (c *Case) Wanted(o *Outcome) []string {
	if o.Quiet && c.Quiet != nil {
		return c.Quiet
	}
	return c.Want
}

// unseen matches the gaps that quiet capture has wherever a page has a worker.
var unseen = regexp.MustCompile(`"reason":"(service_)?worker_unseen"`)

func (c *Case) problems(o *Outcome) []string {
	var problems []string
	for _, part := range c.Wanted(o) {
		if !strings.Contains(o.After, part) {
			problems = append(problems, part+" is missing")
		}
	}
	for _, part := range c.Wrong {
		if strings.Contains(o.After, part) {
			problems = append(problems, part+" should not be there")
		}
	}
	severity := c.Severity
	if o.Quiet {
		severity = cmp.Or(c.QuietSeverity, severity)
	}
	if !strings.Contains(o.After, fmt.Sprintf(`"severity":%q`, severity)) {
		problems = append(problems, fmt.Sprintf("severity is not %s", severity))
	}
	// The first look may report a socket that the page opened before capture began.
	if strings.Contains(o.After, `"coverage"`) && !c.Leaves && !(o.Quiet && unseen.MatchString(o.After)) {
		problems = append(problems, "the window was not fully observed")
	}
	again := `"severity":"clean"`
	if c.Stands {
		again = `"summary":"no new problems; 1 repeated error"`
	}
	if !strings.Contains(o.Again, again) {
		problems = append(problems, "it is reported twice: "+o.Again)
	}
	return problems
}

// Run runs the case in a new tab.
func (c *Case) Run(w *testbed.World) (o *Outcome, err error) {
	broken := false // changes only between two requests of the page
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		page := "<!doctype html><title>page</title><link rel=icon href=data:,>" + c.Page
		if broken {
			page += c.Broken
		}
		_, _ = io.WriteString(w, page)
	})
	if c.Serve != nil {
		c.Serve(mux)
	}
	site := testbed.Serve(mux)
	defer site.Close()
	second := other()
	defer second.Close()
	refused, err := refusedPort()
	if err != nil {
		return nil, err
	}
	agent, err := w.Agent("--origin", site.URL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	tab, err := w.Open(site.URL)
	if err != nil {
		return nil, err
	}
	defer tab.Close() // before the servers, which wait for their connections to close

	look := func(into *string) error {
		*into, err = agent.Text("get_changes_since", map[string]any{"wait": "settled", "timeout_ms": 5000})
		return err
	}
	o = &Outcome{Quiet: w.Way == "quiet"}
	if err := look(&o.Before); err != nil {
		return nil, err
	}
	broken = true
	if err := tab.Block(c.Blocked); err != nil {
		return nil, err
	}
	if c.Reload {
		err = tab.Do(chromedp.Reload())
	} else {
		// localhost is a different site than 127.0.0.1, and so a different process.
		elsewhere := strings.Replace(second.URL, "127.0.0.1", "localhost", 1)
		err = tab.JS(fmt.Sprintf("const OTHER = %q, REFUSED = %q; ", elsewhere, refused) + c.Script)
	}
	if err != nil {
		return nil, err
	}
	return o, errors.Join(look(&o.After), look(&o.Again))
}

// other serves a second origin: a frame that throws, a frame that does not, an API without CORS.
func other() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/closed", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	mux.HandleFunc("/open", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Methods", "PUT")
		_, _ = io.WriteString(w, "{}")
	})
	mux.HandleFunc("/inner", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	mux.HandleFunc("/fine", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<p>fine<script>console.log('fine')</script>`)
	})
	mux.HandleFunc("/frame", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<script>fetch('/inner'); setTimeout(() => { throw new Error('inside the frame') })</script>`)
	})
	return testbed.Serve(mux)
}

// refusedPort returns a port without a listener.
func refusedPort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}
