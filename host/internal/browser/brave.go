package browser

import (
	"path/filepath"
	"runtime"

	"tidemark.dev/tidemark/installer"
)

// registerBrave registers the native host for Brave, which looks in its default configuration
// directory instead of the profile. On Linux CHROME_CONFIG_HOME sets that directory. It points into the
// profile here, so that the user's own Brave stays untouched.
//
// Source: brave-core, app/brave_main_delegate_base.cc and chrome_paths_linux.cc.
func registerBrave(config, binary string) ([]string, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	for _, name := range []string{"BraveSoftware/Brave-Browser", "google-chrome", "chromium"} {
		if _, err := installer.InstallProfile(filepath.Join(config, name), binary); err != nil {
			return nil, err
		}
	}
	return []string{"CHROME_CONFIG_HOME=" + config}, nil
}
