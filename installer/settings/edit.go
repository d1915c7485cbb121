// Package settings puts Tidemark's entries into the settings files of coding agents, finds them and takes them out.
//
// Guarantees: a text that an operation returns parses, and differs from the one it was given in the entry alone; an entry
// that was put in can be taken out so that the file is byte for byte what it was, and what others changed around it
// since then stays; an entry that others changed is left, with [ErrChanged]. Only a hook's own command is found again
// and moved or removed inside changed hooks. The package reads and writes no files: callers pass in texts.
package settings

import (
	"errors"
	"reflect"
)

// Edit is an entry that was put into a settings file, with all that it takes to find it again and to take
// it out so that the file is what it was, byte for byte, or what others have made of it since.
type Edit struct {
	// Path is where the entry is: the names of the tables, then its own, or "-" for an item of a list.
	Path []string `json:"path"`
	// Depth is how many tables of Path were there before; those below were made with the entry.
	Depth int `json:"depth,omitempty"`
	// Text is what was written, without what stands around it.
	Text string `json:"text"`
	// Lead and Tail are the white space that was written before and behind it.
	Lead string `json:"lead,omitempty"`
	Tail string `json:"tail,omitempty"`
	// Whole is true when Text is all that the file held, save for white space.
	Whole bool `json:"whole,omitempty"`
}

// ListItem stands in a path for an item of a list, which has no name.
const ListItem = "-"

var (
	// ErrGone says that the entry is no longer in the file.
	ErrGone = errors.New("it is no longer there")
	// ErrChanged says that the entry is there but says something else now.
	ErrChanged = errors.New("it was changed since")
)

// Format is a kind of settings file. Every text that it returns parses, and differs from the one that was
// given in the entry alone.
type Format interface {
	// Read returns the entry at a path, or every item of a list, decoded.
	Read(text []byte, path []string) ([]any, error)
	// Insert puts an entry at a path where none is, or at the end of a list.
	Insert(text []byte, path []string, entry any) ([]byte, Edit, error)
	// Remove takes out an entry that Insert put in: [ErrGone] or [ErrChanged] when it cannot.
	Remove(text []byte, edit Edit) ([]byte, error)
}

// lookUp walks decoded tables; of a list, the last item is meant: it is where entries are put.
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

// without is a tree without the value at a path, and without the tables above it below depth.
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
var errUnsafe = errors.New("the entry cannot be put in without changing something else; put it in by hand")

// onlyAdded makes sure that an edit added the entry and nothing else.
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
