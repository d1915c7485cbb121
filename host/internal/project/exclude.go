package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxPatterns bounds the patterns of a file, because every path is compared with each.
const maxPatterns = 500

// Exclude decides which paths are left out of file snapshots. Its patterns are those of a .gitignore file: a later one
// wins, "!" includes again, and what is below an excluded directory stays excluded. Unlike there, a pattern with a
// slash at its end matches files too: a path is enough to decide, whatever is there now. Upper and lower case differ.
//
// The zero value excludes nothing. It is safe for concurrent use.
type Exclude struct {
	patterns []pattern
	texts    []string // as the file has them
	// below is the directory of the paths, with a slash, relative to that of the patterns.
	below string
}

// pattern is one line of the list.
type pattern struct {
	// glob is in the syntax of package doublestar, plain if it has no special characters.
	glob  string
	plain bool
	// anchored patterns match a whole path, others the last element of a path.
	anchored, include bool
}

// ExcludeIn returns what the settings file that applies to a directory excludes, for paths relative to that directory.
func ExcludeIn(dir string) (Exclude, error) { return excludeIn(Find(dir), dir) }

// ExcludeAbove is [ExcludeIn] for a directory that has no settings file of its own.
func ExcludeAbove(dir string) (Exclude, error) {
	parent := filepath.Dir(dir)
	if parent == dir {
		return Exclude{}, nil
	}
	return excludeIn(Find(parent), dir)
}

func excludeIn(path, dir string) (Exclude, error) {
	if path == "" {
		return Exclude{}, nil
	}
	data, err := Read(path)
	if err != nil {
		return Exclude{}, err
	}
	s, err := Parse(path, data)
	if err != nil {
		return Exclude{}, err
	}
	rel, err := filepath.Rel(filepath.Dir(path), dir)
	if err != nil {
		return Exclude{}, err
	}
	if rel != "." {
		s.Exclude.below = filepath.ToSlash(rel) + "/"
	}
	return s.Exclude, nil
}

// Empty reports whether it excludes nothing.
func (e Exclude) Empty() bool { return len(e.patterns) == 0 }

// excludeJSON is an Exclude as JSON.
type excludeJSON struct {
	Patterns []string `json:"patterns,omitempty"`
	Below    string   `json:"below,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (e Exclude) MarshalJSON() ([]byte, error) { return json.Marshal(excludeJSON{e.texts, e.below}) }

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Exclude) UnmarshalJSON(data []byte) error {
	var j excludeJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*e = Exclude{below: j.Below}
	for _, text := range j.Patterns {
		if err := e.add(text); err != nil {
			return fmt.Errorf("pattern %q %w", text, err)
		}
	}
	return nil
}

// Without returns the patterns that another one does not have.
func (e Exclude) Without(other Exclude) []string {
	patterns := []string{}
	for _, text := range e.texts {
		if e.below != other.below || !slices.Contains(other.texts, text) {
			patterns = append(patterns, text)
		}
	}
	return patterns
}

// Skip reports whether a path is excluded, with everything below it. The path has slashes and no slash at either end.
func (e Exclude) Skip(path string) bool {
	if len(e.patterns) == 0 || path == "" || path == "." {
		return false
	}
	path = e.below + path
	// A pattern that excludes a directory excludes everything below it.
	for end := 0; end < len(path); {
		next := strings.IndexByte(path[end+1:], '/')
		if next < 0 {
			next = len(path)
		} else {
			next += end + 1
		}
		if end > 0 {
			end++
		}
		if e.matches(path[:next], path[end:next]) {
			return true
		}
		end = next
	}
	return false
}

// matches reports whether the patterns exclude a path whose parents are not excluded. The last pattern that matches
// decides.
func (e Exclude) matches(path, base string) bool {
	for i := len(e.patterns) - 1; i >= 0; i-- {
		p := &e.patterns[i]
		name := base
		if p.anchored {
			name = path
		}
		if p.plain && p.glob == name || !p.plain && doublestar.MatchUnvalidated(p.glob, name) {
			return !p.include
		}
	}
	return false
}

// add adds a pattern. Its error continues a sentence that names the pattern.
func (e *Exclude) add(text string) error {
	if len(e.patterns) == maxPatterns {
		return fmt.Errorf("is one of more than %d; remove some", maxPatterns)
	}
	p, err := parsePattern(text)
	if err != nil {
		return err
	}
	e.patterns, e.texts = append(e.patterns, p), append(e.texts, text)
	return nil
}

// parsePattern translates a pattern. It rejects what would match nothing, or another path than it seems to.
func parsePattern(text string) (pattern, error) {
	var p pattern
	if strings.HasPrefix(text, "#") {
		return p, errors.New(`is a comment in a .gitignore file; write \# at its beginning`)
	}
	text, p.include = strings.CutPrefix(text, "!")
	if strings.HasSuffix(text, " ") && !strings.HasSuffix(text, `\ `) {
		return p, errors.New(`ends with a space; remove it, or write "\\ "`)
	}
	text = strings.TrimSuffix(text, "/")
	rest, rooted := strings.CutPrefix(text, "/")
	if rest == "" {
		return p, errors.New("names no path; write the path of a file or directory")
	}
	p.anchored = rooted || strings.Contains(rest, "/")
	for _, element := range strings.Split(rest, "/") {
		if element == "" || element == "." || element == ".." {
			return p, errors.New("is not a path below the project; remove //, . and .. from it")
		}
	}
	for strings.Contains(rest, "***") { // the same as two
		rest = strings.ReplaceAll(rest, "***", "**")
	}
	glob, special, err := escape(rest)
	if err != nil {
		return p, err
	}
	if strings.HasSuffix(glob, "/**") {
		glob += "/*" // all that is in a directory, not the directory
	}
	if !doublestar.ValidatePattern(glob) {
		return p, errors.New("is not valid; check its brackets")
	}
	p.glob, p.plain = glob, !special
	return p, nil
}

// escape returns a pattern in doublestar's syntax, where braces are special too, and whether it has special characters.
func escape(text string) (glob string, special bool, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i == len(text) || !strings.ContainsRune(`*?[]!#{}\-^ `, rune(text[i])) {
				return "", false, errors.New(`has a backslash before a character that is not special; write / between directories`)
			}
			special = true
			b.WriteByte('\\')
			b.WriteByte(text[i])
		case '{', '}':
			special = true
			b.WriteByte('\\')
			b.WriteByte(c)
		case '*', '?', '[':
			if strings.HasPrefix(text[i:], "[[:") {
				return "", false, errors.New("has a class of characters such as [:alpha:], which is not supported; write ranges such as [a-z]")
			}
			special = true
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), special, nil
}
