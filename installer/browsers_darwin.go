package installer

import (
	"os"
	"path/filepath"
)

// candidates are the applications of all users, then those of this user.
func candidates() []candidate {
	apps := []candidate{
		{Chrome, "Google Chrome.app/Contents/MacOS/Google Chrome"},
		{Chromium, "Chromium.app/Contents/MacOS/Chromium"},
		{Edge, "Microsoft Edge.app/Contents/MacOS/Microsoft Edge"},
		{Brave, "Brave Browser.app/Contents/MacOS/Brave Browser"},
		{Chrome, "Google Chrome Beta.app/Contents/MacOS/Google Chrome Beta"},
		{Chrome, "Google Chrome Dev.app/Contents/MacOS/Google Chrome Dev"},
		{Chrome, "Google Chrome Canary.app/Contents/MacOS/Google Chrome Canary"},
		{Edge, "Microsoft Edge Beta.app/Contents/MacOS/Microsoft Edge Beta"},
	}
	dirs := []string{"/Applications"}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, "Applications"))
	}
	var all []candidate
	for _, app := range apps {
		for _, dir := range dirs {
			all = append(all, candidate{app.kind, filepath.Join(dir, app.path)})
		}
	}
	return all
}
