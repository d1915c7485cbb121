package installer

import (
	"path"
	"path/filepath"
	"strings"
	"sync"

	"tidemark.dev/tidemark/installer/settings"
)

// agent is a coding agent and the settings that register Tidemark with it.
type agent struct {
	// id is its name on the command line, name its display name.
	id, name string
	// signs are paths that exist where the agent is installed; programs are names in PATH.
	signs    func(*System) []string
	programs []string
	// settings are the entries to write for it.
	settings []setting
}

// setting is one entry in a settings file. Several entries in one file are shown and written as one step.
type setting struct {
	// file is the path of the user's settings file. Its format is JSON (with comments) or TOML.
	file   func(*System) string
	format settings.Format
	// path locates the entry in the file: the names of the tables, then its own name, or [settings.ListItem]
	// for an item of a list.
	path []string
	// note says what the user must do after the entry was written, "" for nothing.
	note string
	// entry returns the value to write for a program and its home, encoded by its tags. A home of "" is the usual one.
	entry func(binary, home string) any
	// ours reports whether an existing entry was added for Tidemark by hand.
	ours func(entry any) bool
	// content returns a whole file that is Tidemark's own, nil for an entry. The fields of an entry are not set then.
	content func(binary, home string) []byte
	// beside is true for an entry that the others of its file need, and that says nothing of its own.
	beside bool
	// written returns the entries that Tidemark would have written for the program that an existing entry
	// starts, if that entry names it by path. It returns none if the entry belongs to another tool or was changed.
	written func(entry any) []any
}

// pluginFile is the name of opencode's plugin.
const pluginFile = "tidemark.js"

// agents returns all agents that Tidemark registers with. Sources: their manuals' pages on MCP.
var agents = sync.OnceValue(func() []agent {
	return []agent{
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
			settings: append([]setting{mcpServer(func(s *System) string {
				return s.join(s.Home, ".cursor", "mcp.json")
			}, settings.JSON{}, "mcpServers", "")},
				versioned(hooks("cursor", func(s *System) string {
					return s.join(s.Home, ".cursor", "hooks.json")
				}))...),
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
			settings: append([]setting{mcpServer(func(s *System) string {
				return s.join(s.env("CODEX_HOME", s.Home, ".codex"), "config.toml")
			}, settings.TOML{}, "mcp_servers", "")},
				noted("takes effect after you have reviewed it with /hooks in Codex", hooks("codex", func(s *System) string {
					return s.join(s.env("CODEX_HOME", s.Home, ".codex"), "hooks.json")
				}))...),
		},
		{
			id: "gemini", name: "Gemini CLI", programs: []string{"gemini"},
			signs: func(s *System) []string { return []string{s.join(s.Home, ".gemini")} },
			settings: append([]setting{mcpServer((*System).geminiFile, settings.JSON{}, "mcpServers", "")},
				hooks("gemini", (*System).geminiFile)...),
		},
		{
			id: "copilot", name: "Copilot CLI", programs: []string{"copilot"},
			signs: func(s *System) []string { return []string{s.copilotFile()} },
			settings: append([]setting{mcpServer(func(s *System) string {
				return s.copilotFile("mcp-config.json")
			}, settings.JSON{}, "mcpServers", settings.LocalKind)},
				versioned(hooks("copilot", func(s *System) string {
					return s.copilotFile("hooks", "tidemark.json")
				}))...),
		},
		{
			id: "opencode", name: "opencode", programs: []string{"opencode"},
			signs: func(s *System) []string { return []string{s.opencodeFile()} },
			settings: []setting{
				mcpServer(func(s *System) string { return s.opencodeFile("opencode.json") }, settings.JSON{}, "mcp", settings.ListKind),
				{file: func(s *System) string { return s.opencodeFile("plugins", pluginFile) }, content: settings.Plugin},
			},
		},
		{
			id: "claude-desktop", name: "Claude Desktop",
			signs: func(s *System) []string { return []string{s.join(s.appData(), "Claude")} },
			settings: []setting{mcpServer(func(s *System) string {
				return s.join(s.appData(), "Claude", "claude_desktop_config.json")
			}, settings.JSON{}, "mcpServers", "")},
		},
	}
})

// claudeFile is the file in which Claude Code keeps its per-user state.
func (s *System) claudeFile() string {
	return s.join(s.env("CLAUDE_CONFIG_DIR", s.Home), ".claude.json")
}

func (s *System) geminiFile() string { return s.join(s.Home, ".gemini", "settings.json") }

func (s *System) copilotFile(names ...string) string {
	return s.join(append([]string{s.env("COPILOT_HOME", s.Home, ".copilot")}, names...)...)
}

func (s *System) opencodeFile(names ...string) string {
	return s.join(append([]string{s.env("XDG_CONFIG_HOME", s.Home, ".config"), "opencode"}, names...)...)
}

// present reports whether an agent is installed.
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
	entry := func(binary, home string) any { return settings.ServerOf(kind, binary, home) }
	return setting{
		file: file, format: f, path: []string{table, settings.ServerName}, entry: entry,
		written: func(there any) []any {
			command, _ := settings.CommandOf(there)
			if want := entry(command, settings.HomeOf(there)); strings.ContainsAny(command, `/\`) && settings.Same(there, want) {
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

// versioned returns settings of hooks with the version that their file needs.
func versioned(list []setting) []setting {
	return append([]setting{{
		file: list[0].file, format: settings.JSON{}, path: []string{"version"}, beside: true,
		entry: func(string, string) any { return 1 }, ours: func(any) bool { return false }, written: func(any) []any { return nil },
	}}, list...)
}

// noted returns settings with a note.
func noted(note string, list []setting) []setting {
	for i := range list {
		list[i].note = note
	}
	return list
}

// hooks returns the settings that make an agent run `tidemark hook`.
func hooks(agent string, file func(*System) string) []setting {
	var list []setting
	for i, h := range settings.HooksOf(agent, "", "") {
		list = append(list, setting{
			file: file, format: settings.JSON{}, path: h.Path(),
			entry: func(binary, home string) any { return settings.HooksOf(agent, binary, home)[i].Entry },
			ours:  settings.IsHook,
			written: func(there any) (entries []any) {
				for _, command := range settings.HookCommands(there) {
					before, program, after, ok := settings.CutHookCommand(command)
					if ok && settings.IsWritten(before, after) && strings.Contains(program, "/") && strings.HasPrefix(path.Base(program), settings.ServerName) {
						entries = append(entries, settings.HookEntry{Hooks: []settings.HookCommand{{Command: command}}})
					}
				}
				return entries
			},
		})
	}
	return list
}
