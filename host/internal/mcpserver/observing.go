package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// observing are the definitions of the tools that look.
var observing = map[string]*mcp.Tool{
	"get_changes_since": define("get_changes_since", "Browser changes", reads,
		"What is new in the browser since your last call (or a checkpoint): console errors and warnings, failed, recovered, slow and new endpoints, WebSocket trouble, error elements, user actions. Call it after every edit.", `{
		"checkpoint":{"type":"string","description":"checkpoint name or ISO 8601 time; default: since your last call. Only calls without it advance your place"},
		"include":{"type":"array","items":{"type":"string","enum":["console","network","websocket","dom","actions"]},"description":"default all"},
		"severity":{"type":"string","enum":["all","warnings","errors_only"],"description":"hide what is milder"},
		"wait":{"type":"string","enum":["none","settled","reload"],"description":"settled: until the page is quiet; reload: for the reload or hot update first, then quiet"},
		"timeout_ms":{"type":"integer","minimum":0,"description":"of wait, default 3000"},
		"tab":{"type":"integer","description":"default all tabs in scope"}}`),
	"checkpoint_create": define("checkpoint_create", "Create checkpoint", creates,
		"Name this moment, to compare with later. An existing one of that name is replaced.", `{
		"name":{"type":"string","maxLength":50,"pattern":"^[a-z][a-z0-9_]*$","description":"such as session_start, before_refactor; no date or time"},
		"note":{"type":"string","maxLength":200}}`, "name"),
	"checkpoint_list": define("checkpoint_list", "List checkpoints", reads,
		"Checkpoints, oldest first, each with the severity since the one before.", `{}`),
	"checkpoint_delete": define("checkpoint_delete", "Delete checkpoint", destroys,
		"Delete a named checkpoint.", `{"name":{"type":"string"}}`, "name"),
	"configure_noise": define("configure_noise", "Noise rules", destroys,
		"What answers leave out (noise_hidden): list rules and packs, explain what is hidden, suggest rules, add or remove one.", `{
		"action":{"type":"string","enum":["list","add","remove","enable","disable","explain","suggest"]},
		"id":{"type":"string"},
		"pack":{"type":"string","description":"to enable or disable"},
		"kind":{"type":"string","enum":["console","network","websocket"]},
		"level":{"type":"string","enum":["info","warning","error"],"description":"worst to hide, default warning; failed requests are errors"},
		"origin":{"type":"string"},
		"fingerprint":{"type":"string","description":"as explain and suggest give it"},
		"text":{"type":"string","description":"part of message or address; * is anything"},
		"hide_new":{"type":"boolean","description":"also what first appears after a checkpoint"},
		"expires":{"type":"string","description":"8h, 7d, date, never; default: your session"},
		"note":{"type":"string"}}`),
	"get_browser_logs": define("get_browser_logs", "Console log", reads,
		"Raw console entries with stacks. For details; get_changes_since is cheaper.", `{
		"level":{"type":"string","enum":["debug","log","info","warning","error"],"description":"least level"},
		"search":{"type":"string"},`+paging),
	"get_network_bodies": define("get_network_bodies", "Requests", reads,
		"Raw requests with headers and text bodies, secrets masked.", `{
		"method":{"type":"string"},
		"url":{"type":"string","description":"part of the address"},
		"status_min":{"type":"integer","description":"400: only failures"},`+paging),
	"get_websocket_events": define("get_websocket_events", "WebSocket events", reads,
		"Raw WebSocket connections and frames.", `{
		"url":{"type":"string","description":"part of the address"},`+paging),
	"get_enhanced_actions": define("get_enhanced_actions", "User actions", reads,
		"What the person at the browser did: clicks, typing, navigation.", `{`+paging),
	"browser_snapshot": define("browser_snapshot", "Page snapshot", reads,
		"Capture page structure as ARIA accessibility tree, with element references [e12]. From the second call on you get only what changed, as long as it is the same page.", `{
		"interactive_only":{"type":"boolean","description":"default true; false: all text too"},
		"full_snapshot":{"type":"boolean","description":"everything again, for complete context"},
		"root":{"type":"string","description":"only inside this reference"},
		"depth":{"type":"integer","minimum":1},
		"search":{"type":"string","description":"only lines with this text"},
		"max_tokens":{"type":"integer","minimum":100},
		"format":{"type":"string","enum":["compact","yaml"]},
		"tab":{"type":"integer","description":"default the last used"}}`),
	"browser_tabs": define("browser_tabs", "Tabs", acts,
		"List the browser's tabs, or open, show or close one.", `{"action":{"type":"string","enum":["list","new","select","close"]},"tab":{"type":"integer"},"url":{"type":"string","description":"for new"}}`),
}

// paging are the arguments that every raw read takes.
const paging = `
		"after":{"type":"integer","minimum":0,"description":"position to read on from: next of the last answer; default the newest"},
		"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"default 100"},
		"tab":{"type":"integer"}}`
