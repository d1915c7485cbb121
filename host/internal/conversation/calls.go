package conversation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// editors are the tools of agents that edit files.
var editors = map[string]bool{
	"Edit": true, "Write": true, "MultiEdit": true, "NotebookEdit": true, // Claude Code; Cursor has Write
	"apply_patch": true,                  // Codex
	"write_file":  true, "replace": true, // Gemini CLI
	"editFiles": true, "createFile": true, // VS Code
	"create_file": true, "replace_string_in_file": true, "multi_replace_string_in_file": true, "insert_edit_into_file": true,
	"edit": true, "write": true, // opencode
	"Delete": true, // Cursor
}

// shells are the tools of agents that run a command.
var shells = map[string]bool{"Bash": true, "run_shell_command": true, "shell": true, "Shell": true, "exec_command": true, "shell_command": true, "bash": true}

// readers are the tools of agents that read one file.
var readers = map[string]bool{"Read": true, "read_file": true, "read": true, "view": true, "readFile": true}

// Edits reports whether a tool edits files.
func Edits(tool string) bool { return editors[tool] }

// Runs reports whether a tool runs a command.
func Runs(tool string) bool { return shells[tool] }

// callInput is what the inputs of tools have in common.
type callInput struct {
	File     string          `json:"file_path"`
	Notebook string          `json:"notebook_path"`
	Path     string          `json:"filePath"`
	Plain    string          `json:"path"` // of Copilot CLI
	Command  json.RawMessage `json:"command"`
	Cmd      json.RawMessage `json:"cmd"`
	Patch    string          `json:"input"`
	Patched  string          `json:"patchText"` // of opencode
	// Background is true for a command that Claude Code does not wait for.
	Background bool `json:"run_in_background"`
}

// Describe fills in what a call edits or runs, from its tool and input.
func (e *Event) Describe() {
	e.Edits, e.Runs = editors[e.Tool], shells[e.Tool]
	var in callInput
	var text string
	if json.Unmarshal(e.Input, &text) == nil { // a tool that takes plain text
		in.Patch = text
	} else {
		_ = json.Unmarshal(e.Input, &in) // another form names nothing
	}
	command := commandText(in.Command)
	if command == "" {
		command = commandText(in.Cmd)
	}
	switch {
	case e.Edits:
		e.Files = editedFiles(e.Dir, in, command)
	case e.Runs:
		e.Command, e.Background = command, e.Background || in.Background
		if files := patched(e.Dir, command); len(files) > 0 { // apply_patch as a command
			e.Files, e.Edits = files, true
		}
	case readers[e.Tool]:
		e.Files = editedFiles(e.Dir, in, "")
	}
}

// commandText returns a command, which is a text or a list.
func commandText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, " ")
	}
	return ""
}

func editedFiles(dir string, in callInput, command string) []string {
	for _, path := range []string{in.File, in.Notebook, in.Path, in.Plain} {
		if path != "" {
			return []string{Relative(dir, path)}
		}
	}
	if patch := cmp.Or(in.Patch, in.Patched); patch != "" {
		return patched(dir, patch)
	}
	return patched(dir, command)
}

// patchMarks are the lines of a patch of apply_patch that name a file.
var patchMarks = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}

// patched returns the files that a patch of apply_patch names.
func patched(dir, patch string) (files []string) {
	if !strings.Contains(patch, "*** ") {
		return nil
	}
	for line := range strings.Lines(patch) {
		for _, mark := range patchMarks {
			if path, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), mark); ok && len(files) < maxFiles {
				if path = Relative(dir, path); !slices.Contains(files, path) {
					files = append(files, path)
				}
			}
		}
	}
	return files
}

// Relative returns a path relative to a directory, if it is below it, as [event.FilePath] writes it.
func Relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		path = rel
	}
	return event.FilePath(filepath.ToSlash(path))
}

// Typed returns a prompt without what Gemini CLI puts before it: the answer of a hook of the start.
func Typed(prompt string) string {
	if rest, ok := strings.CutPrefix(prompt, "<hook_context>"); ok {
		if _, text, ok := strings.Cut(rest, "</hook_context>\n\n"); ok {
			return text
		}
	}
	return prompt
}

// Announced reports whether what stands in the place of a prompt is of Claude Code itself: that the user interrupted it, or
// that something in the background ended.
func Announced(prompt string) bool {
	prompt = strings.TrimSpace(prompt)
	return strings.HasPrefix(prompt, "<task-notification>") || strings.HasPrefix(prompt, "[Request interrupted by user") && strings.HasSuffix(prompt, "]")
}

// looseMark begins the ID of a call to which its agent gives none.
const looseMark = "~"

// LooseID returns the ID of an event of a call to which its agent gives none. The events of one call have the same tool and
// input, and differ in the nonce.
func LooseID(tool string, input json.RawMessage, nonce string) string {
	h := fnv.New64a()
	var compact bytes.Buffer
	if json.Compact(&compact, input) != nil {
		compact.Write(input)
	}
	_, _ = fmt.Fprintf(h, "%s\x00%s", tool, compact.Bytes())
	return fmt.Sprintf("%s%x@%s", looseMark, h.Sum64(), nonce)
}

// SameCall reports whether a [LooseID] is that of a call with a tool and an input.
func SameCall(id, tool string, input json.RawMessage) bool {
	base := loose(id)
	return base != "" && base == loose(LooseID(tool, input, ""))
}

// loose returns what the events of one call have in common in a [LooseID], "" for another ID.
func loose(call string) string {
	base, _, _ := strings.Cut(call, "@")
	if !strings.HasPrefix(base, looseMark) {
		return ""
	}
	return base
}
