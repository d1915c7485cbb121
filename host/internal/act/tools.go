package act

import "tidemark.dev/tidemark/host/internal/tool"

// Tools are the tools that act on pages.
var Tools = []*tool.Tool[*Actor]{
	browserNavigateTool,
	browserClickTool,
	browserTypeTool,
	browserFillFormTool,
	browserSelectOptionTool,
	browserPressKeyTool,
	browserHoverTool,
	browserDragTool,
	browserUploadFileTool,
	browserHandleDialogTool,
	browserScrollTool,
	browserWaitForTool,
	browserEvaluateTool,
	browserScreenshotTool,
}

// TabTools list tabs. If the set act is on, they also open, show and close them.
var TabTools = []*tool.Tool[*Actor]{
	browserTabsTool,
}

// Arguments that several tools take.
const (
	refArgument = `"ref":{"type":"string"},`
	tabArgument = `"tab":{"type":"integer"}`
)
