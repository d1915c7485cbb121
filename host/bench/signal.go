package main

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/tidwall/gjson"
	"golang.org/x/sync/errgroup"

	"tidemark.dev/tidemark/host/testing/cases"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// signal lets every case happen in real Chromium, on pages that chatter as applications under
// development do, and every breakage of the demo shop: a regression is detected when the answer is
// not clean and names the cause, a healthy case is a false alarm when it is not clean.
func (r *run) signal() error {
	d := &detection{run: r}
	var chosen []cases.Case
	for i, c := range cases.All() {
		if !r.leftOut(i, c.Name) {
			chosen = append(chosen, talkative(c))
		}
	}
	var failed []error
	led, err := outcomes("signal", chosen, func() (*testbed.World, error) { return testbed.Start(r.binary) })
	if err != nil {
		return err
	}
	for i, o := range led {
		c := chosen[i]
		if o.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.Name, o.err))
			continue
		}
		d.first(c.Name, o.Before)
		if c.Healthy() {
			d.healthy(c.Name, o.After)
		} else {
			d.leaves = c.Leaves
			d.regression(c.Name, o.After, c.Want, c.Unseen(o.Outcome))
			d.leaves = false
		}
		d.next(c.Name, o.Again)
	}
	failed = append(failed, d.shop())
	progress("")
	return errors.Join(append(failed, d.print())...)
}

// outcome is what a case led to, or why it could not be tried.
type outcome struct {
	*cases.Outcome
	err error
}

// outcomes lets cases happen in two browsers at once, because they mostly wait. In one browser, all tabs but the newest
// are hidden, and have no animation frames.
func outcomes(part string, chosen []cases.Case, start func() (*testbed.World, error)) ([]outcome, error) {
	led := make([]outcome, len(chosen))
	var begun atomic.Int32
	var browsers errgroup.Group
	for range 2 {
		browsers.Go(func() (err error) {
			w, err := start()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, w.Close()) }()
			for i := int(begun.Add(1)) - 1; i < len(chosen); i = int(begun.Add(1)) - 1 {
				progress("%s: %d of %d …", part, i+1, len(chosen))
				led[i].Outcome, led[i].err = chosen[i].Run(w)
			}
			return nil
		})
	}
	return led, browsers.Wait()
}

// leftOut says whether a run leaves out the i-th case.
func (r *run) leftOut(i int, name string) bool {
	return r.quick && i%3 != 0 || !strings.Contains(name, r.match)
}

// detection counts what was told and what should have been.
type detection struct {
	*run
	regressions, detected int
	visits, alarms        int
	nexts, repeated       int
	looks, unobserved     int
	leaves                bool // the page was left, so that nothing of its origin is observed any more
	misses                []string
}

const (
	clean      = `"severity":"clean"`
	unobserved = `"coverage":`
)

func (d *detection) look(name, answer string) {
	d.looks++
	if strings.Contains(answer, unobserved) && !d.leaves {
		d.unobserved++
		d.miss("not fully observed: "+name, answer)
	}
	if d.match != "" {
		fmt.Printf("  %s\n    %s\n", name, answer)
	}
}

func (d *detection) miss(what, answer string) {
	d.misses = append(d.misses, what+"\n      "+answer)
}

// first takes the answer while all was well; some pages have an error from the start. It may say
// that a socket was opened before capture began.
func (d *detection) first(name, answer string) {
	if d.match != "" {
		fmt.Printf("  %s, before\n    %s\n", name, answer)
	}
}

// regression takes the answer about something that broke.
func (d *detection) regression(name, answer string, want []string, untold string) {
	d.look(name, answer)
	d.regressions++
	if untold != "" {
		name += " (known: " + untold + ")"
	}
	var missing []string
	for _, part := range want {
		// Totals count the chatter too.
		if !strings.Contains(answer, part) && !strings.HasPrefix(part, `"total_`) {
			missing = append(missing, part)
		}
	}
	switch {
	case strings.Contains(answer, clean):
		d.miss("not detected: "+name, answer)
	case len(missing) > 0:
		d.miss("cause not named: "+name+", without "+strings.Join(missing, " and "), answer)
	default:
		d.detected++
	}
}

// healthy takes the answer about something that broke nothing.
func (d *detection) healthy(name, answer string) {
	d.look(name, answer)
	d.visits++
	if !strings.Contains(answer, clean) {
		d.alarms++
		d.miss("false alarm: "+name, answer)
	}
}

// next takes the answer to one more look after which nothing more happened. The overlay of a failed build stands, and each look
// says so in one line.
func (d *detection) next(name, answer string) {
	d.nexts++
	stands := strings.HasPrefix(gjson.Get(answer, "summary").Str, "no new problems; ")
	gjson.Get(answer, "repeated.#.message").ForEach(func(_, message gjson.Result) bool {
		stands = stands && strings.HasPrefix(message.Str, "error element ")
		return stands
	})
	if !strings.Contains(answer, clean) && !stands {
		d.repeated++
		d.miss("told again, or late: "+name, answer)
	}
}

func (d *detection) print() error {
	whole := !d.quick && d.match == ""
	s := d.sheet("Signal to noise: regressions and healthy edits on pages that chatter, in Chromium")
	if d.regressions > 0 {
		s.row("regressions detected, cause named", fmt.Sprintf("%d of %d (%.1f %%)", d.detected, d.regressions, 100*float64(d.detected)/float64(d.regressions)),
			"100 % of at least 40", d.detected == d.regressions && (d.regressions >= 40 || !whole))
	}
	if d.visits > 0 {
		s.row("false alarms in healthy runs", fmt.Sprintf("%d of %d (%.1f %%)", d.alarms, d.visits, 100*float64(d.alarms)/float64(d.visits)),
			"0 of at least 40", d.alarms == 0 && (d.visits >= 40 || !whole))
	}
	s.row("told again, or late, by the next look", fmt.Sprintf("%d of %d", d.repeated, d.nexts), "0", d.repeated == 0)
	s.row("answers that were not fully observed", fmt.Sprintf("%d of %d", d.unobserved, d.looks), "0", d.unobserved == 0)
	for _, m := range d.misses {
		s.note(m)
	}
	return s.print()
}
