package capture

import "tidemark.dev/tidemark/host/internal/event"

// replay recognises console entries of a tab that were taken in from an earlier worker of its extension:
// a new one has the browser log everything again, from a little before the old one's death on.
type replay struct {
	until int64          // the time of the newest entry that was taken in
	last  map[string]int // the entries of that very millisecond, and how often
}

// expectReplay prepares a browser's tabs for a new worker.
func (s *Store) expectReplay(b *browser) {
	for _, id := range b.tabs {
		if t := s.tabs[id]; t != nil {
			t.replay = nil
		}
	}
	for _, e := range s.console.View().From(0) {
		t := s.tabs[e.Tab()]
		if t == nil || t.browser != b {
			continue
		}
		if t.replay == nil || e.At > t.replay.until {
			t.replay = &replay{until: e.At, last: map[string]int{}}
		}
		if e.At == t.replay.until {
			t.replay.last[replayKey(e)]++
		}
	}
}

func replayKey(e *event.Console) string { return e.Level.String() + " " + e.Via + " " + e.Text }

// had says whether an entry was taken in before.
func (r *replay) had(e *event.Console) bool {
	if r == nil || e.At > r.until {
		return false
	}
	if e.At < r.until {
		return true
	}
	k := replayKey(e)
	r.last[k]--
	return r.last[k] >= 0
}
