package pages

import "tidemark.dev/tidemark/host/internal/tool"

// Tools are the tools that read pages.
var Tools = []*tool.Tool[*Pages]{
	browserSnapshotTool,
}
