package act

import (
	"tidemark.dev/tidemark/host/internal/tool"
)

// Tools are the tools that act on pages.
var Tools = []*tool.Tool[*Actor]{
	tool.New("browser_navigate", (*Actor).Navigate),
	tool.New("browser_click", (*Actor).Click),
	tool.New("browser_type", (*Actor).Type),
	tool.New("browser_fill_form", (*Actor).Fill),
	tool.New("browser_select_option", (*Actor).Select),
	tool.New("browser_press_key", (*Actor).Press),
	tool.New("browser_hover", (*Actor).Hover),
	tool.New("browser_drag", (*Actor).Drag),
	tool.New("browser_upload_file", (*Actor).Upload),
	tool.New("browser_handle_dialog", (*Actor).HandleDialog),
	tool.New("browser_scroll", (*Actor).Scroll),
	tool.New("browser_wait_for", (*Actor).WaitFor),
	tool.New("browser_evaluate", (*Actor).Evaluate),
	tool.New("browser_screenshot", (*Actor).Screenshot),
}

// TabTools list tabs. If the set act is on, they also open, show and close them.
var TabTools = []*tool.Tool[*Actor]{
	tool.New("browser_tabs", (*Actor).BrowserTabs),
}
