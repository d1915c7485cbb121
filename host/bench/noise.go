package main

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/window"
)

// So many entries are compared with so many rules of a user's.
const (
	noiseEntries = 10_000
	noiseRules   = 200
)

// noise measures how long it takes to tell noise by a user's rules: on a page of which little is noise,
// on one of which all is, and on one that does its worst.
func (r *run) noise() error {
	s := r.sheet(fmt.Sprintf("Noise: %d entries against %d rules of a user's, median", noiseEntries, noiseRules))
	var rules []*noise.UserRule
	for i := range noiseRules {
		rule := &noise.UserRule{ID: fmt.Sprint("n", i), Text: fmt.Sprintf("Warning: %s is deprecated in %s", word(i), word(7*i+3))}
		switch i % 4 {
		case 1:
			rule.Kind, rule.Text, rule.Fingerprint = "console", "", fmt.Sprintf("[%s] took {n} ms to render %s", word(i), word(5*i+1))
		case 2:
			rule.Kind, rule.Level, rule.Text = "network", "error", "/api/"+word(i)+"/*/poll"
		case 3:
			rule.Origin = "http://localhost:5173"
		}
		if err := rule.Check(); err != nil {
			return err
		}
		rules = append(rules, rule)
	}
	set := noise.Default().With(nil, rules)
	head := event.Head{Subject: event.InTab(0, "http://localhost:5173")}
	usual := func(i int) event.Event {
		switch i % 3 {
		case 0:
			return &event.Network{Head: head, Method: "GET", URL: fmt.Sprintf("http://localhost:5173/api/%s/%d?page=%d", word(i), i, i%7), Status: 200}
		case 1:
			return &event.Console{Head: head, Level: event.Error, Via: "console", Text: fmt.Sprintf("TypeError: Cannot read properties of undefined (reading '%s') at %s (http://localhost:5173/src/%s.tsx:%d:12)", word(i), word(i+5), word(i+9), i)}
		}
		return &event.Console{Head: head, Level: event.Warning, Via: "console", Text: fmt.Sprintf("Warning: %s of the cart changed %d times within %d.5 ms", word(i), i, i%100)}
	}
	cases := []struct {
		what string
		most float64 // of the time that [grouped] takes for the same entries
		make func(int) event.Event
	}{
		{"of a page at work", .1, usual},
		{"all of them noise", .15, func(i int) event.Event {
			n := i % noiseRules / 4 * 4
			return &event.Console{Head: head, Level: event.Warning, Via: "console", Text: fmt.Sprintf("Warning: %s is deprecated in %s, seen %d times", word(n), word(7*n+3), i)}
		}},
		{"all nearly so", .25, func(i int) event.Event {
			n := i%noiseRules/4*4 + 1
			return &event.Console{Head: head, Level: event.Warning, Via: "console", Text: fmt.Sprintf("[%s] took %d ms to render %s!", word(n), 1000+i, word(5*n+1))}
		}},
	}
	for _, c := range cases {
		entries := make([]event.Event, noiseEntries)
		for i := range entries {
			entries[i] = c.make(i)
		}
		hidden := 0
		match := func() {
			hidden = 0
			for _, ev := range entries {
				if set.User(ev, window.Fold) != nil {
					hidden++
				}
			}
		}
		match()
		s.beside(fmt.Sprintf("%s, %d hidden / grouping the same entries by their JSON", c.what, hidden), r.third(60), c.most, match, func() { grouped(entries) })
	}
	// What the same costs by trying each rule, for comparison.
	entries := make([]event.Event, noiseEntries)
	for i := range entries {
		entries[i] = usual(i)
	}
	s.figure("the same page, every rule's text looked for in turn", ms(median(5, func() {
		for _, ev := range entries {
			text := ""
			switch e := ev.(type) {
			case *event.Console:
				text = e.Text
			case *event.Network:
				text = e.URL
			}
			for _, rule := range rules {
				if rule.Text != "" && strings.Contains(text, rule.Text) {
					break
				}
			}
		}
	})))
	return s.print()
}
