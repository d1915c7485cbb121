package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The calibration of the machine on which the budgets in milliseconds were set. On another machine they are scaled by
// its own, measured right before the part.
const (
	referenceLoopMs = 30
	referenceWalkMs = 58
)

// scale is how much slower this machine is than the reference at one kind of work.
type scale struct {
	by    string
	times float64
}

// byLoop scales budgets of what mostly computes, by the calibration loop.
func (r *run) byLoop() scale { return scale{"loop", r.machine.LoopMs / referenceLoopMs} }

// byWalk scales budgets of what mostly reads more memory than the caches hold, by the calibration walk.
func (r *run) byWalk() scale { return scale{"walk", r.machine.WalkMs / referenceWalkMs} }

// within adds a time and whether it is within its budget, scaled to this machine. said is how the time is printed
// where that is more than the time itself; it begins with the time.
func (s *sheet) within(what string, took, budget time.Duration, by scale, said string) {
	if said == "" {
		said = ms(took)
	}
	most := time.Duration(float64(budget) * by.times)
	target := fmt.Sprintf("at most %s (%s × %.2f by the %s)", ms(most), strconv.FormatFloat(inMs(budget), 'f', -1, 64), by.times, by.by)
	s.row(what, said, target, took <= most)
}

// ratio adds how many times as much one median is as another, and whether that is at most so many times.
func (s *sheet) ratio(what string, a, b time.Duration, most float64) {
	s.row(what, fmt.Sprintf("%.2f times (%s, %s)", float64(a)/float64(b), ms(a), ms(b)), fmt.Sprintf("at most %s times", plain(most)), float64(a) <= most*float64(b))
}

// paired measures two computations in turn, n times. It returns the median of each, and the median of the ratios of
// neighbors: what slows the machine for a moment slows both.
func paired(n int, mine, reference func()) (a, b time.Duration, times float64) {
	var as, bs []time.Duration
	for range n {
		began := time.Now()
		mine()
		middle := time.Now()
		reference()
		as, bs = append(as, middle.Sub(began)), append(bs, time.Since(middle))
	}
	return quantile(as, .5), quantile(bs, .5), pairwise(as, bs)
}

// pairwise is the median of the ratios of two lists of figures that were measured in turn.
func pairwise[T ~int64 | ~float64](as, bs []T) float64 {
	ratios := make([]float64, len(as))
	for i := range ratios {
		ratios[i] = float64(as[i]) / float64(bs[i])
	}
	return quantile(ratios, .5)
}

// beside adds how many times as long one computation takes as another in turn with it, and whether that is at most so
// many times.
func (s *sheet) beside(what string, n int, most float64, mine, reference func()) {
	a, b, times := paired(n, mine, reference)
	s.row(what, fmt.Sprintf("%.2f times (%s, %s)", times, ms(a), ms(b)), fmt.Sprintf("at most %s times", plain(most)), times <= most)
}

// plain is a number without zeros that say nothing.
func plain(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(n, 'f', 2, 64), "0"), ".")
}
