package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// opening are the definitions of the tools that launch browsers.
var opening = map[string]*mcp.Tool{
	"browser_open": define("browser_open", "Open a browser", creates,
		"Open a separate browser when none shows your page.", `{
		"url":{"type":"string"},
		"headless":{"type":"boolean","description":"without a window"},
		"profile":{"type":"string","enum":["fresh","kept"],"description":"default fresh: removed at the end"},
		"browser":{"type":"string","description":"chrome, chromium, edge or brave"}}`),
}
