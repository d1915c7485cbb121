package settings

// ServerName is the name that Tidemark's MCP server has with every agent.
const ServerName = "tidemark"

// Server is an agent's entry for an MCP server.
type Server struct {
	// Type is how the server is spoken with, where the agent wants to be told.
	Type    string   `json:"type,omitempty" toml:"type,omitempty"`
	Command string   `json:"command" toml:"command"`
	Args    []string `json:"args" toml:"args"`
}

// CommandOf is what a decoded entry of an MCP server starts.
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
