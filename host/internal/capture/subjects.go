package capture

import (
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

// heard is a subject of entries in the buffers.
type heard struct {
	event.Subject
	// after are the positions after its newest entry in each buffer, 0 where it has none. Gaps is unused.
	after Positions
}

// maxHeard bounds what is remembered.
const maxHeard = 256

// subjects remember what the entries of the buffers are about, so that a report need not look at each.
type subjects struct {
	list []heard
	at   int  // the row of the newest entry
	full bool // some are not in the list, and never will be
}

// note has an entry be its subject's newest. first are the positions of the oldest entries that the buffers hold.
func (p *subjects) note(t Track, pos uint64, h *event.Head, first func() Positions) {
	if p.at >= len(p.list) || p.list[p.at].Subject != h.Subject {
		p.at = slices.IndexFunc(p.list, func(t heard) bool { return t.Subject == h.Subject })
		if p.at < 0 {
			if len(p.list) == maxHeard {
				oldest := first()
				p.list = slices.DeleteFunc(p.list, func(t heard) bool { return !t.since(&oldest) })
			}
			if p.at = len(p.list); p.at == maxHeard {
				p.full = true
				return
			}
			p.list = append(p.list, heard{Subject: h.Subject})
		}
	}
	p.list[p.at].after[t] = pos + 1
}

// since says whether any of its entries has the position in its buffer, or a later one.
func (t *heard) since(pos *Positions) bool {
	for track := range Gaps {
		if t.after[track] > pos[track] {
			return true
		}
	}
	return false
}

// SubjectsSince yields the subjects of entries from the positions on, as far as the buffers hold them. It is false, and
// has yielded none, where only reading the buffers can tell.
func (v *View) SubjectsSince(pos Positions, yield func(event.Subject)) bool {
	if v.subjects == nil {
		return false
	}
	for t, s := range v.tracks {
		pos[t] = max(pos[t], s.FirstInRing())
	}
	for i := range v.subjects {
		if s := &v.subjects[i]; s.since(&pos) {
			yield(s.Subject)
		}
	}
	return true
}

// Recorded returns the newest snapshot of a workspace of which the buffer has a change of a file, 0 for none. What was recorded
// after saved by a process that was killed is lost.
func Recorded(s *Store, root string) (snapshot uint64, saved time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := event.InWorkspace(root)
	for _, e := range bufferIn[event.FileChange](s, Files).View().From(0) {
		if e.Subject == of {
			snapshot = max(snapshot, e.Snapshot)
		}
	}
	return snapshot, s.saved
}
