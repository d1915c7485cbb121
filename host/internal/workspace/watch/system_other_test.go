//go:build !windows

package watch_test

// underWine reports whether Wine runs the test.
func underWine() bool { return false }
