package main

import (
	"errors"
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/cases"
	"tidemark.dev/tidemark/host/internal/testbed"
)

// signal lets every case happen in real Chromium: a regression is detected when the answer is not
// clean and names the cause, a healthy case is a false alarm when it is not clean.
func (r *run) signal() (err error) {
	w, err := testbed.Start(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	all := cases.All()
	var regressions, detected, healthy, alarms int
	var misses []string
	for i, c := range all {
		if r.quick && i%3 != 0 {
			continue
		}
		progress("signal: %d of %d …", i+1, len(all))
		o, err := c.Run(w)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		isClean := strings.Contains(o.After, `"severity":"clean"`)
		switch named := namesCause(&c, o.After); {
		case c.Healthy():
			healthy++
			if !isClean {
				alarms++
				misses = append(misses, "false alarm: "+c.Name+"\n    "+o.After)
			}
		default:
			regressions++
			if !isClean && named {
				detected++
			} else {
				misses = append(misses, "not detected: "+c.Name+"\n    "+o.After)
			}
		}
	}
	progress("")
	s := r.sheet("Signal to noise: regressions injected into, and healthy visits to, pages in Chromium")
	s.row("regressions detected, cause named", fmt.Sprintf("%d of %d (%.1f %%)", detected, regressions, 100*float64(detected)/float64(regressions)), "100 % of at least 40", detected == regressions && (r.quick || regressions >= 40))
	s.row("false alarms in healthy runs", fmt.Sprintf("%d of %d", alarms, healthy), "0 of at least 40", alarms == 0 && (r.quick || healthy >= 40))
	if err := s.print(); err != nil {
		return err
	}
	for _, m := range misses {
		fmt.Println("  " + m)
	}
	return nil
}

func namesCause(c *cases.Case, answer string) bool {
	for _, part := range c.Want {
		if !strings.Contains(answer, part) {
			return false
		}
	}
	return true
}
