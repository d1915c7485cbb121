package installer

import (
	"path"
	"regexp"
	"strings"
)

// Hook is an entry by which a coding agent runs `tidemark hook`: an item of the list at [Hook.Path] in the
// agent's settings.
type Hook struct {
	// Event is the agent's name of what the hook is run for.
	Event string
	Entry HookEntry
}

// HookEntry is a hook as Claude Code and Gemini CLI have it in their settings.
type HookEntry struct {
	// Matcher is a regular expression of the tools after which it is run; "" for events of no tool.
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []HookCommand `json:"hooks"`
}

// HookCommand is what a hook runs.
type HookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	// Timeout is when the agent ends it: in seconds for Claude Code, in milliseconds for Gemini CLI.
	Timeout int `json:"timeout"`
}

// Path is where in the settings the hook is: the names of the tables, "-" for an item of a list.
func (h Hook) Path() []string { return []string{"hooks", h.Event, listItem} }

// hookTimeout is longer than `tidemark hook` ever takes, in seconds: it ends by itself.
const hookTimeout = 15

// hookSettings are the agents whose hooks Tidemark sets up, by their names on the command line. Sources:
// their manuals' pages on hooks.
var hookSettings = map[string]struct {
	start, edit, stop string // the names of the events
	editors           string // the tools that edit
	timeout           int
}{
	"claude-code": {"SessionStart", "PostToolUse", "Stop", "Edit|Write|MultiEdit|NotebookEdit", hookTimeout},
	"gemini":      {"SessionStart", "AfterTool", "AfterAgent", "write_file|replace", hookTimeout * 1000},
}

// HooksOf are the hooks of an agent that run the program; none for an agent whose hooks Tidemark does not
// know how to set up. They belong into its user settings: settings.json in ~/.claude (CLAUDE_CONFIG_DIR), or
// in ~/.gemini.
func HooksOf(agent, binary string) []Hook {
	s, ok := hookSettings[agent]
	if !ok {
		return nil
	}
	hook := func(event, matcher string) Hook {
		return Hook{event, HookEntry{matcher, []HookCommand{{"command", hookCommand(binary), s.timeout}}}}
	}
	return []Hook{hook(s.start, ""), hook(s.edit, s.editors), hook(s.stop, "")}
}

// plainPath is a path that means the same to every shell without quotes.
var plainPath = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// hookCommand is the line that an agent gives to a shell. On Windows that is the shell of Git or PowerShell:
// both take a path with slashes.
func hookCommand(binary string) string {
	if len(binary) > 2 && binary[1] == ':' || strings.HasPrefix(binary, `\\`) {
		binary = strings.ReplaceAll(binary, `\`, "/")
	}
	if !plainPath.MatchString(binary) {
		binary = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(binary) + `"`
	}
	return binary + " hook"
}

// IsHook says whether an item of a list of hooks, decoded, runs `tidemark hook`, whoever wrote it.
func IsHook(entry any) bool { return hookProgram(entry) != "" }

// hookProgram is the program of a hook that runs `tidemark hook`, "" of any other.
func hookProgram(entry any) string {
	table, _ := entry.(map[string]any)
	list, _ := table["hooks"].([]any)
	for _, h := range list {
		one, _ := h.(map[string]any)
		command, _ := one["command"].(string)
		if m := ownHook.FindStringSubmatch(strings.ReplaceAll(command, `\`, "/")); m != nil && strings.HasPrefix(path.Base(m[1]), "tidemark") {
			return m[1]
		}
	}
	return ""
}

// ownHook takes the program out of a command that runs a hook, quoted or not.
var ownHook = regexp.MustCompile(`^\s*(?:&\s*)?["']?(.*?)["']?\s+hook(?:\s|$)`)
