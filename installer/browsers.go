package installer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BrowserEnv is the environment variable that names the browser to use: a path, or the name of a
// program in PATH. It takes precedence over the browsers that are found.
const BrowserEnv = "TIDEMARK_BROWSER"

// Kind is the family that a browser belongs to. Families differ in where they keep their settings.
type Kind string

// The families that Tidemark can launch.
const (
	Chrome   Kind = "Chrome"
	Chromium Kind = "Chromium"
	Edge     Kind = "Edge"
	Brave    Kind = "Brave"
	// Unknown is a browser that [BrowserEnv] names and whose family the file name does not show. It is
	// treated like Chromium.
	Unknown Kind = "browser"
)

// Browser is one browser of this machine.
type Browser struct {
	Kind Kind
	// Path is the absolute path of the program.
	Path string
}

// String is the family and the path, for messages.
func (b Browser) String() string { return fmt.Sprintf("%s (%s)", b.Kind, b.Path) }

// candidate is a place where a browser may be: an absolute path, or a name to look up in PATH.
type candidate struct {
	kind Kind
	path string
}

// ErrNoBrowser says that this machine has no browser that Tidemark can launch.
var ErrNoBrowser = errors.New("no Chrome, Chromium, Edge or Brave found on this machine; " +
	"install one, or set " + BrowserEnv + " to the path of one")

// FindBrowser returns the browser to launch: the one that [BrowserEnv] names, else the first of
// [FindBrowsers], else [ErrNoBrowser]. A variable without a usable value is an error and never ignored.
func FindBrowser() (Browser, error) {
	if name := os.Getenv(BrowserEnv); name != "" {
		path, ok := lookup(name)
		if !ok {
			return Browser{}, fmt.Errorf("%s is set to %q, which is not an executable; set it to the path of a browser, or unset it", BrowserEnv, name)
		}
		return Browser{Kind: KindOf(path), Path: path}, nil
	}
	if found := FindBrowsers(); len(found) > 0 {
		return found[0], nil
	}
	return Browser{}, ErrNoBrowser
}

// FindBrowsers lists the browsers of this machine that Tidemark can launch, stable channels first
// and Chrome before Chromium, Edge and Brave. Two names of one program count once. It ignores
// [BrowserEnv]. On Linux it omits Flatpak and snap packages: their sandbox reaches neither a profile in a
// temporary directory nor the native host.
func FindBrowsers() []Browser {
	s, err := ThisSystem()
	if err != nil {
		return nil
	}
	var all []candidate
	for i := range products {
		if p := &products[i]; p.kind != "" {
			for _, path := range s.programs(p) {
				all = append(all, candidate{p.kind, path})
			}
		}
	}
	return findAmong(all)
}

func findAmong(places []candidate) []Browser {
	var found []Browser
	seen := make(map[string]bool)
	for _, c := range places {
		path, ok := lookup(c.path)
		if !ok {
			continue
		}
		real := path
		if r, err := filepath.EvalSymlinks(path); err == nil {
			real = r
		}
		if seen[real] {
			continue
		}
		seen[real] = true
		found = append(found, Browser{Kind: c.kind, Path: path})
	}
	return found
}

// KindOf guesses the family from a program's path.
func KindOf(path string) Kind {
	name := strings.ToLower(filepath.Base(path))
	switch {
	case strings.Contains(name, "chromium"):
		return Chromium
	case strings.Contains(name, "edge"):
		return Edge
	case strings.Contains(name, "brave"):
		return Brave
	case strings.Contains(name, "chrome"):
		return Chrome
	}
	return Unknown
}

// lookup resolves a path or a name in PATH to the absolute path of a program.
func lookup(name string) (string, bool) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	path, err = filepath.Abs(path)
	return path, err == nil
}
