package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// observing are the definitions of the observe set.
var observing = map[string]*mcp.Tool{
	"get_changes_since": define("get_changes_since", "Browser changes", reads,
		"Show what changed in the browser since your last call or a checkpoint. Reports console errors and warnings, failed, recovered, slow and new endpoints, WebSocket errors, error elements, user actions. Call it after every edit.", `{
		"checkpoint":{"type":"string","description":"checkpoint name or ISO 8601 time; default: since your last call. Only calls without it advance your cursor"},
		"include":{"type":"array","items":{"type":"string","enum":["console","network","websocket","dom","actions"]},"description":"default all"},
		"severity":{"type":"string","enum":["all","warnings","errors_only"],"description":"hide lower severities"},
		"wait":{"type":"string","enum":["none","settled","reload"],"description":"settled: until the page is quiet; reload: for a reload or hot update, then settled"},
		"timeout_ms":{"type":"integer","minimum":0,"description":"for wait, default 3000"},
		"tab":{"type":"integer","description":"default: all in scope"}}`),
	"checkpoint_create": define("checkpoint_create", "Create checkpoint", creates,
		"Name this moment to compare with later. Replaces a checkpoint of the same name.", `{
		"name":{"type":"string","maxLength":50,"pattern":"^[a-z][a-z0-9_]*$","description":"such as session_start, before_refactor; no date or time"},
		"note":{"type":"string","maxLength":200}}`, "name"),
	"checkpoint_list": define("checkpoint_list", "List checkpoints", reads,
		"List checkpoints, oldest first, each with the severity since the previous one.", `{}`),
	"checkpoint_delete": define("checkpoint_delete", "Delete checkpoint", destroys,
		"Delete a named checkpoint.", `{"name":{"type":"string"}}`, "name"),
	"configure_noise": define("configure_noise", "Noise rules", destroys,
		"Manage what answers hide as noise (noise_hidden): list rules and packs, explain what is hidden, suggest rules, add or remove one.", `{
		"action":{"type":"string","enum":["list","add","remove","enable","disable","explain","suggest"]},
		"id":{"type":"string"},
		"pack":{"type":"string","description":"to enable or disable"},
		"kind":{"type":"string","enum":["console","network","websocket"]},
		"level":{"type":"string","enum":["info","warning","error"],"description":"highest level to hide, default warning; failed requests are errors"},
		"origin":{"type":"string"},
		"fingerprint":{"type":"string","description":"from explain or suggest"},
		"text":{"type":"string","description":"part of the message or address; * matches anything"},
		"hide_new":{"type":"boolean","description":"also hide what first appears after a checkpoint"},
		"expires":{"type":"string","description":"8h, 7d, date, never; default: until you disconnect"},
		"note":{"type":"string"}}`),
	"get_browser_logs": define("get_browser_logs", "Console log", reads,
		"List raw console entries with stacks. For details only: get_changes_since is cheaper.", `{
		"level":{"type":"string","enum":["debug","log","info","warning","error"],"description":"lowest level"},
		"search":{"type":"string"},`+paging),
	"get_network_bodies": define("get_network_bodies", "Requests", reads,
		"List requests with headers and text bodies, secrets masked. Use it to see why a request failed.", `{
		"method":{"type":"string"},
		"url":{"type":"string","description":"part of the address"},
		"status_min":{"type":"integer","description":"400: failures only"},`+paging),
	"get_websocket_events": define("get_websocket_events", "WebSocket events", reads,
		"List WebSocket connections and frames.", `{
		"url":{"type":"string","description":"part of the address"},`+paging),
	"get_enhanced_actions": define("get_enhanced_actions", "User actions", reads,
		"List what the user did in the browser: clicks, typing, navigation.", `{`+paging),
	"browser_snapshot": define("browser_snapshot", "Page snapshot", reads,
		"Capture page structure as ARIA accessibility tree, with element references [e12]. Later calls on the same page return only what changed.", `{
		"interactive_only":{"type":"boolean","description":"default true; false: also all other text"},
		"full_snapshot":{"type":"boolean","description":"return everything"},
		"root":{"type":"string","description":"ref: only inside this element"},
		"depth":{"type":"integer","minimum":1},
		"search":{"type":"string","description":"only lines with this text"},
		"max_tokens":{"type":"integer","minimum":100},
		"format":{"type":"string","enum":["compact","yaml"]},
		"tab":{"type":"integer","description":"default: last used"}}`),
	"browser_tabs": define("browser_tabs", "Tabs", acts,
		"List tabs, or open, show or close one.", `{"action":{"type":"string","enum":["list","new","select","close"]},"tab":{"type":"integer"},"url":{"type":"string","description":"for new"}}`),
}

// paging are the arguments of every raw read.
const paging = `
		"after":{"type":"integer","minimum":0,"description":"position to continue from: next in the last answer; default: newest"},
		"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"default 100"},
		"tab":{"type":"integer"}}`
