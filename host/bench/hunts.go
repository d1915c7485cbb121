package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/bench/hunts"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// What a hunt may cost, and the everyday task.
const (
	budgetFirst         = 400 // tokens of the first answer
	budgetHuntCalls     = 3
	budgetHunt          = 1200 // tokens
	budgetEverydayCalls = 25
	budgetEveryday      = 5000 // tokens
)

// hunts sends Tidemark and the peers after the same bugs, and has them do an everyday task.
func (r *run) hunts() (err error) {
	w, err := testbed.Start(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	peers, stopPeers, err := startPeers()
	if err != nil {
		return err
	}
	defer stopPeers()
	o := hunts.Options{
		Tools: []string{hunts.Tidemark, hunts.Playwright, hunts.DevTools},
		Connect: func(tool, url string) (*hunts.Tool, func() error, error) {
			if tool == hunts.Tidemark {
				return connectOurs(w, url)
			}
			for _, p := range peers {
				if p.name == tool {
					// Nothing of its page happens while others hunt.
					return &hunts.Tool{Name: tool, Session: p.session}, func() error { return p.open("about:blank") }, nil
				}
			}
			return nil, nil, fmt.Errorf("there is no peer %s", tool)
		},
		Count: newCounter().tokens, Match: r.match, Progress: progress,
	}
	if r.quick {
		o.Every = 3
	}
	if r.match != "" {
		o.Show = func(format string, args ...any) { fmt.Printf(format, args...) }
	}
	results, err := hunts.Run(o)
	progress("")
	return errors.Join(err, r.huntsTable(&results))
}

// connectOurs connects a new agent that has a tab of its own.
func connectOurs(w *testbed.World, url string) (*hunts.Tool, func() error, error) {
	agent, err := w.Agent("--origin", url, "--tools", "observe,act,debug")
	if err != nil {
		return nil, nil, err
	}
	tab, err := w.Open(url + hunts.Blank)
	if err != nil {
		return nil, nil, errors.Join(err, agent.Close())
	}
	end := func() error {
		defer tab.Close()
		return errors.Join(agent.Close(), tab.Do(chromedp.Navigate("about:blank")))
	}
	var current int
	err = testbed.Eventually(context.Background(), func() (bool, error) {
		list, err := agent.Text("browser_tabs", nil)
		current = int(gjson.Get(list, "tabs.#(current==true).id").Int())
		return current > 0, err
	})
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return &hunts.Tool{Name: hunts.Tidemark, Session: agent.ClientSession, Tab: current, Heard: testbed.Heard}, end, nil
}

// hunted sums up the hunts of a tool.
type hunted struct {
	name          string
	first, named  int
	calls, tokens []int
}

func (h *hunted) String() string {
	return fmt.Sprintf("%d calls, %d tokens", quantile(h.calls, .5), quantile(h.tokens, .5))
}

func (r *run) huntsTable(results *hunts.Results) error {
	s := r.sheet("Bug hunts: file and line of the cause, or of the code that showed it")
	sums := map[string]*hunted{}
	for _, tool := range []string{hunts.Tidemark, hunts.Playwright, hunts.DevTools} {
		h := &hunted{name: tool}
		for _, one := range results.By(tool) {
			h.calls, h.tokens = append(h.calls, one.Calls), append(h.tokens, one.Tokens)
			if one.Named {
				h.named++
			}
			if one.First && one.FirstTokens <= budgetFirst {
				h.first++
			}
		}
		if len(h.calls) > 0 {
			sums[tool] = h
		}
	}
	if ours := sums[hunts.Tidemark]; ours != nil {
		all := len(ours.calls)
		most := all * 5 / 6
		s.row("causes named in the first answer", fmt.Sprintf("%d of %d", ours.first, all), fmt.Sprintf("at least %d, in at most %d tokens", most, budgetFirst), ours.first >= most)
		calls, tokens := quantile(ours.calls, .5), quantile(ours.tokens, .5)
		fewer := true
		var said, named []string
		for _, peer := range []string{hunts.Playwright, hunts.DevTools} {
			if h := sums[peer]; h != nil {
				fewer = fewer && calls < quantile(h.calls, .5) && tokens < quantile(h.tokens, .5)
				said = append(said, h.name+" "+h.String())
				named = append(named, fmt.Sprintf("%s %d, in the first answer %d", h.name, h.named, h.first))
			}
		}
		s.row("a hunt, median", fmt.Sprintf("%s (%s)", ours, strings.Join(said, "; ")), fmt.Sprintf("at most %d, %d, fewer than both", budgetHuntCalls, budgetHunt),
			calls <= budgetHuntCalls && tokens <= budgetHunt && fewer)
		s.figure("causes named at all", fmt.Sprintf("%d (%s)", ours.named, strings.Join(named, "; ")))
	}
	for i := range hunts.Bugs {
		var cells []string
		for _, h := range results.Hunts {
			if h.Bug != &hunts.Bugs[i] {
				continue
			}
			cells = append(cells, cell(&h))
			if h.Failed != nil {
				s.note(fmt.Sprintf("%s, %s: %v", h.Bug.Name(), h.Tool, h.Failed))
			}
		}
		if len(cells) > 0 {
			s.figure(hunts.Bugs[i].Name(), strings.Join(cells, "; "))
		}
	}
	var said []string
	for _, t := range results.Everyday {
		text := fmt.Sprintf("%d calls, %d tokens", t.Calls, t.Tokens)
		if t.Failed != nil {
			text += ", failed"
			s.note(fmt.Sprintf("the everyday task with %s: %v", t.Tool, t.Failed))
		}
		if t.Tool != hunts.Tidemark {
			text = t.Tool + " " + text
		}
		said = append(said, text)
	}
	if len(said) > 0 {
		ours := results.Everyday[0]
		s.row(fmt.Sprintf("an everyday task of %d steps", len(hunts.Everyday)), fmt.Sprintf("%s (%s)", said[0], strings.Join(said[1:], "; ")),
			fmt.Sprintf("at most %d, %d", budgetEverydayCalls, budgetEveryday), ours.Failed == nil && ours.Calls <= budgetEverydayCalls && ours.Tokens <= budgetEveryday)
	}
	r.lists(s, results.Lists)
	s.note("Each line: where the cause was named, the calls and tokens from the symptom on; " + hunts.Tidemark + ", then " + hunts.Playwright + " and " + hunts.DevTools + ".")
	return s.print()
}

// cell is a hunt in a few words.
func cell(h *hunts.Hunt) string {
	how := "not named"
	switch {
	case h.Failed != nil:
		how = "failed"
	case h.First:
		how = "first answer"
	case h.Named:
		how = fmt.Sprintf("answer %d", h.Calls)
	}
	return fmt.Sprintf("%s, %d tokens", how, h.Tokens)
}

// lists are the data requests of each application's first page, as each tool lists them.
func (*run) lists(s *sheet, lists []hunts.Listed) {
	for len(lists) > 0 {
		app := lists[0].App
		ours, least := 0, math.MaxInt
		var said []string
		for len(lists) > 0 && lists[0].App == app {
			if l := lists[0]; l.Tool == hunts.Tidemark {
				ours = l.Tokens
			} else {
				least = min(least, l.Tokens)
				said = append(said, fmt.Sprintf("%s %d", l.Tool, l.Tokens))
			}
			lists = lists[1:]
		}
		s.row("the data requests of "+app, fmt.Sprintf("%d tokens (%s)", ours, strings.Join(said, "; ")), "at most those of others", ours <= least)
	}
}
