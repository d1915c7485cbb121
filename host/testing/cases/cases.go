// Package cases are pages that break, and pages that do not: what end-to-end tests assert one by one,
// and what the signal-to-noise benchmark counts.
//
// It guarantees: each case stands alone, with an origin of its own; it is looked at once while all is
// well, and then again after it has happened; it sends traffic to loopback only.
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

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// Case is one thing that happens on a page, and what is to be told of it.
type Case struct {
	Name string
	// Page is HTML at /; Script is run in it after the first look. The script may use OTHER, another
	// site's origin, and REFUSED, a port at which nobody listens.
	Page, Script string
	// Reload loads the page again instead, which then holds Broken as well.
	Reload bool
	Broken string
	// Serve adds routes.
	Serve func(*http.ServeMux)
	// Blocked are addresses that the browser does not let the page ask for, as blockers of
	// advertisements do.
	Blocked []string
	// Want are parts of the answer's JSON that must be there, Wrong parts that must not.
	Want, Wrong []string
	Severity    diff.Severity
	// Leaves says that the page is left, so that nothing of its origin is observed any more.
	Leaves bool
	// Quiet is what is to be told in place of Want when the page is captured quietly, in other words; QuietSeverity
	// is Severity then.
	Quiet         []string
	QuietSeverity diff.Severity
	// QuietUntold says why quiet capture does not tell of it. The benchmark counts it as missed; a test fails
	// when it is told after all.
	QuietUntold string
}

// All are all cases.
func All() []Case {
	var all []Case
	for _, list := range [][]Case{sources, regressions, loading, scripting, healthy} {
		all = append(all, list...)
	}
	return all
}

// Healthy says whether the case breaks nothing.
func (c *Case) Healthy() bool { return c.Severity == diff.Clean }

// Outcome is what an agent was told.
type Outcome struct {
	// Quiet says that the page was captured without the debugger.
	Quiet bool
	// Before is the answer while all was well, After the one that counts, Again one more.
	Before, After, Again string
}

// Problems says in what the answers differ from what is wanted, nothing when they do not.
func (c *Case) Problems(o *Outcome) []string {
	problems, untold := c.problems(o), c.Unseen(o)
	if untold == "" {
		return problems
	}
	if len(problems) == 0 {
		return []string{"it is told, though it is said that it cannot be: " + untold}
	}
	return nil
}

// Unseen says why Tidemark does not tell of it, in the way in which the page was captured; empty when it does.
func (c *Case) Unseen(o *Outcome) string {
	if o.Quiet {
		return c.QuietUntold
	}
	return ""
}

// Wanted are the parts of the answer's JSON that must be there, in the way in which the page was captured.
func (c *Case) Wanted(o *Outcome) []string {
	if o.Quiet && c.Quiet != nil {
		return c.Quiet
	}
	return c.Want
}

// unseen are the reasons of gaps that quiet capture has wherever a page has a worker.
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
	// (The first look may tell of a socket that the page opened before capture began.)
	if strings.Contains(o.After, `"coverage"`) && !c.Leaves && !(o.Quiet && unseen.MatchString(o.After)) {
		problems = append(problems, "it was not fully observed")
	}
	if !strings.Contains(o.Again, `"severity":"clean"`) {
		problems = append(problems, "it is told twice: "+o.Again)
	}
	return problems
}

// Run lets the case happen in a tab of its own.
func (c *Case) Run(w *testbed.World) (o *Outcome, err error) {
	broken := false // only between two requests of the page
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
	defer tab.Close() // before the servers, which wait for their connections

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
		// localhost is another site than 127.0.0.1, and so another process.
		elsewhere := strings.Replace(second.URL, "127.0.0.1", "localhost", 1)
		err = tab.JS(fmt.Sprintf("const OTHER = %q, REFUSED = %q; ", elsewhere, refused) + c.Script)
	}
	if err != nil {
		return nil, err
	}
	return o, errors.Join(look(&o.After), look(&o.Again))
}

// other is a second origin: a frame that throws, a frame that does not, an API without CORS.
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

// refusedPort is a port at which nobody listens.
func refusedPort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}
