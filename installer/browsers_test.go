package installer

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestBrowserOfTheEnvironmentWins(t *testing.T) {
	path := program(t)
	t.Setenv(BrowserEnv, path)
	got, err := FindBrowser()
	if err != nil {
		t.Fatal(err)
	}
	if got.Path != path || got.Kind != Unknown {
		t.Errorf("FindBrowser = %v", got)
	}
}

func TestBrowserOfTheEnvironmentThatIsNoneIsAnError(t *testing.T) {
	t.Setenv(BrowserEnv, filepath.Join(t.TempDir(), "absent"))
	_, err := FindBrowser()
	if err == nil || !strings.Contains(err.Error(), BrowserEnv) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("err = %v", err)
	}
}

func TestOneProgramWithTwoNamesCountsOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	path := program(t)
	link := filepath.Join(t.TempDir(), "google-chrome")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	found := findAmong([]candidate{{Chrome, link}, {Chrome, path}, {Edge, path + "-absent"}})
	if len(found) != 1 || found[0].Path != link {
		t.Errorf("found = %v", found)
	}
}

func TestKindIsReadOffTheFileName(t *testing.T) {
	for path, want := range map[string]Kind{
		"/usr/bin/chromium":              Chromium,
		"/usr/bin/google-chrome-stable":  Chrome,
		"/usr/bin/microsoft-edge":        Edge,
		"/usr/bin/brave-browser":         Brave,
		"/opt/whatever/thorium":          Unknown,
		"/usr/lib/chromium/chromium-bin": Chromium,
	} {
		if got := KindOf(path); got != want {
			t.Errorf("KindOf(%s) = %s, want %s", path, got, want)
		}
	}
}
