package viewer

import "sync"

// Signal wakes those who follow along. The zero value is ready to use, and safe for concurrent use.
type Signal struct {
	mu      sync.Mutex
	changed chan struct{}
}

// Changed is closed at the next [Signal.Tell].
func (s *Signal) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Tell wakes them.
func (s *Signal) Tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}
