package hunts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options say what to run, and with what.
type Options struct {
	// Connect connects the tools to an application, for one hunt each: Tidemark's agent is a new client each time.
	Connect func(tool, url string) (t *Tool, end func() error, err error)
	// Tools are the names of the tools that hunt.
	Tools []string
	// Count counts tokens.
	Count func(string) int
	// Match selects the bugs whose names contain it.
	Match string
	// Every takes one bug of so many, 0 all of them.
	Every int
	// Show, if it is set, gets each call with its answer.
	Show func(format string, args ...any)
	// Progress is told what is done.
	Progress func(format string, args ...any)
}

// Hunt is a bug that a tool was sent after.
type Hunt struct {
	Bug  *Bug
	Tool string
	// Calls and Tokens are those of the calls from the trigger on, until the cause was named or the sequence ended.
	Calls, Tokens int
	// Named is whether the cause was named at all, First whether the first answer did, which had FirstTokens.
	Named, First bool
	FirstTokens  int
	// Failed says why the bug could not be hunted.
	Failed error
}

// Results are what was measured.
type Results struct {
	Hunts []Hunt
	// Everyday are the runs of the everyday task, one a tool.
	Everyday []Task
	// Lists are the data requests of each application's first page.
	Lists []Listed
}

// Task is a run of the everyday task.
type Task struct {
	Tool          string
	Calls, Tokens int
	Failed        error
}

// Listed is the list of a page's data requests, as a tool prints it.
type Listed struct {
	App, Tool string
	Tokens    int
}

// Run measures. An application that cannot be served does not keep the others from it.
func Run(o Options) (Results, error) {
	if o.Show == nil {
		o.Show = func(string, ...any) {}
	}
	var results Results
	var failed []error
	for _, app := range Apps {
		bugs := o.chosen(app)
		everyday := app == EverydayApp && (o.Match == "" || strings.Contains("everyday", o.Match))
		if len(bugs) == 0 && !everyday && o.Match != "requests" {
			continue
		}
		if err := o.app(app, bugs, everyday, &results); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", app, err))
		}
	}
	return results, errors.Join(failed...)
}

// chosen are the bugs of an application that are run.
func (o *Options) chosen(app string) []*Bug {
	var list []*Bug
	for i := range Bugs {
		if b := &Bugs[i]; b.App == app && strings.Contains(b.Name(), o.Match) && (o.Every == 0 || i%o.Every == 0) {
			list = append(list, b)
		}
	}
	return list
}

func (o *Options) app(app string, bugs []*Bug, everyday bool, results *Results) (err error) {
	o.Progress("hunts: installing %s …", app)
	dir, err := install(app)
	if err != nil {
		return err
	}
	s, err := serve(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if everyday {
		if err := o.everyday(s, results); err != nil { // before anybody is signed in
			return err
		}
	}
	for _, tool := range o.Tools {
		o.Progress("hunts: %s, %s gets ready …", app, tool)
		if err := o.with(tool, s, func(a *agent) error {
			for i := range Ready[app] {
				if _, err := a.do(&Ready[app][i]); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if o.Every == 0 && (o.Match == "" || strings.Contains("requests", o.Match)) {
		if err := o.lists(app, s, results); err != nil {
			return err
		}
	}
	for _, b := range bugs {
		if err := o.bug(b, s, results); err != nil {
			return err
		}
	}
	return nil
}

// everyday has each tool do the everyday task.
func (o *Options) everyday(s *server, results *Results) error {
	for _, tool := range o.Tools {
		o.Progress("hunts: an everyday task with %s …", tool)
		task := Task{Tool: tool}
		if err := o.with(tool, s, func(a *agent) error {
			task.Failed = a.everyday(&task)
			return nil
		}); err != nil {
			return err
		}
		results.Everyday = append(results.Everyday, task)
	}
	return nil
}

// lists has each tool open an application's first page and list its data requests.
func (o *Options) lists(app string, s *server, results *Results) error {
	for _, tool := range o.Tools {
		o.Progress("hunts: the requests of %s with %s …", app, tool)
		if err := o.with(tool, s, func(a *agent) error {
			if _, err := a.do(&Ready[app][0]); err != nil {
				return err
			}
			time.Sleep(thinks)
			name, args := a.kind.requests(a)
			got, err := a.must(name, args)
			results.Lists = append(results.Lists, Listed{App: app, Tool: tool, Tokens: got.tokens})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// with connects a tool to the server, whose data is as at the beginning.
func (o *Options) with(tool string, s *server, do func(*agent) error) (err error) {
	if err := s.reload(); err != nil {
		return err
	}
	t, end, err := o.Connect(tool, s.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	return do(newAgent(t, s.url, o.Count, o.Show))
}

// bug puts a bug into the application and sends each tool after it.
func (o *Options) bug(b *Bug, s *server, results *Results) (err error) {
	restore, err := b.apply(s.dir)
	defer func() { err = errors.Join(err, restore()) }()
	if err != nil {
		return err
	}
	lines, err := b.places(s.dir)
	if err != nil {
		return err
	}
	for _, tool := range o.Tools {
		o.Progress("hunts: %s, with %s …", b.Name(), tool)
		h := Hunt{Bug: b, Tool: tool}
		if err := o.with(tool, s, func(a *agent) error {
			h.Failed = a.hunt(b, lines, &h)
			return nil
		}); err != nil {
			return err
		}
		results.Hunts = append(results.Hunts, h)
	}
	return nil
}

// thinks is how long an agent thinks about what it saw, at least. Tools that do not wait for a page's answers to a step
// would else not know of them.
const thinks = time.Second

// hunt has an agent see the bug, and then make its calls until one names the cause.
func (a *agent) hunt(b *Bug, lines []line, h *Hunt) error {
	// heard counts an answer, and says whether the hunt is over.
	heard := func(got answer) bool {
		h.Calls++
		h.Tokens += got.tokens
		h.Named = named(got.text, lines)
		if h.Calls == 1 {
			h.First, h.FirstTokens = h.Named, got.tokens
		}
		return h.Named
	}
	var last answer
	for i := range b.Before {
		var err error
		if last, err = a.do(&b.Before[i]); err != nil {
			return err
		}
	}
	if b.Trigger != nil {
		got, err := a.do(b.Trigger)
		if err != nil || heard(got) {
			return err
		}
		a.refused = got.refused
	} else if named(last.text, lines) {
		heard(last)
		return nil
	}
	time.Sleep(thinks)
	for _, next := range a.kind.follow {
		tool, args := next(a, b)
		if tool == "" || args == nil {
			continue
		}
		if got, err := a.call(tool, args); err != nil || heard(got) {
			return err
		}
	}
	return nil
}

// By are the hunts of a tool that could be hunted.
func (r *Results) By(tool string) []Hunt {
	return slices.DeleteFunc(slices.Clone(r.Hunts), func(h Hunt) bool { return h.Tool != tool || h.Failed != nil })
}
