// Package project finds a project and reads its settings file, .tidemark.toml.
//
// Guarantees:
//   - A settings file only narrows: it limits the origins in scope, adds noise rules and excludes paths. Nothing in it
//     permits anything.
//   - A key that is not known is an error, so that a misspelt key never widens what it should narrow.
//   - Reading never blocks and is bounded, because the repository controls the file.
package project

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
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/installer/safefile"
)

// FileName is the name of a project's settings file. The nearest one at or above a directory applies.
const FileName = ".tidemark.toml"

// Find returns the path of the settings file that applies to a directory, "" when there is none.
func Find(dir string) string {
	at, _ := nearest(dir, FileName)
	return at
}

// Root returns the directory of the project that contains dir: the nearest one with a settings file or a .git. It
// returns false when there is none.
func Root(dir string) (string, bool) {
	at, ok := nearest(dir, FileName, ".git")
	if !ok {
		return "", false
	}
	return filepath.Dir(at), true
}

// nearest returns the path of the first of the names that exists in dir or in the nearest directory above it.
func nearest(dir string, names ...string) (string, bool) {
	for {
		for _, name := range names {
			path := filepath.Join(dir, name)
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) { // a broken link is an error to report
				return path, true
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// Read reads a settings file. It trusts neither the file nor its type.
func Read(path string) ([]byte, error) {
	data, err := safefile.Read(path, noise.MaxProjectFile)
	if err != nil {
		return nil, err
	}
	if err := safefile.CheckTOML(data, noise.MaxProjectKeys); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// Settings are what a settings file says, except for its noise rules. Package noiserules reads those.
type Settings struct {
	// Origins limit the scope of the project's agents. None means all origins.
	Origins []string
	// Exclude are the paths that are left out of file snapshots.
	Exclude Exclude
}

// Parse parses the settings file at path. Mistakes in noise rules are no errors here. An error is one line with file,
// line and column.
func Parse(path string, data []byte) (Settings, error) {
	var s Settings
	var keys map[string]any
	if err := toml.Unmarshal(data, &keys); err != nil {
		// Where the mistake is in a noise table, the rest applies.
		data = noise.WithoutNoise(data)
		keys = nil
		if err := toml.Unmarshal(data, &keys); err != nil {
			return s, invalid(path, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if key != "origins" && key != "noise" && key != "files" { // noise.off = [] needs no table of its own
			return s, fmt.Errorf("%s: unknown key %s; the keys of this file are origins, files and noise", place(path, data, key), event.Clean(key))
		}
	}
	if keys["origins"] != nil {
		origins, ok := texts(keys["origins"])
		where := place(path, data, "origins")
		if !ok {
			return s, fmt.Errorf(`%s: origins must be a list of strings, such as ["http://localhost:5173"]`, where)
		}
		scope, err := checkpoint.NewScope(origins)
		if err != nil {
			return s, fmt.Errorf("%s: %w", where, err)
		}
		s.Origins = scope.Origins
	}
	if keys["files"] == nil {
		return s, nil
	}
	files, ok := keys["files"].(map[string]any)
	if !ok {
		return s, fmt.Errorf(`%s: files must be a table, such as [files] with the line exclude = ["dist/"]`, place(path, data, "files"))
	}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		if key != "exclude" {
			return s, fmt.Errorf("%s: unknown key files.%s; the only key of this table is exclude", place(path, data, key), event.Clean(key))
		}
	}
	patterns, ok := texts(files["exclude"])
	if !ok && files["exclude"] != nil {
		return s, fmt.Errorf(`%s: files.exclude must be a list of strings, such as ["dist/", "*.log"]`, place(path, data, "exclude"))
	}
	for i, text := range patterns {
		if err := s.Exclude.add(text); err != nil {
			return s, fmt.Errorf("%s: files.exclude: pattern %q %w", placeOfPattern(path, data, i), event.Clean(text), err)
		}
	}
	return s, nil
}

// texts returns a list of strings.
func texts(v any) ([]string, bool) {
	list, ok := v.([]any)
	out := make([]string, len(list))
	for i := range list {
		if out[i], ok = list[i].(string); !ok {
			return nil, false
		}
	}
	return out, ok
}

// invalid is the error for a file that is not TOML.
func invalid(path string, err error) error {
	where := path
	if at := (*toml.DecodeError)(nil); errors.As(err, &at) {
		line, column := at.Position()
		where = fmt.Sprintf("%s:%d:%d", path, line, column)
	}
	return fmt.Errorf("%s: %s", where, strings.Join(strings.Fields(event.Clean(err.Error())), " "))
}

// place returns file, line and column of a key, or only the file when it is not found.
func place(path string, data []byte, key string) string {
	at := regexp.MustCompile(`(?m)^[ \t]*(?:\[[ \t]*)?(?:files[ \t]*\.[ \t]*)?["']?` + regexp.QuoteMeta(key) + `\b`).FindIndex(data)
	if at == nil {
		return path
	}
	return position(path, data, at[1]-len(key))
}

// position returns file, line and column of an offset.
func position(path string, data []byte, offset int) string {
	before := data[:offset]
	return fmt.Sprintf("%s:%d:%d", path, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}

// placeOfPattern returns file, line and column of the pattern with an index in files.exclude.
func placeOfPattern(path string, data []byte, index int) string {
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = dotted(e)
		case unstable.KeyValue:
			if key := strings.TrimPrefix(table+"."+dotted(e), "."); key != "files.exclude" {
				continue
			}
			for list := e.Value().Children(); list.Next(); {
				if list.Node().Kind != unstable.String {
					continue // a comment
				}
				if index == 0 {
					return position(path, data, int(list.Node().Raw.Offset))
				}
				index--
			}
		}
	}
	return place(path, data, "exclude") // of an inline table
}

// dotted returns the key of a table or a value.
func dotted(n *unstable.Node) string {
	var parts []string
	for key := n.Key(); key.Next(); {
		parts = append(parts, string(key.Node().Data))
	}
	return strings.Join(parts, ".")
}
