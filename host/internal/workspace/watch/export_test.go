//go:build linux

package watch

// Stall keeps a watcher from taking events until it is released.
func Stall(w Watcher) (release func()) {
	i := w.(*inotify)
	i.mu.Lock()
	return i.mu.Unlock
}
