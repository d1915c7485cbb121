package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// acting are the definitions of the tools that act on pages. What every one of them answers is told once, in
// the server's instructions.
var acting = map[string]*mcp.Tool{
	"browser_navigate": define("browser_navigate", "Go to a page", acts,
		"Go to an address.", `{
		"url":{"type":"string","description":"http(s), or back, forward, reload"},`+ofTab, "url"),
	"browser_click": define("browser_click", "Click", acts,
		"Click an element.", `{`+ofRef+`
		"button":{"type":"string","enum":["left","right","middle"]},
		"double":{"type":"boolean"},
		"modifiers":{"type":"array","items":{"type":"string","enum":["Alt","Control","Meta","Shift"]}},`+ofTab, "ref"),
	"browser_type": define("browser_type", "Type", acts,
		"Type into a field.", `{`+ofRef+`
		"text":{"type":["string","array"],"items":{"type":"string"},"description":"a list: one after the other"},
		"clear":{"type":"boolean","description":"replace what is there"},
		"submit":{"type":"boolean","description":"Enter after each"},`+ofTab, "ref", "text"),
	"browser_fill_form": define("browser_fill_form", "Fill in a form", acts,
		"Set several fields at once.", `{
		"fields":{"type":"array","items":{"type":"object","properties":{`+ofRef+`
			"value":{"type":["string","number","boolean"],"description":"text, option, date yyyy-mm-dd, true (checked)"}},"required":["ref","value"]}},
		"submit":{"type":"string","description":"ref to click then"},`+ofTab, "fields"),
	"browser_select_option": define("browser_select_option", "Choose", acts,
		"Choose in a list or combobox.", `{`+ofRef+`
		"values":{"type":"array","items":{"type":"string"},"description":"labels"},`+ofTab, "ref", "values"),
	"browser_press_key": define("browser_press_key", "Press a key", acts,
		"Press a key where the focus is, or in an element.", `{
		"key":{"type":"string","description":"Enter, ArrowDown, Control+A"},`+ofRef+ofTab, "key"),
	"browser_hover": define("browser_hover", "Hover", acts,
		"Move the pointer over an element.", `{`+ofRef+ofTab, "ref"),
	"browser_drag": define("browser_drag", "Drag and drop", acts,
		"Drag one element onto another.", `{
		"from":{"type":"string"},"to":{"type":"string"},`+ofTab, "from", "to"),
	"browser_upload_file": define("browser_upload_file", "Upload files", acts,
		"Give a file field, or a button that opens a file chooser, files of the workspace.", `{`+ofRef+`
		"paths":{"type":"array","items":{"type":"string"}},`+ofTab, "ref", "paths"),
	"browser_handle_dialog": define("browser_handle_dialog", "Answer a dialog", acts,
		"Answer an open alert, confirm, prompt or beforeunload.", `{
		"accept":{"type":"boolean"},
		"text":{"type":"string","description":"for a prompt"},`+ofTab, "accept"),
	"browser_scroll": define("browser_scroll", "Scroll", acts,
		"Scroll the page, inside an element, or (no direction) an element into view.", `{`+ofRef+`
		"direction":{"type":"string","enum":["up","down","left","right"]},
		"amount":{"type":"integer","description":"pixels"},`+ofTab),
	"browser_wait_for": define("browser_wait_for", "Wait", acts,
		"Wait for text, for it to go, for an element to be usable, or for quiet. Actions wait by themselves.", `{
		"text":{"type":"string"},"text_gone":{"type":"string"},`+ofRef+`
		"settled":{"type":"boolean"},
		"timeout_ms":{"type":"integer","description":"default 10000"},`+ofTab),
	"browser_evaluate": define("browser_evaluate", "Run code", acts,
		"Evaluate JavaScript in the page. Off until a person allows it.", `{
		"expression":{"type":"string","description":"with ref, that is this and element"},`+ofRef+ofTab, "expression"),
	"browser_screenshot": define("browser_screenshot", "Picture", acts,
		"Picture of the page or an element. For looks; browser_snapshot is cheaper.", `{`+ofRef+`
		"full_page":{"type":"boolean"},`+ofTab),
}

// What the tools that act take.
const (
	ofRef = `"ref":{"type":"string"},`
	ofTab = `"tab":{"type":"integer"}}`
)
