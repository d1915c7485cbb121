package conversation

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// MadeBy names the call that made a change of a file, or those of which one did, and the beginning of the prompt behind it.
// Both are "" where that is not known.
func (s *Store) MadeBy(change *event.FileChange) (call, prompt string) {
	from, to := window(change)
	var calls []string
	for _, f := range s.within(change.Place, from.UnixMilli(), to.UnixMilli()) {
		o, err := s.outlineOf(f)
		if err != nil {
			continue
		}
		made, turns := o.Makers(change)
		for i, c := range made {
			calls, prompt = append(calls, shorten(c.Title())), shorten(turns[i].Prompt)
		}
	}
	const most = 3
	switch {
	case len(calls) == 0:
		return "", ""
	case len(calls) == 1:
		return calls[0], prompt
	case len(calls) > most:
		return fmt.Sprintf("one of %d calls, such as %s", len(calls), calls[0]), prompt
	}
	return "one of these calls: " + strings.Join(calls, "; "), prompt
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
