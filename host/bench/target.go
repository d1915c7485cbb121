package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// referenceLoopMs is the calibration loop of the machine on which the budgets in milliseconds were set. On another
// machine they are scaled by its own loop, measured right before the part.
const referenceLoopMs = 30

// scale is how much slower this machine is than the reference, by the calibration before the part that runs.
func (r *run) scale() float64 { return r.machine.LoopMs / referenceLoopMs }

// scaled is a budget on this machine.
func (r *run) scaled(budget time.Duration) time.Duration {
	return time.Duration(float64(budget) * r.scale())
}

// within adds a time and whether it is within its budget, scaled to this machine. said is how the time is printed
// where that is more than the time itself; it begins with the time.
func (s *sheet) within(what string, took, budget time.Duration, said string) {
	if said == "" {
		said = ms(took)
	}
	target := fmt.Sprintf("at most %s (%s × %.2f)", ms(s.r.scaled(budget)), strconv.FormatFloat(inMs(budget), 'f', -1, 64), s.r.scale())
	s.row(what, said, target, took <= s.r.scaled(budget))
}

// ratio adds how many times as much one median is as another, and whether that is at most so many times.
func (s *sheet) ratio(what string, a, b time.Duration, most float64) {
	s.row(what, fmt.Sprintf("%.2f times (%s, %s)", float64(a)/float64(b), ms(a), ms(b)), fmt.Sprintf("at most %s times", plain(most)), float64(a) <= most*float64(b))
}

// plain is a number without zeros that say nothing.
func plain(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(n, 'f', 2, 64), "0"), ".")
}
