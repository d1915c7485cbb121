package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/noise"
)

// projectFile is a project's settings; the nearest at or above the working directory counts.
const projectFile = ".tidemark.toml"

// findProject is the path of the project's settings file, "" when there is none.
func findProject() string {
	dir, err := os.Getwd()
	if err != nil {
		return "" // without a working directory there is no project
	}
	return findProjectIn(dir)
}

// findProjectIn is the same for another directory.
func findProjectIn(dir string) string {
	for {
		path := filepath.Join(dir, projectFile)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// projectOrigins are the origins of the project in the working directory; none means everything.
func projectOrigins() ([]string, error) { return originsOf(findProject()) }

// originsOf are the origins that a project's settings file names, none when path is "". What the file says
// of noise is the daemon's to read, and no mistake there keeps anything from going on.
func originsOf(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p struct {
		Origins []string `toml:"origins"`
	}
	if err := toml.Unmarshal(noise.BeforeNoise(data), &p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return scopeOrigins(path, p.Origins)
}

func scopeOrigins(where string, list []string) ([]string, error) {
	scope, err := checkpoint.NewScope(list)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", where, err)}
	}
	return scope.Origins, nil
}

// readProject is the project's settings file, "" when there is none.
func readProject() (path string, data []byte, err error) {
	if path = findProject(); path == "" {
		return "", nil, nil
	}
	data, err = os.ReadFile(path)
	return path, data, err
}
