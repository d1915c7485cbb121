// Package settings adds Tidemark's entries to the settings files of coding agents, finds them and removes them.
//
// Guarantees:
//   - A text that an operation returns parses, and differs from its input only in the entry.
//   - Removing an entry restores the file byte for byte, and keeps later changes around the entry.
//   - A changed entry stays, with [ErrChanged]. Inside changed hooks, only Tidemark's own command is moved or removed.
//   - The package does not read or write files: callers pass in texts.
package settings

import (
	"errors"
	"reflect"
)

// Edit is an entry that was added to a settings file. It holds everything needed to find the entry again and to
// remove it, which restores the file byte for byte and keeps later changes by others.
type Edit struct {
	// Path locates the entry: the names of the tables, then its own name, or "-" for an item of a list.
	Path []string `json:"path"`
	// Depth is how many tables of Path existed before. Those below were created with the entry.
	Depth int `json:"depth,omitempty"`
	// Text is the written text without the white space around it.
	Text string `json:"text"`
	// Lead and Tail are the white space that was written before and after it.
	Lead string `json:"lead,omitempty"`
	Tail string `json:"tail,omitempty"`
	// Whole is true if the file held nothing but white space before.
	Whole bool `json:"whole,omitempty"`
}

// ListItem stands in a path for an item of a list, which has no name.
const ListItem = "-"

var (
	// ErrGone says that the entry is no longer in the file.
	ErrGone = errors.New("the entry no longer exists")
	// ErrChanged says that the entry exists with a different value.
	ErrChanged = errors.New("the entry was changed")
)

// Format is a kind of settings file. Every text that it returns parses, and differs from its input only in the
// entry.
type Format interface {
	// Read returns the entry at a path, or every item of a list, decoded.
	Read(text []byte, path []string) ([]any, error)
	// Insert adds an entry at an unused path, or at the end of a list.
	Insert(text []byte, path []string, entry any) ([]byte, Edit, error)
	// Remove removes an entry that Insert added. It fails with [ErrGone] or [ErrChanged].
	Remove(text []byte, edit Edit) ([]byte, error)
}

// lookUp walks decoded tables. In a list it takes the last item, where entries are added.
func lookUp(tree any, path []string) (any, bool) {
	for _, name := range path {
		switch t := tree.(type) {
		case map[string]any:
			v, ok := t[name]
			if !ok {
				return nil, false
			}
			tree = v
		case []any:
			if name != ListItem || len(t) == 0 {
				return nil, false
			}
			tree = t[len(t)-1]
		default:
			return nil, false
		}
	}
	return tree, true
}

// without removes the value at a path from a tree, and the tables above it that are deeper than depth and empty.
func without(tree any, path []string, depth int) any {
	switch t := tree.(type) {
	case []any:
		return t[:max(0, len(t)-1)]
	case map[string]any:
		v, ok := t[path[0]]
		switch {
		case !ok:
		case len(path) == 1:
			delete(t, path[0])
		default:
			v = without(v, path[1:], depth-1)
			t[path[0]] = v
			table, isTable := v.(map[string]any)
			list, isList := v.([]any)
			if depth <= 0 && (isTable || isList) && len(table)+len(list) == 0 {
				delete(t, path[0])
			}
		}
	}
	return tree
}

// errUnsafe says that an edit would have changed more than the entry.
var errUnsafe = errors.New("adding the entry would change something else; add it by hand")

// onlyAdded returns an error unless an edit added the entry and nothing else.
func onlyAdded(before, after any, edit Edit) error {
	if before == nil {
		before = map[string]any{}
	}
	if _, ok := lookUp(after, edit.Path); !ok {
		return errUnsafe
	}
	if !reflect.DeepEqual(before, without(after, edit.Path, edit.Depth)) {
		return errUnsafe
	}
	return nil
}
