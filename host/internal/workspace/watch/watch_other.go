//go:build !linux

package watch

// New returns [ErrUnsupported].
func New(Options) (Watcher, error) { return nil, ErrUnsupported }
