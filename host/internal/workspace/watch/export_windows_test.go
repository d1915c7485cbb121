package watch

// Overflow makes a watcher take what the system says when it has no room for more changes.
func Overflow(w Watcher) {
	d := w.(*directory)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.take(0)
}
