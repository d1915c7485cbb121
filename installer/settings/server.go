package settings

// ServerName is the name that Tidemark's MCP server has with every agent.
const ServerName = "tidemark"

// Server is an agent's entry for an MCP server.
type Server struct {
	// Type is the transport, for agents that require it.
	Type    string   `json:"type,omitempty" toml:"type,omitempty"`
	Command string   `json:"command" toml:"command"`
	Args    []string `json:"args" toml:"args"`
	// Env has the home of Tidemark where that is not the usual one. An agent may start servers without its own environment.
	Env map[string]string `json:"env,omitempty" toml:"env,omitempty,inline"`
	// Tools are those that the agent may use, for agents that require a list.
	Tools []string `json:"tools,omitempty" toml:"tools,omitempty"`
}

// HomeVariable names the home of Tidemark, in the environment of its programs.
const HomeVariable = "TIDEMARK_HOME"

// Kinds of servers whose entry has more than a type.
const (
	// LocalKind is Copilot CLI's.
	LocalKind = "local"
	// ListKind is opencode's. Its command is a list.
	ListKind = "list"
)

// ServerOf returns an agent's entry for the MCP server of a program. kind is the transport, or one of the kinds. Home is that of the
// server, "" for the usual one.
func ServerOf(kind, binary, home string) any {
	var env map[string]string
	if home != "" {
		env = map[string]string{HomeVariable: home}
	}
	switch kind {
	case ListKind:
		entry := map[string]any{"type": "local", "command": []string{binary, "mcp"}, "enabled": true}
		if env != nil {
			entry["environment"] = env
		}
		return entry
	case LocalKind:
		return Server{Type: kind, Command: binary, Args: []string{"mcp"}, Tools: []string{"*"}, Env: env}
	}
	return Server{Type: kind, Command: binary, Args: []string{"mcp"}, Env: env}
}

// HomeOf returns the home that a decoded entry of an MCP server names, "" for none.
func HomeOf(entry any) (home string) {
	table, _ := entry.(map[string]any)
	for _, name := range []string{"env", "environment"} { // the second is opencode's
		if env, ok := table[name].(map[string]any); ok {
			home, _ = env[HomeVariable].(string)
		}
	}
	return home
}

// CommandOf returns the command that a decoded entry of an MCP server starts.
func CommandOf(entry any) (command string, args []string) {
	table, _ := entry.(map[string]any)
	command, _ = table["command"].(string)
	list, _ := table["args"].([]any)
	if all, ok := table["command"].([]any); ok && len(all) > 0 { // opencode's form
		command, _ = all[0].(string)
		list = all[1:]
	}
	for _, a := range list {
		text, _ := a.(string)
		args = append(args, text)
	}
	return command, args
}
