package installer

// candidates are the names under which Linux distributions and the vendors' packages install
// browsers. Snap's and Flatpak's are left out: they are confined and reach neither a profile in a
// temporary directory nor the native host.
func candidates() []candidate {
	return []candidate{
		{Chrome, "google-chrome-stable"},
		{Chrome, "google-chrome"},
		{Chrome, "/opt/google/chrome/chrome"},
		{Chromium, "chromium"},
		{Chromium, "chromium-browser"},
		{Edge, "microsoft-edge-stable"},
		{Edge, "microsoft-edge"},
		{Brave, "brave-browser-stable"},
		{Brave, "brave-browser"},
		{Brave, "brave"},
		{Chrome, "google-chrome-beta"},
		{Chrome, "google-chrome-unstable"},
		{Edge, "microsoft-edge-beta"},
		{Edge, "microsoft-edge-dev"},
	}
}
