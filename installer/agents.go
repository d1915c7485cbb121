package installer

import (
	"path"
	"path/filepath"
	"strings"

	"tidemark.dev/tidemark/installer/settings"
)

// agent is a coding agent and the settings in which it learns of Tidemark.
type agent struct {
	// id is its name on the command line, name what a person calls it.
	id, name string
	// signs are paths that are there where the agent is; programs are names in PATH.
	signs    func(*System) []string
	programs []string
	// settings are the entries that it gets.
	settings []setting
}

// setting is one entry in a settings file. Several may be in one file; they are shown and made as one step.
type setting struct {
	// file is the user's settings file, of the format: JSON (with comments) or TOML.
	file   func(*System) string
	format settings.Format
	// path is where in it the entry is: the names of the tables, then its own, or [listItem] for an item
	// of a list.
	path []string
	// entry is what is written for a program, encoded by its tags.
	entry func(binary string) any
	// ours says whether an entry that is there was made for Tidemark by hand.
	ours func(entry any) bool
	// written are the entries that Tidemark would have written for what an entry that is there starts, so
	// far as that is a program by its path; none where it is somebody else's, or was changed.
	written func(entry any) []any
}

// agents are all agents that Tidemark registers itself with. Sources: their manuals' pages on MCP.
var agents = []agent{
	{
		id: "claude-code", name: "Claude Code", programs: []string{"claude"},
		signs: func(s *System) []string {
			return []string{s.claudeFile(), s.join(s.Home, ".claude")}
		},
		settings: append([]setting{mcpServer((*System).claudeFile, settings.JSON{}, "mcpServers", "stdio")},
			hooks("claude-code", func(s *System) string {
				return s.join(s.env("CLAUDE_CONFIG_DIR", s.Home, ".claude"), "settings.json")
			})...),
	},
	{
		id: "cursor", name: "Cursor",
		signs: func(s *System) []string { return []string{s.join(s.Home, ".cursor")} },
		settings: []setting{mcpServer(func(s *System) string {
			return s.join(s.Home, ".cursor", "mcp.json")
		}, settings.JSON{}, "mcpServers", "")},
	},
	{
		id: "vscode", name: "VS Code",
		signs: func(s *System) []string { return []string{s.join(s.appData(), "Code", "User")} },
		settings: []setting{mcpServer(func(s *System) string {
			return s.join(s.appData(), "Code", "User", "mcp.json")
		}, settings.JSON{}, "servers", "stdio")},
	},
	{
		id: "vscode-insiders", name: "VS Code Insiders",
		signs: func(s *System) []string { return []string{s.join(s.appData(), "Code - Insiders", "User")} },
		settings: []setting{mcpServer(func(s *System) string {
			return s.join(s.appData(), "Code - Insiders", "User", "mcp.json")
		}, settings.JSON{}, "servers", "stdio")},
	},
	{
		id: "codex", name: "Codex", programs: []string{"codex"},
		signs: func(s *System) []string { return []string{s.env("CODEX_HOME", s.Home, ".codex")} },
		settings: []setting{mcpServer(func(s *System) string {
			return s.join(s.env("CODEX_HOME", s.Home, ".codex"), "config.toml")
		}, settings.TOML{}, "mcp_servers", "")},
	},
	{
		id: "gemini", name: "Gemini CLI", programs: []string{"gemini"},
		signs: func(s *System) []string { return []string{s.join(s.Home, ".gemini")} },
		settings: []setting{mcpServer(func(s *System) string {
			return s.join(s.Home, ".gemini", "settings.json")
		}, settings.JSON{}, "mcpServers", "")},
	},
	{
		id: "claude-desktop", name: "Claude Desktop",
		signs: func(s *System) []string { return []string{s.join(s.appData(), "Claude")} },
		settings: []setting{mcpServer(func(s *System) string {
			return s.join(s.appData(), "Claude", "claude_desktop_config.json")
		}, settings.JSON{}, "mcpServers", "")},
	},
}

// claudeFile is the file in which Claude Code keeps what belongs to a user.
func (s *System) claudeFile() string {
	return s.join(s.env("CLAUDE_CONFIG_DIR", s.Home), ".claude.json")
}

// present says whether an agent is on the system.
func (a *agent) present(s *System) bool {
	for _, path := range a.signs(s) {
		if s.exists(path) {
			return true
		}
	}
	for _, name := range a.programs {
		if _, ok := s.program(name); ok {
			return true
		}
	}
	return false
}

// mcpServer is the setting that registers Tidemark's MCP server in a table of servers.
func mcpServer(file func(*System) string, f settings.Format, table, kind string) setting {
	entry := func(binary string) any { return settings.Server{Type: kind, Command: binary, Args: []string{"mcp"}} }
	return setting{
		file: file, format: f, path: []string{table, settings.ServerName}, entry: entry,
		written: func(there any) []any {
			command, _ := settings.CommandOf(there)
			if want := entry(command); strings.ContainsAny(command, `/\`) && settings.Same(there, want) {
				return []any{want}
			}
			return nil
		},
		ours: func(entry any) bool {
			command, args := settings.CommandOf(entry)
			name := filepath.Base(strings.ReplaceAll(command, `\`, "/"))
			return strings.HasPrefix(name, settings.ServerName) && len(args) > 0 && args[0] == "mcp"
		},
	}
}

// hooks are the settings by which an agent runs `tidemark hook`.
func hooks(agent string, file func(*System) string) []setting {
	var list []setting
	for i, h := range settings.HooksOf(agent, "") {
		list = append(list, setting{
			file: file, format: settings.JSON{}, path: h.Path(),
			entry: func(binary string) any { return settings.HooksOf(agent, binary)[i].Entry },
			ours:  settings.IsHook,
			written: func(there any) (entries []any) {
				for _, command := range settings.HookCommands(there) {
					before, program, after, ok := settings.CutHookCommand(command)
					if ok && before+after == "" && strings.Contains(program, "/") && strings.HasPrefix(path.Base(program), settings.ServerName) {
						entries = append(entries, settings.HookEntry{Hooks: []settings.HookCommand{{Command: command}}})
					}
				}
				return entries
			},
		})
	}
	return list
}
