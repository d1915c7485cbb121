package main

import (
	"fmt"
	"os"
	"strconv"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/project"
)

// findProject returns the path of the settings file of the project in the working directory, "" when there is none.
func findProject() string {
	dir, err := os.Getwd()
	if err != nil {
		return "" // without a working directory there is no project
	}
	return project.Find(dir)
}

// projectOrigins returns the origins of the project in the working directory. None means all origins.
func projectOrigins() ([]string, error) { return originsOf(findProject()) }

// originsOf returns the origins in a project's settings file, none when path is "". It does not read the noise
// rules: the daemon does, and errors there block nothing. An error is one line with file, line and column.
func originsOf(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := project.Read(path)
	if err != nil {
		return nil, err
	}
	s, err := project.Parse(path, data)
	if err != nil {
		return nil, usageError{err}
	}
	return inBranch(s.Origins), nil
}

// inBranch returns the origins of a branch: Tidemark starts its agent with what is added to the ports of the original. Where the
// environment does not have that, the daemon adds it ([shifts]).
func inBranch(origins []string) []string {
	offset, known := portOffset()
	if !known {
		return origins
	}
	return project.Shift(origins, offset)
}

func portOffset() (offset int, known bool) {
	offset, err := strconv.Atoi(os.Getenv("TIDEMARK_PORT_OFFSET"))
	return offset, err == nil
}

// shifts reports whether the daemon is to add to the ports of origins what a branch adds. Codex starts MCP servers without the variables
// that it has, and a user may start an agent in a branch.
func shifts() bool {
	_, known := portOffset()
	return !known
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
	data, err = project.Read(path)
	return path, data, err
}
