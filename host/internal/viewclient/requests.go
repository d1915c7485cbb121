package viewclient

import (
	"context"
	"net/http"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/observe"
)

// The methods below decode the daemon's answer into out. A nil out discards it, and a *json.RawMessage receives it
// unchanged. Package api has the types of the answers.

// Status requests what is connected and watched.
func (c *Client) Status(ctx context.Context, out any) error {
	return c.call(ctx, http.MethodGet, "/v1/status", nil, out)
}

// Tool calls a tool.
func (c *Client) Tool(ctx context.Context, name string, args, out any) error {
	return c.call(ctx, http.MethodPost, "/v1/tools/"+name, args, out)
}

// Watch calls each with every new report, as JSON, until ctx ends.
func (c *Client) Watch(ctx context.Context, p observe.ChangesParams, each func([]byte) error) error {
	return c.stream(ctx, "/v1/watch", p, each)
}

// Diff compares two moments.
func (c *Client) Diff(ctx context.Context, r api.DiffRequest, out any) error {
	return c.call(ctx, http.MethodPost, "/v1/diff", r, out)
}

// Compare reports the changes since an exported checkpoint.
func (c *Client) Compare(ctx context.Context, r api.FileRequest, out any) error {
	return c.call(ctx, http.MethodPost, "/v1/compare", r, out)
}

// Export requests a checkpoint as a file.
func (c *Client) Export(ctx context.Context, r api.FileRequest, out any) error {
	return c.call(ctx, http.MethodPost, "/v1/export", r, out)
}

// Import creates a checkpoint from a file.
func (c *Client) Import(ctx context.Context, r api.FileRequest, out any) error {
	return c.call(ctx, http.MethodPost, "/v1/import", r, out)
}

// Hook requests what an agent's hook reports.
func (c *Client) Hook(ctx context.Context, p api.HookRequest, out any) error {
	return c.call(ctx, http.MethodPost, "/v1/hook", p, out)
}

// Open requests the address of the dashboard.
func (c *Client) Open(ctx context.Context, out any) error {
	return c.call(ctx, http.MethodPost, "/v1/open", nil, out)
}

// Rounds sends a message to every connected browser and back.
func (c *Client) Rounds(ctx context.Context, out any) error {
	return c.call(ctx, http.MethodPost, "/v1/rounds", nil, out)
}
