package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/checkpoint"
)

// projectFile is a project's settings; the nearest at or above the working directory counts.
const projectFile = ".tidemark.toml"

// projectOrigins are the origins of the project in the working directory; none means everything.
func projectOrigins() ([]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil // without a working directory there is no project
	}
	for {
		path := filepath.Join(dir, projectFile)
		data, err := os.ReadFile(path)
		if err == nil {
			var p struct {
				Origins []string `toml:"origins"`
			}
			if err := toml.Unmarshal(data, &p); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			return scopeOrigins(path, p.Origins)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, nil
		}
		dir = parent
	}
}

func scopeOrigins(where string, list []string) ([]string, error) {
	scope, err := checkpoint.NewScope(list)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", where, err)}
	}
	return scope.Origins, nil
}
