package installer

import (
	"os"
	"path/filepath"
)

// candidates are the vendors' places below the directories for programs, machine-wide and per user.
func candidates() []candidate {
	apps := []candidate{
		{Chrome, `Google\Chrome\Application\chrome.exe`},
		{Chromium, `Chromium\Application\chrome.exe`},
		{Edge, `Microsoft\Edge\Application\msedge.exe`},
		{Brave, `BraveSoftware\Brave-Browser\Application\brave.exe`},
		{Chrome, `Google\Chrome Beta\Application\chrome.exe`},
		{Chrome, `Google\Chrome Dev\Application\chrome.exe`},
		{Chrome, `Google\Chrome SxS\Application\chrome.exe`},
	}
	var all []candidate
	for _, app := range apps {
		for _, env := range []string{"ProgramFiles", "ProgramFiles(x86)", "LocalAppData"} {
			if dir := os.Getenv(env); dir != "" {
				all = append(all, candidate{app.kind, filepath.Join(dir, app.path)})
			}
		}
	}
	return all
}
