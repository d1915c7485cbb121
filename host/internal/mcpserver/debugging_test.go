package mcpserver_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// debugger is a client with the set of tools for debugging alone.
func debugger(t *testing.T) *mcp.ClientSession {
	t.Helper()
	w := enginetest.New(t, capture.Limits{})
	client := &checkpoint.Client{Name: "test", Sets: []string{tool.Debug}}
	return serve(t, w, client, w.Engine.Clients.Enter(client))
}
