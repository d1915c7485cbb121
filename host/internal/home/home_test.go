//go:build !windows

package home

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWhereAHomeIs(t *testing.T) {
	for _, c := range []struct {
		name, home, state, runtime string
		want                       Home
	}{
		{"set", "/srv/t", "", "", Home{"/srv/t", "/srv/t/config.toml", "/srv/t/run", "0.1.0"}},
		{"by the platform's directories", "", "/s", "/r", Home{"/s/tidemark", "/c/tidemark/config.toml", "/r/tidemark", "0.1.0"}},
		{"without a runtime directory", "", "/s", "", Home{"/s/tidemark", "/c/tidemark/config.toml", "/s/tidemark/run", "0.1.0"}},
		{"relative directories are ignored", "", "s", "r", Home{"/u/.local/state/tidemark", "/c/tidemark/config.toml", "/u/.local/state/tidemark/run", "0.1.0"}},
		{"by the user's directory", "", "", "", Home{"/u/.local/state/tidemark", "/c/tidemark/config.toml", "/u/.local/state/tidemark/run", "0.1.0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range map[string]string{
				Env: c.home, "XDG_STATE_HOME": c.state, "XDG_RUNTIME_DIR": c.runtime, "XDG_CONFIG_HOME": "/c", "HOME": "/u",
			} {
				t.Setenv(name, value)
			}
			h, err := Find("0.1.0")
			if err != nil || h != c.want {
				t.Errorf("%+v %v", h, err)
			}
		})
	}
	t.Setenv(Env, "relative")
	if h, err := Find("0.1.0"); err != nil || !filepath.IsAbs(h.State) || os.Getenv(Env) != h.State {
		t.Errorf("%+v %v", h, err)
	}
	t.Setenv(Env, "")
	t.Setenv("HOME", "/u")
	t.Setenv("XDG_CONFIG_HOME", "relative")
	if h, err := Find("0.1.0"); err != nil || runtime.GOOS == "linux" && h.Config != "/u/.config/tidemark/config.toml" {
		t.Errorf("%+v %v", h, err)
	}
}
