package variables

import (
	"fmt"
	"slices"
	"strconv"
)

// MaxSnapshots is how many a debug session may hold without a warning.
const MaxSnapshots = 100

// Book holds the snapshots of one debug session, in the order in which they were taken. It is not safe for
// concurrent use.
type Book struct {
	all []*Snapshot
	// taken counts all there ever were, for labels.
	taken int
}

// UnknownError names a snapshot that is not there.
type UnknownError struct {
	ID string
	// Known are the newest of those that are there.
	Known []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no snapshot %q: none is held; snapshots end with their debug session", e.ID)
	}
	list := ""
	for i, k := range e.Known {
		if i > 0 {
			list += ", "
		}
		list += k
	}
	return fmt.Sprintf("there is no snapshot %q; there are %s", e.ID, list)
}

// Add takes a snapshot in, and labels it if it has no label.
func (b *Book) Add(s *Snapshot) {
	b.taken++
	if s.Label == "" {
		s.Label = "snapshot-" + strconv.Itoa(b.taken)
	}
	b.all = append(b.all, s)
}

// All are the snapshots, the oldest first.
func (b *Book) All() []*Snapshot { return b.all }

// Find returns the snapshot of an id, or the newest of a label; an [*UnknownError] when there is neither.
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

// Before is the newest snapshot of the same thread and function that was taken before this one; nil when
// there is none.
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

// Delete removes a snapshot; an [*UnknownError] when it is not there.
func (b *Book) Delete(id string) (*Snapshot, error) {
	s, err := b.Find(id)
	if err == nil {
		b.all = slices.DeleteFunc(b.all, func(other *Snapshot) bool { return other == s })
	}
	return s, err
}

// Clear removes all, and says how many they were.
func (b *Book) Clear() int {
	n := len(b.all)
	b.all = nil
	return n
}

// Warning says that there are more than a session should hold; "" when there are not.
func (b *Book) Warning() string {
	if len(b.all) <= MaxSnapshots {
		return ""
	}
	return fmt.Sprintf("%d snapshots are held, more than %d; remove those that are no longer needed with snapshot_delete or snapshot_clear", len(b.all), MaxSnapshots)
}
