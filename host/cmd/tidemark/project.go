package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/installer/safefile"
)

// projectFile is the name of a project's settings file. The nearest one at or above the working directory applies.
const projectFile = ".tidemark.toml"

// findProject returns the path of the project's settings file, "" when there is none.
func findProject() string {
	dir, err := os.Getwd()
	if err != nil {
		return "" // without a working directory there is no project
	}
	return findProjectIn(dir)
}

// findProjectIn is findProject for another directory.
func findProjectIn(dir string) string {
	for {
		path := filepath.Join(dir, projectFile)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) { // a broken link is an error to report
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// projectOrigins returns the origins of the project in the working directory. None means all origins.
func projectOrigins() ([]string, error) { return originsOf(findProject()) }

// originsOf returns the origins in a project's settings file, none when path is "". It does not read the noise
// rules: the daemon does, and errors there block nothing. An error is one line with file, line and column.
func originsOf(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readProjectFile(path)
	if err != nil {
		return nil, err
	}
	var keys map[string]any
	if err := toml.Unmarshal(noise.BeforeNoise(data), &keys); err != nil {
		where := path
		if at := (*toml.DecodeError)(nil); errors.As(err, &at) {
			line, column := at.Position()
			where = fmt.Sprintf("%s:%d:%d", path, line, column)
		}
		return nil, usageError{fmt.Errorf("%s: %s", where, oneLine(event.Clean(err.Error())))}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if key != "origins" && key != "noise" { // noise.off = [] needs no table of its own
			return nil, usageError{fmt.Errorf("%s: unknown key %s; the keys of this file are origins and noise", place(path, data, key), event.Clean(key))}
		}
	}
	if keys["origins"] == nil {
		return nil, nil
	}
	where := place(path, data, "origins")
	list, ok := keys["origins"].([]any)
	origins := make([]string, len(list))
	for i := range list {
		if origins[i], ok = list[i].(string); !ok {
			break
		}
	}
	if !ok {
		return nil, usageError{fmt.Errorf(`%s: origins must be a list of strings, such as ["http://localhost:5173"]`, where)}
	}
	return scopeOrigins(where, origins)
}

// place returns file, line and column of a key, or only the file when it is not found.
func place(path string, data []byte, key string) string {
	at := regexp.MustCompile(`(?m)^[ \t]*(\[[ \t]*)?["']?` + regexp.QuoteMeta(key) + `\b`).FindIndex(data)
	if at == nil {
		return path
	}
	before := data[:at[1]]
	return fmt.Sprintf("%s:%d:%d", path, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')-len(key))
}

// projectScope is the scope of an agent in a project. It comes from the project's file, and is empty until that
// file is readable.
type projectScope struct {
	file    string // "" without one
	known   bool
	origins []string
}

// nowhere is the scope of an agent while the project's file is unreadable.
var nowhere = []string{"http://unreadable.invalid"}

// look reads the file until it succeeds once. Later errors in the file change nothing. It reports whether this
// call was the first success.
func (s *projectScope) look() (fixed bool, err error) {
	if s.known {
		return false, nil
	}
	origins, err := originsOf(s.file)
	if err != nil {
		s.origins = nowhere
		return false, err
	}
	s.origins, s.known = origins, true
	return true, nil
}

// untilFixed is the answer to an agent while the project's file is unreadable.
func untilFixed(problem error) string {
	return "Tidemark reports nothing until you fix this project file, which sets the origins in scope: " + oneLine(problem.Error()) + ". It is reread on each call."
}

func scopeOrigins(where string, list []string) ([]string, error) {
	scope, err := checkpoint.NewScope(list)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", where, err)}
	}
	return scope.Origins, nil
}

// readProject returns the path and content of the project's settings file. The path is "" when there is none.
func readProject() (path string, data []byte, err error) {
	if path = findProject(); path == "" {
		return "", nil, nil
	}
	data, err = readProjectFile(path)
	return path, data, err
}

// readProjectFile reads a project's settings file. It trusts neither the file nor its type, because the repository
// controls that path.
func readProjectFile(path string) ([]byte, error) {
	data, err := safefile.Read(path, noise.MaxProjectFile)
	if err != nil {
		return nil, err
	}
	if err := safefile.CheckTOML(data, noise.MaxProjectKeys); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}
