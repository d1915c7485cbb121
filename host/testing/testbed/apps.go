package testbed

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Apps are the frameworks that the applications of host/e2e/apps are written in.
var Apps = []string{"react", "preact", "vue", "svelte", "lit", "jquery", "backbone"}

// BuildApps builds the applications in dir (host/e2e/apps) into out, with the npm packages that they are pinned to:
// each framework's list, FRAMEWORK.js, and its TodoMVC, todo-FRAMEWORK.js; rich text editors, editor-NAME.js.
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
	ready := filepath.Join(dir, "node_modules", ".ready") // holds the packages that are there
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
