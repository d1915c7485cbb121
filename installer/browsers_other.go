//go:build !linux && !darwin && !windows

package installer

// candidates are the names under which BSD ports install browsers.
func candidates() []candidate {
	return []candidate{{Chromium, "chrome"}, {Chromium, "chromium"}}
}
