package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// debugging are the definitions of the debug set.
var debugging = map[string]*mcp.Tool{
	"breakpoint_set": define("breakpoint_set", "Set breakpoint", adds,
		"Pause the page's JavaScript at a line. Survives reloads and applies to code that loads later.", `{
		"url":{"type":"string","description":"source file (src/App.tsx), script address, or the end of either"},
		"line":{"type":"integer","minimum":1},
		"column":{"type":"integer","minimum":1},
		"condition":{"type":"string","description":"expression without side effects"},
		"hit_count":{"type":"integer","minimum":1,"description":"pause from this hit on"},`+oneTab, "url", "line"),
	"breakpoint_list": define("breakpoint_list", "List breakpoints", reads,
		"List breakpoints with their state.", `{`+oneTab),
	"breakpoint_remove": define("breakpoint_remove", "Remove breakpoint", destroys,
		"Remove a breakpoint.", `{"id":{"type":"string"},`+oneTab, "id"),
	"debugger_pause": define("debugger_pause", "Pause", adds,
		"Pause a thread now, or (exceptions) whenever an exception is thrown.", `{
		"exceptions":{"type":"string","enum":["none","uncaught","all"]},`+oneThread),
	"debugger_resume": define("debugger_resume", "Resume", adds,
		"Resume a paused thread.", `{`+waiting+oneThread),
	"debugger_step": define("debugger_step", "Step", adds,
		"Step a paused thread and return its new position.", `{
		"kind":{"type":"string","enum":["over","into","out"]},`+oneThread, "kind"),
	"debugger_state": define("debugger_state", "Debugger state", reads,
		"List threads (page, iframes, workers): running or paused, why, with the stack.", `{`+waiting+oneThread),
	"debugger_evaluate": define("debugger_evaluate", "Evaluate", adds,
		"Evaluate an expression in a paused frame. Off until the user allows it.", `{
		"expression":{"type":"string"},
		"frame":{"type":"integer","minimum":0,"description":"default 0: top"},`+oneThread, "expression"),
	"variables_get": define("variables_get", "Variables", reads,
		"Read the variables of a paused frame, or one value. Runs no page code: getters are not called.", `{
		"path":{"type":"string","description":"order.customer, items[3], cache.get(\"k\")"},`+capturing+oneThread),
	"snapshot_create": define("snapshot_create", "Snapshot variables", adds,
		"Save a paused frame's variables to compare later. In the same function again, returns what changed.", `{
		"label":{"type":"string"},
		"expressions":{"type":"array","items":{"type":"string"},"description":"paths: order.total"},`+capturing+oneThread),
	"snapshot_diff": define("snapshot_diff", "Compare snapshots", reads,
		"Show what changed between two variable snapshots.", `{
		"from":{"type":"string","description":"id or label"},
		"to":{"type":"string"}}`, "from", "to"),
	"snapshot_list": define("snapshot_list", "List snapshots", reads,
		"List the variable snapshots of this debug session.", `{}`),
	"snapshot_delete": define("snapshot_delete", "Delete snapshot", destroys,
		"Delete a variable snapshot.", `{"id":{"type":"string"}}`, "id"),
	"snapshot_clear": define("snapshot_clear", "Clear snapshots", destroys,
		"Delete all variable snapshots.", `{}`),
	"snapshot_trace": define("snapshot_trace", "Trace values", adds,
		"Record values each time the page runs a line, without pausing it, and return the history. Call again with the same arguments for later hits.", `{
		"url":{"type":"string"},
		"line":{"type":"integer","minimum":1},
		"paths":{"type":"array","items":{"type":"string"},"description":"retryCount, order.total; []: all variables"},
		"condition":{"type":"string"},
		"every":{"type":"integer","minimum":1,"description":"record every nth hit"},
		"limit":{"type":"integer","minimum":1,"description":"hits, default 50"},
		"wait_ms":{"type":"integer","description":"wait for limit hits"},`+oneTab, "url", "line", "paths"),
}

// Arguments that several of these tools take.
const (
	oneTab    = `"tab":{"type":"integer"}}`
	oneThread = `"thread":{"type":"integer"},` + oneTab
	capturing = `"depth":{"type":"integer","minimum":0,"description":"levels of fields, default 0"},
		"frame":{"type":"integer","minimum":0},
		"scopes":{"type":"array","items":{"type":"string","enum":["local","argument","this","block","closure","module"]},"description":"default: first four"},`
	waiting = `"wait_ms":{"type":"integer","description":"wait for the next pause"},`
)
