package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/installer/safefile"
)

// TOML is the TOML format. The entry is a separate table at the end of the file, where no earlier table can change
// its meaning. It does not write list items.
type TOML struct{}

// maxKeys bounds the keys and tables of a TOML settings file.
const maxKeys = 8192

func decodeTOML(text []byte) (map[string]any, error) {
	if err := safefile.CheckTOML(text, maxKeys); err != nil {
		return nil, err
	}
	tree := map[string]any{}
	if err := toml.Unmarshal(bytes.TrimPrefix(text, []byte(bom)), &tree); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			line, column := bad.Position()
			return nil, fmt.Errorf("invalid TOML: line %d, column %d: %s", line, column, strings.TrimPrefix(err.Error(), "toml: "))
		}
		return nil, fmt.Errorf("invalid TOML: %w", err)
	}
	return tree, nil
}

// Read implements [Format].
func (TOML) Read(text []byte, path []string) ([]any, error) {
	tree, err := decodeTOML(text)
	if err != nil {
		return nil, err
	}
	if v, ok := lookUp(tree, path); ok {
		return []any{v}, nil
	}
	return nil, nil
}

// Insert implements [Format].
func (TOML) Insert(text []byte, path []string, entry any) ([]byte, Edit, error) {
	before, err := decodeTOML(text)
	if err != nil {
		return nil, Edit{}, err
	}
	body, err := toml.Marshal(entry)
	if err != nil {
		return nil, Edit{}, err
	}
	newline := "\n"
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		newline = "\r\n"
	}
	edit := Edit{Path: path, Text: fmt.Sprintf("[%s]\n%s", strings.Join(path, "."), body)}
	edit.Text = strings.ReplaceAll(edit.Text, "\n", newline)
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		edit.Whole = true
	case bytes.HasSuffix(text, []byte("\n")):
		edit.Lead = newline
	default:
		edit.Lead = newline + newline
	}
	if _, ok := before[path[0]]; ok {
		edit.Depth = 1
	}
	out := append(bytes.Clone(text), edit.Lead+edit.Text...)
	after, err := decodeTOML(out)
	if err != nil {
		return nil, Edit{}, errUnsafe // for example if the servers are in an inline table
	}
	return out, edit, onlyAdded(any(before), any(after), edit)
}

// Remove implements [Format].
func (TOML) Remove(text []byte, edit Edit) ([]byte, error) {
	tree, err := decodeTOML(text)
	if err != nil {
		return nil, err
	}
	now, ok := lookUp(tree, edit.Path)
	if !ok {
		return nil, ErrGone
	}
	written, err := decodeTOML([]byte(edit.Text))
	if err != nil {
		return nil, err
	}
	if was, _ := lookUp(written, edit.Path); !reflect.DeepEqual(now, was) {
		return nil, ErrChanged
	}
	without(tree, edit.Path, edit.Depth)
	for _, lead := range []string{edit.Lead, ""} {
		// The last match: an earlier one may be inside a string.
		if at := bytes.LastIndex(text, []byte(lead+edit.Text)); at >= 0 {
			out := append(bytes.Clone(text[:at]), text[at+len(lead)+len(edit.Text):]...)
			if left, err := decodeTOML(out); err == nil {
				without(left, edit.Path, edit.Depth)
				if reflect.DeepEqual(left, tree) {
					return out, nil
				}
			}
		}
	}
	return nil, ErrChanged
}

// Same reports whether a decoded entry equals one that Tidemark would write.
func Same(now, entry any) bool {
	plain := func(v any) (plain any) {
		data, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(data, &plain)
		}
		if err != nil {
			return err
		}
		return plain
	}
	return reflect.DeepEqual(plain(now), plain(entry))
}
