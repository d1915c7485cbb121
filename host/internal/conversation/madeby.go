package conversation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

// MadeBy names the call that made a change of a file, or those of which one did, and the beginning of the prompt behind it, or
// of the prompts of which one is. Both are "" where that is not known.
func (s *Store) MadeBy(change *event.FileChange) (call, prompt string) {
	from, to := window(change)
	if change.Since != 0 {
		from = time.UnixMilli(min(from.UnixMilli(), change.Since))
	}
	var outlines []*Outline
	for _, f := range s.within(change.Place, from.UnixMilli(), to.UnixMilli()) {
		if o, err := s.outlineOf(f); err == nil {
			outlines = append(outlines, o)
		}
	}
	var calls, prompts []string
	for _, m := range MakersOf(outlines, change) {
		calls = append(calls, shorten(m.Call.Title()))
		if p := shorten(m.Turn.Prompt); !slices.Contains(prompts, p) {
			prompts = append(prompts, p)
		}
	}
	return oneOf("calls", calls), oneOf("prompts", prompts)
}

// oneOf names one thing, or several of which it is one.
func oneOf(what string, names []string) string {
	const most = 10
	switch {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return names[0]
	case len(names) > most:
		return fmt.Sprintf("one of %d %s, such as %s", len(names), what, names[0])
	}
	return "one of these " + what + ": " + strings.Join(names, "; ")
}

// Makers returns [Store.MadeBy], nil without recorded conversations.
func (s *Store) Makers() func(change *event.FileChange) (call, prompt string) {
	if !s.Any() {
		return nil
	}
	return s.MadeBy
}

// Any reports whether there are recorded conversations.
func (s *Store) Any() bool {
	if s.failed != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files) > 0
}

// maxMaker bounds the text of a call and of a prompt, in characters.
const maxMaker = 100

func shorten(s string) string {
	r := []rune(event.OneLine(s))
	if len(r) <= maxMaker {
		return string(r)
	}
	return string(r[:maxMaker-1]) + "…"
}
