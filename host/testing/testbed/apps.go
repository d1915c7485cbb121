package testbed

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Apps lists the frameworks of the applications in host/e2e/apps.
var Apps = []string{"react", "preact", "vue", "svelte", "lit", "jquery", "backbone"}

// BuildApps builds the applications in dir (host/e2e/apps) into out, with their pinned npm packages. For each
// framework that is a list, FRAMEWORK.js, and a TodoMVC, todo-FRAMEWORK.js. For rich text editors it is
// editor-NAME.js.
func BuildApps(dir, out string) error {
	run := func(name string, args ...string) error {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, said)
		}
		return nil
	}
	locked, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	ready := filepath.Join(dir, "node_modules", ".ready") // records the installed packages
	if there, err := os.ReadFile(ready); err != nil || !bytes.Equal(there, locked) {
		if err := run("npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error"); err != nil {
			return err
		}
		if err := os.WriteFile(ready, locked, 0o600); err != nil {
			return err
		}
	}
	return run("node", "build.mjs", out)
}
