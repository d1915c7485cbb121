package act

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Tools are the tools that act on pages.
var Tools = []*tool.Tool[*Actor]{
	tool.New("browser_navigate", func(ctx context.Context, e *Actor, c *checkpoint.Client, p NavigateParams) (*ActAnswer, error) {
		return e.Navigate(ctx, c, p)
	}),
	tool.New("browser_click", func(ctx context.Context, e *Actor, c *checkpoint.Client, p ClickParams) (*ActAnswer, error) {
		return e.Click(ctx, c, p)
	}),
	tool.New("browser_type", func(ctx context.Context, e *Actor, c *checkpoint.Client, p TypeParams) (*ActAnswer, error) {
		return e.Type(ctx, c, p)
	}),
	tool.New("browser_fill_form", func(ctx context.Context, e *Actor, c *checkpoint.Client, p FillParams) (*ActAnswer, error) {
		return e.Fill(ctx, c, p)
	}),
	tool.New("browser_select_option", func(ctx context.Context, e *Actor, c *checkpoint.Client, p SelectParams) (*ActAnswer, error) {
		return e.Select(ctx, c, p)
	}),
	tool.New("browser_press_key", func(ctx context.Context, e *Actor, c *checkpoint.Client, p PressParams) (*ActAnswer, error) {
		return e.Press(ctx, c, p)
	}),
	tool.New("browser_hover", func(ctx context.Context, e *Actor, c *checkpoint.Client, p RefParams) (*ActAnswer, error) {
		return e.Hover(ctx, c, p)
	}),
	tool.New("browser_drag", func(ctx context.Context, e *Actor, c *checkpoint.Client, p DragParams) (*ActAnswer, error) {
		return e.Drag(ctx, c, p)
	}),
	tool.New("browser_upload_file", func(ctx context.Context, e *Actor, c *checkpoint.Client, p UploadParams) (*ActAnswer, error) {
		return e.Upload(ctx, c, p)
	}),
	tool.New("browser_handle_dialog", func(ctx context.Context, e *Actor, c *checkpoint.Client, p DialogParams) (*ActAnswer, error) {
		return e.HandleDialog(ctx, c, p)
	}),
	tool.New("browser_scroll", func(ctx context.Context, e *Actor, c *checkpoint.Client, p ScrollParams) (*ActAnswer, error) {
		return e.Scroll(ctx, c, p)
	}),
	tool.New("browser_wait_for", func(ctx context.Context, e *Actor, c *checkpoint.Client, p WaitParams) (*ActAnswer, error) {
		return e.WaitFor(ctx, c, p)
	}),
	tool.New("browser_evaluate", func(ctx context.Context, e *Actor, c *checkpoint.Client, p PageEvaluateParams) (*ActAnswer, error) {
		return e.Evaluate(ctx, c, p)
	}),
	tool.New("browser_screenshot", func(ctx context.Context, e *Actor, c *checkpoint.Client, p ScreenshotParams) (*ActAnswer, error) {
		return e.Screenshot(ctx, c, p)
	}),
}
