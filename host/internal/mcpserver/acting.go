package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// acting are the definitions of the tools that act on pages. The server's instructions describe their answers once for all
// of them.
var acting = map[string]*mcp.Tool{
	"browser_navigate": define("browser_navigate", "Go to a page", acts,
		"Load an address.", `{
		"url":{"type":"string","description":"http(s), or back, forward, reload"},`+ofTab, "url"),
	"browser_click": define("browser_click", "Click", acts,
		"Click an element.", `{`+ofRef+`
		"button":{"type":"string","enum":["left","right","middle"]},
		"double":{"type":"boolean"},
		"modifiers":{"type":"array","items":{"type":"string","enum":["Alt","Control","Meta","Shift"]}},`+ofTab, "ref"),
	"browser_type": define("browser_type", "Type", acts,
		"Type text into a field.", `{`+ofRef+`
		"text":{"type":["string","array"],"items":{"type":"string"},"description":"a list is typed one after the other"},
		"clear":{"type":"boolean","description":"replace the current text"},
		"submit":{"type":"boolean","description":"press Enter after each"},`+ofTab, "ref", "text"),
	"browser_fill_form": define("browser_fill_form", "Fill in a form", acts,
		"Set several fields in one call. Cheaper than typing into each.", `{
		"fields":{"type":"array","items":{"type":"object","properties":{`+ofRef+`
			"value":{"type":["string","number","boolean"],"description":"text, option label, date yyyy-mm-dd, true (checked)"}},"required":["ref","value"]}},
		"submit":{"type":"string","description":"ref to click afterwards"},`+ofTab, "fields"),
	"browser_select_option": define("browser_select_option", "Choose", acts,
		"Choose options in a list or combobox.", `{`+ofRef+`
		"values":{"type":"array","items":{"type":"string"},"description":"labels"},`+ofTab, "ref", "values"),
	"browser_press_key": define("browser_press_key", "Press a key", acts,
		"Press a key in the focused element, or in ref.", `{
		"key":{"type":"string","description":"Enter, ArrowDown, Control+A"},`+ofRef+ofTab, "key"),
	"browser_hover": define("browser_hover", "Hover", acts,
		"Move the pointer over an element.", `{`+ofRef+ofTab, "ref"),
	"browser_drag": define("browser_drag", "Drag and drop", acts,
		"Drag one element onto another.", `{
		"from":{"type":"string"},"to":{"type":"string"},`+ofTab, "from", "to"),
	"browser_upload_file": define("browser_upload_file", "Upload files", acts,
		"Upload files from the workspace through a file field, or a button that opens a file chooser.", `{`+ofRef+`
		"paths":{"type":"array","items":{"type":"string"}},`+ofTab, "ref", "paths"),
	"browser_handle_dialog": define("browser_handle_dialog", "Answer a dialog", acts,
		"Answer an open alert, confirm, prompt or beforeunload dialog.", `{
		"accept":{"type":"boolean"},
		"text":{"type":"string","description":"for a prompt"},`+ofTab, "accept"),
	"browser_scroll": define("browser_scroll", "Scroll", acts,
		"Scroll the page or inside an element. Without direction: scroll the element into view.", `{`+ofRef+`
		"direction":{"type":"string","enum":["up","down","left","right"]},
		"amount":{"type":"integer","description":"pixels"},`+ofTab),
	"browser_wait_for": define("browser_wait_for", "Wait", acts,
		"Wait until text appears or disappears, an element is usable, or the page settles. Actions already wait for their effects.", `{
		"text":{"type":"string"},"text_gone":{"type":"string"},`+ofRef+`
		"settled":{"type":"boolean"},
		"timeout_ms":{"type":"integer","description":"default 10000"},`+ofTab),
	"browser_evaluate": define("browser_evaluate", "Run code", acts,
		"Evaluate JavaScript in the page. Off until the user allows it.", `{
		"expression":{"type":"string","description":"with ref: the element is this and element"},`+ofRef+ofTab, "expression"),
	"browser_screenshot": define("browser_screenshot", "Screenshot", acts,
		"Take a screenshot of the page or an element. For appearance only: browser_snapshot is cheaper.", `{`+ofRef+`
		"full_page":{"type":"boolean"},`+ofTab),
}

// Arguments that several of these tools take.
const (
	ofRef = `"ref":{"type":"string"},`
	ofTab = `"tab":{"type":"integer"}}`
)
