package settings

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tailscale/hujson"
)

// Hook is an entry by which a coding agent runs `tidemark hook`: an item of the list at [Hook.Path] in the
// agent's settings.
type Hook struct {
	// Event is the agent's name of the event that runs the hook.
	Event string
	Entry HookEntry
}

// HookEntry is a hook in the settings of Claude Code, Codex, Gemini CLI and Copilot CLI. Cursor's has the command itself.
type HookEntry struct {
	// Matcher is a regular expression of the tools that the hook runs after, "" for events without a tool.
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []HookCommand `json:"hooks,omitempty"`
	Command string        `json:"command,omitempty"`
	Timeout int           `json:"timeout,omitempty"`
}

// HookCommand is what a hook runs.
type HookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	// Timeout is when the agent kills it: in milliseconds for Gemini CLI, in seconds for the others.
	Timeout int `json:"timeout"`
}

// Path locates the hook in the settings: the names of the tables, then "-" for an item of a list.
func (h Hook) Path() []string { return []string{"hooks", h.Event, ListItem} }

// hookTimeout and worktreeTimeout, in seconds, are longer than `tidemark hook` ever takes, because that limits its own time.
const (
	hookTimeout     = 15
	worktreeTimeout = 120
)

// hookSettings are the agents whose hooks Tidemark sets up, by their names on the command line. Sources:
// their manuals' pages on hooks.
var hookSettings = map[string]struct {
	// events are those that run the hook. For those of tools, tools are those that edit files, and the shell.
	events []string
	tools  string
	// before is the event before a tool, "" for none: only agents that give their calls no IDs need it, to know when a command
	// began. Shell is the tool that it is for.
	before, shell string
	timeout       int
	// flat is true where an entry has the command itself.
	flat bool
	// worktrees are the events by which the agent has worktrees made and removed.
	worktrees []string
}{
	"claude-code": {
		events: []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PostToolUseFailure", "SubagentStop", "SessionEnd"},
		tools:  "Edit|Write|MultiEdit|NotebookEdit|Bash", timeout: hookTimeout,
		worktrees: []string{"WorktreeCreate", "WorktreeRemove"},
	},
	"codex": {
		events: []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "SessionEnd"},
		tools:  "apply_patch|Bash", timeout: hookTimeout,
	},
	"gemini": {
		events: []string{"SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"},
		before: "BeforeTool", shell: "run_shell_command", timeout: hookTimeout * 1000,
	},
	"copilot": {
		events: []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "SessionEnd"},
		before: "PreToolUse", shell: "Bash", timeout: hookTimeout,
	},
	"cursor": {
		events:  []string{"sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "stop", "subagentStart", "subagentStop", "preCompact", "sessionEnd"},
		timeout: hookTimeout, flat: true,
	},
}

// HooksOf returns the hooks that make an agent run the program, or none if Tidemark cannot set up that agent's hooks.
// They belong in the agent's user settings: settings.json in ~/.claude (CLAUDE_CONFIG_DIR) or in ~/.gemini, hooks.json in
// ~/.codex (CODEX_HOME) or in ~/.cursor, a file in ~/.copilot/hooks (COPILOT_HOME). Home is Tidemark's, "" for the usual one.
func HooksOf(agent, binary, home string) []Hook {
	s, ok := hookSettings[agent]
	if !ok {
		return nil
	}
	command := hookCommand(binary, home)
	hook := func(event, matcher string) Hook {
		if s.flat {
			return Hook{event, HookEntry{Command: command, Timeout: s.timeout}}
		}
		return Hook{event, HookEntry{Matcher: matcher, Hooks: []HookCommand{{"command", command, s.timeout}}}}
	}
	var all []Hook
	for _, event := range s.events {
		matcher := ""
		if strings.HasPrefix(event, "PostToolUse") || event == "AfterTool" {
			matcher = s.tools
		}
		all = append(all, hook(event, matcher))
	}
	if s.before != "" {
		all = append(all, hook(s.before, s.shell))
	}
	for _, event := range s.worktrees {
		all = append(all, Hook{event, HookEntry{Hooks: []HookCommand{{"command", command, worktreeTimeout}}}})
	}
	return all
}

// plainPath matches a path that no shell needs quotes for.
var plainPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w@%+=:,./-]+$`) })

// hookCommand returns the line that an agent passes to a shell. On Windows that is Git's shell or PowerShell, and
// both accept a path with slashes.
func hookCommand(binary, home string) string {
	if home == "" {
		return shellPath(binary) + " hook"
	}
	return shellPath(binary) + " hook" + homeFlag + shellPath(home)
}

// homeFlag is before the home in the command of a hook.
const homeFlag = " --home "

// shellPath returns a path as a word of a shell.
func shellPath(path string) string {
	if len(path) > 2 && path[1] == ':' || strings.HasPrefix(path, `\\`) {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	if !plainPath().MatchString(path) {
		path = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(path) + `"`
	}
	return path
}

// givenHome matches the flag for the home, as a hook has it that Tidemark wrote.
var givenHome = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^" + homeFlag + `(?:[\w@%+=:,./-]+|"(?:[^"\\$` + "`" + `]|\\.)*")$`)
})

// OtherHome reports whether an edit wrote a hook with another home.
func OtherHome(edit Edit, home string) bool {
	command, _ := HookOf(edit)
	_, _, after, ok := CutHookCommand(command)
	_, _, now, _ := CutHookCommand(hookCommand("", home))
	return ok && after != now
}

// IsWritten reports whether the text around a program and its "hook" is what an installation writes.
func IsWritten(before, after string) bool {
	return before == "" && (after == "" || givenHome().MatchString(after))
}

// IsHook reports whether a decoded hook runs `tidemark hook`, whether install wrote it or not.
func IsHook(entry any) bool { return HookProgram(entry) != "" }

// HookProgram returns the program of a hook that runs `tidemark hook`, "" for any other hook.
func HookProgram(entry any) string {
	for _, command := range HookCommands(entry) {
		if _, program, _, ok := CutHookCommand(command); ok && strings.HasPrefix(path.Base(program), ServerName) {
			return program
		}
	}
	return ""
}

// HookCommands returns the commands of a decoded hook.
func HookCommands(entry any) []string {
	var commands []string
	table, _ := entry.(map[string]any)
	if command, ok := table["command"].(string); ok { // Cursor's form
		commands = append(commands, command)
	}
	list, _ := table["hooks"].([]any)
	for _, h := range list {
		one, _ := h.(map[string]any)
		if command, ok := one["command"].(string); ok {
			commands = append(commands, command)
		}
	}
	return commands
}

// ownHook matches the program in a command that runs a hook, quoted or not.
var ownHook = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\s*(?:&\s*)?)["']?(.*?)["']?\s+hook((?s:\s.*)?)$`) })

// CutHookCommand splits a command that runs a program's "hook" into the program, with slashes, and the text before
// the program and after "hook".
func CutHookCommand(command string) (before, program, after string, ok bool) {
	m := ownHook().FindStringSubmatchIndex(strings.ReplaceAll(command, `\`, "/"))
	if m == nil {
		return "", "", "", false
	}
	program = strings.ReplaceAll(command[m[4]:m[5]], `\`, "/")
	return command[m[2]:m[3]], program, command[m[6]:m[7]], true
}

// HookOf returns the command of the hook that an edit wrote and the program that it runs, "" for another kind of
// entry.
func HookOf(edit Edit) (command, program string) {
	if edit.Path[len(edit.Path)-1] != ListItem {
		return "", ""
	}
	written, err := decodeJSON([]byte(wrapped(edit)))
	if err != nil {
		return "", ""
	}
	entry, _ := lookUp(written, append(slices.Clone(edit.Path[edit.Depth:len(edit.Path)-1]), ListItem))
	if all := HookCommands(entry); len(all) == 1 {
		command = all[0]
	}
	if _, program, _, ok := CutHookCommand(command); ok {
		return command, program
	}
	return "", ""
}

// hookPlace locates a command that runs `tidemark hook` in a list of hooks.
type hookPlace struct {
	// groups is the list, group the index of the hook in it; commands and at are the same for its command.
	groups, commands *hujson.Value
	group, at        int
	// start and end are the offsets of the command's text.
	start, end int
	command    string
}

// findHook finds the last command in a list of hooks that runs the program's `tidemark hook`.
func findHook(root *hujson.Value, path []string, program string) (*hookPlace, error) {
	groups, depth, err := walk(root, path)
	if err != nil || depth < len(path)-1 {
		return nil, err
	}
	var last *hookPlace
	look := func(commands *hujson.Value, group, at int, v *hujson.Value) error {
		m, _, err := member(v, "command")
		if err != nil || m == nil {
			return err
		}
		text, ok := m.Value.Value.(hujson.Literal)
		if !ok || text.Kind() != '"' {
			return nil
		}
		if _, runs, _, ok := CutHookCommand(text.String()); ok && runs == program {
			last = &hookPlace{groups, commands, group, at, m.Value.StartOffset, m.Value.EndOffset, text.String()}
		}
		return nil
	}
	for g, group := range items(groups) {
		if _, ok := group.value.Value.(*hujson.Object); !ok {
			continue
		}
		if err := look(groups, g, g, group.value); err != nil { // Cursor's form
			return nil, err
		}
		hooks, _, err := member(group.value, "hooks")
		if err != nil {
			return nil, err
		}
		if hooks == nil {
			continue
		}
		for i, one := range items(&hooks.Value) {
			if _, ok := one.value.Value.(*hujson.Object); !ok {
				continue
			}
			if err := look(&hooks.Value, g, i, one.value); err != nil {
				return nil, err
			}
		}
	}
	return last, nil
}

// RunsHook reports whether the settings still run the hook command that an edit wrote, for the same event.
func RunsHook(text []byte, edit Edit) bool {
	_, program := HookOf(edit)
	if program == "" {
		return false
	}
	root, err := parseJSON(bytes.TrimPrefix(text, []byte(bom)))
	if err != nil {
		return false
	}
	p, err := findHook(root, edit.Path, program)
	return err == nil && p != nil
}

// RemoveHook removes the hook command that an edit wrote from hooks that were changed since, and the groups and lists
// that hold nothing else. It fails with [ErrGone] if no hook has the command.
func RemoveHook(text []byte, edit Edit) ([]byte, error) {
	_, program := HookOf(edit)
	if program == "" {
		return nil, ErrGone
	}
	err := ErrGone
	for {
		rest, marked := bytes.CutPrefix(text, []byte(bom))
		root, perr := parseJSON(rest)
		if perr != nil {
			return nil, perr
		}
		p, perr := findHook(root, edit.Path, program)
		if perr != nil {
			return nil, perr
		}
		if p == nil {
			return text, err
		}
		v, at := p.commands, p.at
		if len(items(v)) == 1 {
			v, at = p.groups, p.group
			for depth := len(edit.Path) - 2; depth >= edit.Depth && len(items(v)) == 1; depth-- {
				if v, _, perr = walk(root, edit.Path[:depth+1]); perr == nil {
					_, at, perr = member(v, edit.Path[depth])
				}
				if perr != nil {
					return nil, perr
				}
			}
		}
		text, err = cut(rest, v, at, edit), nil
		if marked {
			text = append([]byte(bom), text...)
		}
	}
}

// MoveHook makes the hook that an edit wrote run another program, wherever it is in its list and whatever changed
// around it.
func MoveHook(text []byte, edit Edit, binary string) ([]byte, Edit, error) {
	command, program := HookOf(edit)
	now := hookCommand(binary, "")
	if _, wanted, _, _ := CutHookCommand(now); program == "" || wanted == program {
		return text, edit, nil
	}
	for {
		rest, marked := bytes.CutPrefix(text, []byte(bom))
		if len(bytes.TrimSpace(rest)) == 0 {
			return text, edit, nil
		}
		root, err := parseJSON(rest)
		if err != nil {
			return nil, edit, err
		}
		p, err := findHook(root, edit.Path, program)
		if err != nil {
			return nil, edit, err
		}
		if p == nil {
			before, _, after, _ := CutHookCommand(command)
			edit.Text = strings.Replace(edit.Text, quote(command), quote(before+now+after), 1)
			return text, edit, nil
		}
		before, _, after, _ := CutHookCommand(p.command)
		out := slices.Concat(rest[:p.start], []byte(quote(before+now+after)), rest[p.end:])
		if text = out; marked {
			text = append([]byte(bom), out...)
		}
	}
}

// StillRuns reports whether anything in the hooks of a settings file runs a program.
func StillRuns(text []byte, program string) bool {
	entries, err := JSON{}.Read(text, []string{"hooks"})
	if err != nil {
		return false // an unreadable file is reported elsewhere
	}
	var in func(v any) bool
	in = func(v any) bool {
		switch v := v.(type) {
		case string:
			return strings.Contains(strings.ReplaceAll(v, `\`, "/"), program)
		case []any:
			return slices.ContainsFunc(v, in)
		case map[string]any:
			return slices.ContainsFunc(slices.Collect(maps.Values(v)), in)
		}
		return false
	}
	return in(entries)
}
