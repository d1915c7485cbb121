//go:build !linux && !windows

package watch

// New returns [ErrUnsupported].
func New(Options) (Watcher, error) { return nil, ErrUnsupported }
