package variables

import (
	"fmt"
	"slices"
	"strconv"
)

// MaxSnapshots is how many snapshots a debug session can have without a warning.
const MaxSnapshots = 100

// Book contains the snapshots of one debug session in the order in which they were taken. It is not safe for concurrent
// use.
type Book struct {
	all []*Snapshot
	// taken counts all snapshots ever taken, for labels.
	taken int
}

// UnknownError is the error for a snapshot that does not exist.
type UnknownError struct {
	ID string
	// Known are the newest existing snapshots.
	Known []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no snapshot %q, nor any other: snapshots end with their debug session", e.ID)
	}
	list := ""
	for i, k := range e.Known {
		if i > 0 {
			list += ", "
		}
		list += k
	}
	return fmt.Sprintf("there is no snapshot %q; the newest are %s", e.ID, list)
}

// Add adds a snapshot, and labels it if it has no label.
func (b *Book) Add(s *Snapshot) {
	b.taken++
	if s.Label == "" {
		s.Label = "snapshot-" + strconv.Itoa(b.taken)
	}
	b.all = append(b.all, s)
}

// All returns the snapshots, the oldest first.
func (b *Book) All() []*Snapshot { return b.all }

// Find returns the snapshot with an id, else the newest with a label, else an [*UnknownError].
func (b *Book) Find(id string) (*Snapshot, error) {
	for i := range slices.Backward(b.all) {
		if s := b.all[i]; s.ID == id {
			return s, nil
		}
	}
	for i := range slices.Backward(b.all) {
		if s := b.all[i]; s.Label == id {
			return s, nil
		}
	}
	unknown := &UnknownError{ID: id}
	for i := range slices.Backward(b.all) {
		if unknown.Known = append(unknown.Known, fmt.Sprintf("%s (%s)", b.all[i].ID, b.all[i].Label)); len(unknown.Known) == 5 {
			break
		}
	}
	return nil, unknown
}

// Before returns the newest snapshot of the same place that was taken before s, nil if there is none.
func (b *Book) Before(s *Snapshot) *Snapshot {
	found := false
	for i := range slices.Backward(b.all) {
		other := b.all[i]
		if found && s.SamePlace(other) {
			return other
		}
		found = found || other == s
	}
	return nil
}

// Delete removes a snapshot. It returns an [*UnknownError] if it does not exist.
func (b *Book) Delete(id string) (*Snapshot, error) {
	s, err := b.Find(id)
	if err == nil {
		b.all = slices.DeleteFunc(b.all, func(other *Snapshot) bool { return other == s })
	}
	return s, err
}

// Clear removes all snapshots and returns their number.
func (b *Book) Clear() int {
	n := len(b.all)
	b.all = nil
	return n
}

// Warning returns a warning above [MaxSnapshots] snapshots, else "".
func (b *Book) Warning() string {
	if len(b.all) <= MaxSnapshots {
		return ""
	}
	return fmt.Sprintf("%d snapshots exist, more than %d; remove unneeded ones with snapshot_delete or snapshot_clear", len(b.all), MaxSnapshots)
}
