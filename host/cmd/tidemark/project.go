package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/installer/safefile"
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
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) { // a link that leads nowhere is a mistake to report
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
// of noise is the daemon's to read, and no mistake there keeps anything from going on. One here says file, line
// and column, in one line.
func originsOf(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readProjectFile(path)
	if err != nil {
		return nil, err
	}
	var p struct {
		Origins []string `toml:"origins"`
	}
	if err := toml.Unmarshal(noise.BeforeNoise(data), &p); err != nil {
		where := path
		if at := (*toml.DecodeError)(nil); errors.As(err, &at) {
			line, column := at.Position()
			where = fmt.Sprintf("%s:%d:%d", path, line, column)
		}
		return nil, usageError{fmt.Errorf("%s: %s", where, oneLine(event.Clean(err.Error())))}
	}
	return scopeOrigins(placeOfOrigins(path, data), p.Origins)
}

// originsKey is where a project's file begins to say its origins.
var originsKey = regexp.MustCompile(`(?m)^[ \t]*["']?origins\b`)

// placeOfOrigins is the place in a file where its origins are, the file when it is not found.
func placeOfOrigins(path string, data []byte) string {
	at := originsKey.FindIndex(data)
	if at == nil {
		return path
	}
	before := data[:at[1]]
	return fmt.Sprintf("%s:%d:%d", path, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')-len("origins"))
}

// projectScope is the scope of an agent that works in a project. It is what the project's file says, as soon as
// that can be read; until then it is nothing at all.
type projectScope struct {
	file    string // "" for none
	known   bool
	origins []string
}

// nowhere is the scope of an agent whose project's file cannot be read.
var nowhere = []string{"http://unreadable.invalid"}

// look reads the file until it could be read once; later mistakes in it change nothing. It says whether
// that was now.
func (s *projectScope) look() (mended bool, err error) {
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

// untilMended is what an agent is told instead of what happens.
func untilMended(problem error) string {
	return "Tidemark tells nothing until this file of the project is mended, since it says of which pages you are to hear: " + oneLine(problem.Error()) + ". It is read again at each call."
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
	data, err = readProjectFile(path)
	return path, data, err
}

// readProjectFile reads a project's settings file. The repository controls what lies at that path.
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
