package installer

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// System is the machine to inspect and change. Paths in results are those of its OS. Root maps them to this
// machine's disk, so that tests can run every system on any other.
type System struct {
	// OS is as in runtime.GOOS.
	OS string
	// Home is the user's home directory.
	Home string
	// Getenv reads the environment.
	Getenv func(string) string
	// Root is prepended to every path; "" on a real machine.
	Root string
	// Registry is nil except on Windows.
	Registry Registry
}

// Registry is the part of the current user's registry that browsers read. Keys are below
// HKEY_CURRENT_USER; a value is a key's default value.
type Registry interface {
	// Get reads a value. It returns false if the key does not exist.
	Get(key string) (string, bool, error)
	// Set creates a key and sets its value.
	Set(key, value string) error
	// Delete removes a key that has no subkeys.
	Delete(key string) error
	// Empty reports whether a key exists and has neither values nor subkeys.
	Empty(key string) bool
}

// ThisSystem is the machine that the program runs on.
func ThisSystem() (*System, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	if home, err = filepath.Abs(home); err != nil {
		return nil, err
	}
	return &System{OS: runtime.GOOS, Home: home, Getenv: os.Getenv, Registry: userRegistry()}, nil
}

// Tilde abbreviates paths below the home directory to ~/…, as a shell does.
func (s *System) Tilde(text string) string {
	home := s.join(s.Home)
	if len(home) < 2 || s.OS == "windows" {
		return text
	}
	return strings.ReplaceAll(text, home+"/", "~/")
}

// join joins with the system's own separator.
func (s *System) join(elem ...string) string {
	if s.OS == "windows" {
		return strings.ReplaceAll(strings.Join(elem, `\`), "/", `\`)
	}
	return filepath.ToSlash(filepath.Join(elem...))
}

// disk maps a path of the system to this machine's disk.
func (s *System) disk(path string) string {
	if s.Root == "" {
		return path
	}
	return filepath.Join(s.Root, filepath.FromSlash(strings.NewReplacer(`\`, "/", ":", "").Replace(path)))
}

func (s *System) exists(path string) bool {
	_, err := os.Stat(s.disk(path))
	return err == nil
}

// env returns the directory that a variable holds, or a default.
func (s *System) env(name string, otherwise ...string) string {
	v := s.Getenv(name)
	relative := s.OS != "windows" && !strings.HasPrefix(v, "/")
	if v == "" || relative && strings.HasPrefix(name, "XDG_") { // the specification ignores relative paths
		return s.join(otherwise...)
	}
	if abs, err := filepath.Abs(v); relative && err == nil {
		return abs // relative to the working directory, as the program that reads it resolves it
	}
	return v
}

// appData returns the directory of per-user application settings, which VS Code and Claude Desktop use.
func (s *System) appData() string {
	switch s.OS {
	case "windows":
		return s.env("APPDATA", s.Home, "AppData", "Roaming")
	case "darwin":
		return s.join(s.Home, "Library", "Application Support")
	}
	return s.env("XDG_CONFIG_HOME", s.Home, ".config")
}

// browserData returns the directory that holds the browsers' user data directories.
func (s *System) browserData() string {
	switch s.OS {
	case "windows":
		return s.env("LOCALAPPDATA", s.Home, "AppData", "Local")
	case "darwin":
		return s.appData()
	}
	// Chromium, chrome/common/chrome_paths_linux.cc: CHROME_CONFIG_HOME wins.
	return s.env("CHROME_CONFIG_HOME", s.appData())
}

// program finds a program by its path, or by a name in PATH.
func (s *System) program(name string) (string, bool) {
	if strings.ContainsAny(name, `/\`) {
		info, err := os.Stat(s.disk(name))
		return name, err == nil && (isProgram(info) || s.OS == "windows" && info.Mode().IsRegular())
	}
	separator := ":"
	if s.OS == "windows" {
		separator = ";"
	}
	for _, dir := range strings.Split(s.Getenv("PATH"), separator) {
		if dir == "" {
			continue
		}
		if path, ok := s.program(s.join(dir, name)); ok {
			return path, true
		}
	}
	return "", false
}
