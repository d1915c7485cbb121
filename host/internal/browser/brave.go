package browser

import (
	"path/filepath"
	"runtime"

	"tidemark.dev/tidemark/installer"
)

// registerBrave registers the native host for Brave, which looks below its default configuration
// directory and not below the profile. On Linux that directory follows CHROME_CONFIG_HOME, which is
// moved into the profile so that the person's own Brave is not touched.
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
