package installer

import (
	"fmt"
	"strings"
)

// product is one browser in one channel.
type product struct {
	// id is its name on the command line, name its display name.
	id, name string
	// kind is the family of a browser that Tidemark can launch, "" for the others.
	kind                   Kind
	linux, darwin, windows place
	// flatpak and snap are the names of its confined packages on Linux.
	flatpak, snap string
}

// place is where a browser is installed on one system. A browser without programs does not exist there.
type place struct {
	// programs are names in PATH or absolute paths (Linux), bundles below the directories of applications
	// (macOS), or paths below the directories of programs (Windows).
	programs []string
	// data is its user data directory below [System.browserData].
	data string
	// hosts are the directories below [System.browserData] whose NativeMessagingHosts the browser reads, or on
	// Windows the registry keys below HKEY_CURRENT_USER\Software. Empty means data.
	hosts []string
}

// products are all browsers that Tidemark supports: stable ones first, in the order in which Tidemark chooses one
// to launch. Sources: Chromium, chrome/common/chrome_paths*.cc and
// native_process_launcher_win.cc; the vendors' packages; the manifests that password managers install.
var products = []product{
	{
		id: "chrome", name: "Chrome", kind: Chrome, flatpak: "com.google.Chrome",
		linux:   place{programs: []string{"google-chrome-stable", "google-chrome", "/opt/google/chrome/chrome"}, data: "google-chrome"},
		darwin:  place{programs: []string{"Google Chrome.app/Contents/MacOS/Google Chrome"}, data: "Google/Chrome"},
		windows: place{programs: []string{`Google\Chrome\Application\chrome.exe`}, data: `Google\Chrome\User Data`, hosts: []string{`Google\Chrome`}},
	},
	{
		id: "chromium", name: "Chromium", kind: Chromium, flatpak: "org.chromium.Chromium", snap: "chromium",
		linux:   place{programs: []string{"chromium", "chromium-browser", "chrome"}, data: "chromium"},
		darwin:  place{programs: []string{"Chromium.app/Contents/MacOS/Chromium"}, data: "Chromium"},
		windows: place{programs: []string{`Chromium\Application\chrome.exe`}, data: `Chromium\User Data`, hosts: []string{`Chromium`}},
	},
	{
		id: "edge", name: "Edge", kind: Edge, flatpak: "com.microsoft.Edge",
		linux:   place{programs: []string{"microsoft-edge-stable", "microsoft-edge"}, data: "microsoft-edge"},
		darwin:  place{programs: []string{"Microsoft Edge.app/Contents/MacOS/Microsoft Edge"}, data: "Microsoft Edge"},
		windows: place{programs: []string{`Microsoft\Edge\Application\msedge.exe`}, data: `Microsoft\Edge\User Data`, hosts: []string{`Microsoft\Edge`}},
	},
	{
		id: "brave", name: "Brave", kind: Brave, flatpak: "com.brave.Browser", snap: "brave",
		linux:   place{programs: []string{"brave-browser-stable", "brave-browser", "brave"}, data: "BraveSoftware/Brave-Browser"},
		darwin:  place{programs: []string{"Brave Browser.app/Contents/MacOS/Brave Browser"}, data: "BraveSoftware/Brave-Browser"},
		windows: place{programs: []string{`BraveSoftware\Brave-Browser\Application\brave.exe`}, data: `BraveSoftware\Brave-Browser\User Data`, hosts: []string{`BraveSoftware\Brave-Browser`, `Google\Chrome`}},
	},
	{
		id: "vivaldi", name: "Vivaldi", flatpak: "com.vivaldi.Vivaldi", snap: "vivaldi",
		linux:   place{programs: []string{"vivaldi-stable", "vivaldi"}, data: "vivaldi"},
		darwin:  place{programs: []string{"Vivaldi.app/Contents/MacOS/Vivaldi"}, data: "Vivaldi"},
		windows: place{programs: []string{`Vivaldi\Application\vivaldi.exe`}, data: `Vivaldi\User Data`, hosts: []string{`Vivaldi`, `Google\Chrome`}},
	},
	{
		// Opera reads Chrome's directory, whatever its own is.
		id: "opera", name: "Opera", flatpak: "com.opera.Opera", snap: "opera",
		linux:   place{programs: []string{"opera", "opera-stable"}, data: "opera", hosts: []string{"google-chrome"}},
		darwin:  place{programs: []string{"Opera.app/Contents/MacOS/Opera"}, data: "com.operasoftware.Opera", hosts: []string{"Google/Chrome", "com.operasoftware.Opera"}},
		windows: place{programs: []string{`Programs\Opera\opera.exe`, `Opera\opera.exe`}, data: `Opera Software\Opera Stable`, hosts: []string{`Google\Chrome`}},
	},
	{
		id: "arc", name: "Arc",
		darwin:  place{programs: []string{"Arc.app/Contents/MacOS/Arc"}, data: "Arc/User Data"},
		windows: place{programs: []string{`Microsoft\WindowsApps\Arc.exe`}, data: `Arc\User Data`, hosts: []string{`Google\Chrome`}},
	},
	{
		id: "chrome-beta", name: "Chrome Beta", kind: Chrome,
		linux:   place{programs: []string{"google-chrome-beta"}, data: "google-chrome-beta"},
		darwin:  place{programs: []string{"Google Chrome Beta.app/Contents/MacOS/Google Chrome Beta"}, data: "Google/Chrome Beta"},
		windows: place{programs: []string{`Google\Chrome Beta\Application\chrome.exe`}, data: `Google\Chrome Beta\User Data`, hosts: []string{`Google\Chrome`}},
	},
	{
		id: "chrome-dev", name: "Chrome Dev", kind: Chrome, flatpak: "com.google.ChromeDev",
		linux:   place{programs: []string{"google-chrome-unstable"}, data: "google-chrome-unstable"},
		darwin:  place{programs: []string{"Google Chrome Dev.app/Contents/MacOS/Google Chrome Dev"}, data: "Google/Chrome Dev"},
		windows: place{programs: []string{`Google\Chrome Dev\Application\chrome.exe`}, data: `Google\Chrome Dev\User Data`, hosts: []string{`Google\Chrome`}},
	},
	{
		id: "chrome-canary", name: "Chrome Canary", kind: Chrome,
		linux:   place{programs: []string{"google-chrome-canary"}, data: "google-chrome-canary"},
		darwin:  place{programs: []string{"Google Chrome Canary.app/Contents/MacOS/Google Chrome Canary"}, data: "Google/Chrome Canary"},
		windows: place{programs: []string{`Google\Chrome SxS\Application\chrome.exe`}, data: `Google\Chrome SxS\User Data`, hosts: []string{`Google\Chrome`}},
	},
	{
		id: "edge-beta", name: "Edge Beta", kind: Edge,
		linux:   place{programs: []string{"microsoft-edge-beta"}, data: "microsoft-edge-beta"},
		darwin:  place{programs: []string{"Microsoft Edge Beta.app/Contents/MacOS/Microsoft Edge Beta"}, data: "Microsoft Edge Beta"},
		windows: place{programs: []string{`Microsoft\Edge Beta\Application\msedge.exe`}, data: `Microsoft\Edge Beta\User Data`, hosts: []string{`Microsoft\Edge`}},
	},
	{
		id: "edge-dev", name: "Edge Dev", kind: Edge,
		linux:   place{programs: []string{"microsoft-edge-dev"}, data: "microsoft-edge-dev"},
		darwin:  place{programs: []string{"Microsoft Edge Dev.app/Contents/MacOS/Microsoft Edge Dev"}, data: "Microsoft Edge Dev"},
		windows: place{programs: []string{`Microsoft\Edge Dev\Application\msedge.exe`}, data: `Microsoft\Edge Dev\User Data`, hosts: []string{`Microsoft\Edge`}},
	},
	{
		id: "edge-canary", name: "Edge Canary", kind: Edge,
		darwin:  place{programs: []string{"Microsoft Edge Canary.app/Contents/MacOS/Microsoft Edge Canary"}, data: "Microsoft Edge Canary"},
		windows: place{programs: []string{`Microsoft\Edge SxS\Application\msedge.exe`}, data: `Microsoft\Edge SxS\User Data`, hosts: []string{`Microsoft\Edge`}},
	},
	{
		id: "brave-beta", name: "Brave Beta", kind: Brave,
		linux:   place{programs: []string{"brave-browser-beta"}, data: "BraveSoftware/Brave-Browser-Beta"},
		darwin:  place{programs: []string{"Brave Browser Beta.app/Contents/MacOS/Brave Browser Beta"}, data: "BraveSoftware/Brave-Browser-Beta"},
		windows: place{programs: []string{`BraveSoftware\Brave-Browser-Beta\Application\brave.exe`}, data: `BraveSoftware\Brave-Browser-Beta\User Data`, hosts: []string{`BraveSoftware\Brave-Browser`, `Google\Chrome`}},
	},
	{
		id: "brave-nightly", name: "Brave Nightly", kind: Brave,
		linux:   place{programs: []string{"brave-browser-nightly"}, data: "BraveSoftware/Brave-Browser-Nightly"},
		darwin:  place{programs: []string{"Brave Browser Nightly.app/Contents/MacOS/Brave Browser Nightly"}, data: "BraveSoftware/Brave-Browser-Nightly"},
		windows: place{programs: []string{`BraveSoftware\Brave-Browser-Nightly\Application\brave.exe`}, data: `BraveSoftware\Brave-Browser-Nightly\User Data`, hosts: []string{`BraveSoftware\Brave-Browser`, `Google\Chrome`}},
	},
	{
		id: "vivaldi-snapshot", name: "Vivaldi Snapshot",
		linux:   place{programs: []string{"vivaldi-snapshot"}, data: "vivaldi-snapshot"},
		darwin:  place{programs: []string{"Vivaldi Snapshot.app/Contents/MacOS/Vivaldi Snapshot"}, data: "Vivaldi Snapshot"},
		windows: place{programs: []string{`Vivaldi Snapshot\Application\vivaldi.exe`}, data: `Vivaldi Snapshot\User Data`, hosts: []string{`Vivaldi`, `Google\Chrome`}},
	},
	{
		id: "opera-beta", name: "Opera Beta", snap: "opera-beta",
		linux:   place{programs: []string{"opera-beta"}, data: "opera-beta", hosts: []string{"google-chrome"}},
		darwin:  place{programs: []string{"Opera Beta.app/Contents/MacOS/Opera"}, data: "com.operasoftware.OperaNext", hosts: []string{"Google/Chrome", "com.operasoftware.OperaNext"}},
		windows: place{programs: []string{`Programs\Opera beta\opera.exe`}, data: `Opera Software\Opera Next`, hosts: []string{`Google\Chrome`}},
	},
	{
		id: "opera-developer", name: "Opera Developer", snap: "opera-developer",
		linux:   place{programs: []string{"opera-developer"}, data: "opera-developer", hosts: []string{"google-chrome"}},
		darwin:  place{programs: []string{"Opera Developer.app/Contents/MacOS/Opera"}, data: "com.operasoftware.OperaDeveloper", hosts: []string{"Google/Chrome", "com.operasoftware.OperaDeveloper"}},
		windows: place{programs: []string{`Programs\Opera developer\opera.exe`}, data: `Opera Software\Opera Developer`, hosts: []string{`Google\Chrome`}},
	},
}

func (p *product) on(os string) place {
	switch os {
	case "darwin":
		return p.darwin
	case "windows":
		return p.windows
	}
	return p.linux
}

// programs are the paths and names under which a browser may be installed.
func (s *System) programs(p *product) []string {
	names := p.on(s.OS).programs
	var dirs []string
	switch s.OS {
	case "darwin":
		dirs = []string{"/Applications", s.join(s.Home, "Applications")}
	case "windows":
		for _, name := range []string{"ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"} {
			if dir := s.Getenv(name); dir != "" {
				dirs = append(dirs, dir)
			}
		}
	default:
		return names
	}
	var all []string
	for _, name := range names {
		for _, dir := range dirs {
			all = append(all, s.join(dir, name))
		}
	}
	return all
}

// Found is an installed browser.
type Found struct {
	// ID is its name on the command line, Name its display name.
	ID, Name string
	// Program is its path, "" when only its profile was found.
	Program string
	// Confined says why Tidemark cannot be reached from it, "" when it can.
	Confined string

	place place
}

// Find lists the browsers of the system: those whose program exists and those that this user has started
// before. Sandboxed packages (Flatpak, snap) are listed separately.
func (s *System) Find() []Found {
	var all []Found
	for i := range products {
		p := &products[i]
		at := p.on(s.OS)
		if len(at.programs) == 0 {
			continue
		}
		f := Found{ID: p.id, Name: p.name, place: at}
		for _, name := range s.programs(p) {
			if path, ok := s.program(name); ok && !s.startsSnap(p, path) {
				f.Program = path
				break
			}
		}
		// Every Chromium writes this file at its first start. A directory alone proves nothing: other programs put
		// manifests there for browsers that may be installed later.
		data := s.join(s.browserData(), at.data)
		if s.OS == "windows" && strings.HasPrefix(at.data, "Opera") {
			data = s.join(s.appData(), at.data) // Opera's profile roams
		}
		if f.Program != "" || s.exists(s.join(data, "Local State")) {
			all = append(all, f)
		}
		if s.OS == "linux" {
			all = append(all, s.confined(p)...)
		}
	}
	return all
}

// startsSnap reports whether a program is a snap or Ubuntu's script that starts one.
func (s *System) startsSnap(p *product, path string) bool {
	return strings.HasPrefix(path, "/snap/") ||
		p.snap != "" && strings.HasSuffix(path, "-browser") && s.exists(s.join("/snap", p.snap, "current"))
}

// confined finds packages whose sandbox hides the sockets and files of the user's session from the programs
// that a browser starts. The native host would run there, but could not reach the daemon.
func (s *System) confined(p *product) []Found {
	const why = "%s sandboxes it, so it cannot reach Tidemark; install the browser from its vendor's or distribution's package, or use `tidemark browser`"
	var all []Found
	if p.flatpak != "" && (s.exists(s.join(s.Home, ".local/share/flatpak/app", p.flatpak)) || s.exists(s.join("/var/lib/flatpak/app", p.flatpak))) {
		all = append(all, Found{ID: p.id, Name: p.name + " (Flatpak)", Confined: fmt.Sprintf(why, "Flatpak")})
	}
	if p.snap != "" && s.exists(s.join("/snap", p.snap, "current")) {
		all = append(all, Found{ID: p.id, Name: p.name + " (snap)", Confined: fmt.Sprintf(why, "snap")})
	}
	return all
}
