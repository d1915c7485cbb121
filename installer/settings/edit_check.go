package settings

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Check returns an error if an installation cannot have made an edit. A record may be damaged, and uninstall removes
// what it names.
func (edit *Edit) Check(isTOML bool) error {
	if edit.Depth < 0 || edit.Depth >= len(edit.Path) || edit.Whole && edit.Depth > 0 || strings.TrimSpace(edit.Lead+edit.Tail) != "" {
		return errors.New("malformed entry")
	}
	var written any
	var err error
	path := edit.Path[edit.Depth:]
	if isTOML {
		path = edit.Path
		written, err = decodeTOML([]byte(edit.Text))
	} else {
		written, err = decodeJSON([]byte(wrapped(*edit)))
	}
	if err != nil {
		return fmt.Errorf("cannot read an entry: %w", err)
	}
	entry, ok := lookUp(written, path)
	if !ok || !reflect.DeepEqual(written, nested(path, entry)) {
		return errors.New("an entry is not at its path")
	}
	switch last := edit.Path[len(edit.Path)-1]; {
	case last == ServerName:
		if command, args := CommandOf(entry); command != "" && slices.Equal(args, []string{"mcp"}) {
			return nil
		}
	case len(edit.Path) == 1 && last == "version" && Same(entry, 1): // of a file of hooks
		return nil
	case last == ListItem && edit.Path[0] == "hooks" && hooksOnly(entry):
		return nil
	}
	return fmt.Errorf("the entry %s is not one of Tidemark's", strings.Join(edit.Path, "."))
}

// hooksOnly reports whether every command of a hook runs some program's `hook`. The program may have been moved or
// renamed.
func hooksOnly(hook any) bool {
	switch v := hook.(type) {
	case map[string]any:
		if command, ok := v["command"]; ok {
			text, _ := command.(string)
			_, _, _, ok = CutHookCommand(text)
			return ok
		}
		list, ok := v["hooks"].([]any)
		return ok && len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool { return !hooksOnly(one) })
	}
	return false
}

// nested wraps a value in the tables and lists of a path.
func nested(path []string, value any) any {
	for _, name := range slices.Backward(path) {
		if name == ListItem {
			value = []any{value}
		} else {
			value = map[string]any{name: value}
		}
	}
	return value
}
