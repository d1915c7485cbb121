package main

import (
	"errors"
	"fmt"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// contextWindow is what an agent may have in its head, in tokens.
const contextWindow = 200_000

// sessions are the specification's three prompts as scripted sessions, each with differences and with full snapshots
// forced.
func (r *run) sessions() (err error) {
	w, err := testbed.Start(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	site := testbed.Serve(testbed.SessionPages())
	defer site.Close()
	s := r.sheet("Sessions of the specification's prompts: tokens that the agent was told, with differences and with full snapshots")
	count := newCounter()
	for _, session := range testbed.Sessions(r.third(30)) {
		progress("sessions: %s …", session.Prompt)
		var tokens [2]int
		var done [2]bool
		passed := 0
		for i, full := range []bool{false, true} {
			run, err := oneSession(w, site.URL, &session, full)
			if done[i] = err == nil; err != nil {
				s.note(fmt.Sprintf("%s (full: %v): %v", session.Prompt, full, err))
			}
			for n, text := range run.Told {
				before := tokens[i]
				tokens[i] += count.tokens(text)
				if full && before < contextWindow && tokens[i] >= contextWindow {
					passed = n + 1
				}
			}
			if run.Looks > 0 {
				s.note(fmt.Sprintf("%s (full: %v): %d more looks were needed", session.Prompt, full, run.Looks))
			}
		}
		saved := 1 - float64(tokens[0])/float64(tokens[1])
		s.row(session.Prompt, fmt.Sprintf("%d tokens, %s; in full %d, %s (%.0f %% saved)", tokens[0], success(done[0]), tokens[1], success(done[1]), 100*saved),
			"succeeds with differences", done[0] || !done[1])
		if len(session.Steps) > 20 {
			s.row(fmt.Sprintf("  its %d steps, of a context of %d tokens", len(session.Steps), contextWindow), fmt.Sprintf("%.1f %%", 100*float64(tokens[0])/contextWindow), "at most 25 %", tokens[0] <= contextWindow/4)
			if passed > 0 {
				s.note(fmt.Sprintf("with full snapshots the context of %d tokens is passed at answer %d", contextWindow, passed))
			}
		}
	}
	return s.print()
}

func success(ok bool) string {
	if ok {
		return "succeeded"
	}
	return "failed"
}

func oneSession(w *testbed.World, url string, s *testbed.Session, full bool) (_ *testbed.SessionRun, err error) {
	agent, err := w.Agent("--origin", url)
	if err != nil {
		return &testbed.SessionRun{}, err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	tab, err := w.Open(url + s.Page)
	if err != nil {
		return &testbed.SessionRun{}, err
	}
	defer tab.Close()
	return s.Run(agent, tab, full)
}
