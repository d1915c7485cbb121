package workspace

import (
	"context"
	"errors"
	"sync"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/watch"
)

// watching watches a workspace from its first snapshot on: what was recorded is shown without watching anything. It
// implements [tracked.Changes].
type watching struct {
	// start starts the watcher.
	start func() (watch.Watcher, error)

	mu    sync.Mutex
	begun bool
	// watcher is nil before it has begun, and where there is none because of failed.
	watcher watch.Watcher
	failed  error
}

// begin starts the watcher, unless it has begun.
func (w *watching) begin() watch.Watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		w.begun = true
		w.watcher, w.failed = w.start()
	}
	return w.watcher
}

// now returns the watcher as it is.
func (w *watching) now() (watcher watch.Watcher, begun bool, failed error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watcher, w.begun, w.failed
}

// Take returns what may have changed since the last call. Without a watcher that is everything.
func (w *watching) Take(ctx context.Context) (dirty tree.Dirty, whole bool, err error) {
	if watcher := w.begin(); watcher != nil {
		return watcher.Take(ctx)
	}
	return dirty, true, nil
}

// Since returns what may have changed since the last call of Take or Since. Without a watcher that is everything.
func (w *watching) Since(ctx context.Context) (dirty tree.Dirty, whole bool, err error) {
	if watcher, _, _ := w.now(); watcher != nil {
		return watcher.Since(ctx)
	}
	return dirty, true, nil
}

// Return takes back what could not be used.
func (w *watching) Return(dirty tree.Dirty, whole bool) {
	if watcher, _, _ := w.now(); watcher != nil {
		watcher.Return(dirty, whole)
	}
}

// limited returns why each snapshot compares all files, "" if it need not. Unsupported means that none is watched on this
// system.
func (w *watching) limited() (why string, unsupported bool) {
	watcher, begun, failed := w.now()
	if !begun {
		failed = watch.Unsupported()
	}
	switch {
	case watcher != nil:
		return event.Path(watcher.Limited()), false
	case failed != nil:
		return failed.Error(), errors.Is(failed, watch.ErrUnsupported)
	}
	return "", false
}

func (w *watching) close() error {
	if watcher, _, _ := w.now(); watcher != nil {
		return watcher.Close()
	}
	return nil
}
