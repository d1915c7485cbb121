// Package npm installs applications of tests with the packages that their lock files name.
//
// It guarantees: packages are installed once for a lock file, and anew when that differs.
package npm

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Install has dir contain nothing but the packages of from/package-lock.json. Their scripts do not run.
func Install(from, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := packages(from, dir); err != nil {
		return err
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range left { // what an earlier run left, and what it was stopped in
		if entry.Name() != modules {
			if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// modules is where npm installs packages.
const modules = "node_modules"

func packages(from, dir string) error {
	locked, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		return err
	}
	ready := filepath.Join(dir, modules, ".ready")
	if there, err := os.ReadFile(ready); err == nil && bytes.Equal(there, locked) {
		return nil
	}
	for _, name := range []string{".npmrc", "package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	if err := Run(dir, "npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error"); err != nil {
		return err
	}
	return os.WriteFile(ready, locked, 0o600)
}

// Overlay copies a folder's files, or one file, into dir. What npm installed is left out.
func Overlay(dir, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == modules {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if name == "." {
			name = entry.Name()
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	})
}

// Run runs a program in dir. The error has its output.
func Run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out)
	}
	return nil
}
