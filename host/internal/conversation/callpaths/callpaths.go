// Package callpaths changes the paths of files in the inputs of agents' calls. It imports nothing of Tidemark.
package callpaths

import "encoding/json"

// pathFields are the fields of inputs that are the path of a file.
var pathFields = []string{"file_path", "notebook_path", "filePath", "path"}

// Move returns the input of a call in which the path of a file is another one. An input of another form stays as it is.
func Move(input json.RawMessage, moved func(string) string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return input
	}
	changed := false
	for _, name := range pathFields {
		var path string
		if raw := fields[name]; len(raw) == 0 || json.Unmarshal(raw, &path) != nil {
			continue
		}
		if to := moved(path); to != path {
			fields[name], _ = json.Marshal(to) // a text has no error
			changed = true
		}
	}
	if !changed {
		return input
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return input
	}
	return data
}
