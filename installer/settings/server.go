package settings

// ServerName is the name that Tidemark's MCP server has with every agent.
const ServerName = "tidemark"

// Server is an agent's entry for an MCP server.
type Server struct {
	// Type is the transport, for agents that require it.
	Type    string   `json:"type,omitempty" toml:"type,omitempty"`
	Command string   `json:"command" toml:"command"`
	Args    []string `json:"args" toml:"args"`
}

// CommandOf returns the command that a decoded entry of an MCP server starts.
func CommandOf(entry any) (command string, args []string) {
	table, _ := entry.(map[string]any)
	command, _ = table["command"].(string)
	list, _ := table["args"].([]any)
	for _, a := range list {
		text, _ := a.(string)
		args = append(args, text)
	}
	return command, args
}
