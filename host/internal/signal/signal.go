// Package signal wakes those who wait for a change. It guarantees that a change after [Signal.Changed] is never missed.
package signal

import "sync"

// Signal wakes everyone who waits for a change. The zero value is ready to use, and safe for concurrent use.
type Signal struct {
	mu      sync.Mutex
	changed chan struct{}
	count   uint64
}

// Changed is closed at the next [Signal.Notify].
func (s *Signal) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Notify closes the channel that Changed returned.
func (s *Signal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Count returns how often Notify was called.
func (s *Signal) Count() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
