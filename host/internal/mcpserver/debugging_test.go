package mcpserver_test

import (
	"encoding/json"
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

func TestDefinitionsForDebuggingStayUnderTheirBudget(t *testing.T) {
	total := 0
	tools := listed(t, debugger(t))
	for _, tool := range tools {
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		n := tokens(t, tool.Name+" "+tool.Description+" "+string(schema))
		t.Logf("%-22s %4d tokens", tool.Name, n)
		total += n
	}
	t.Logf("%d tools together %d tokens", len(tools), total)
	if total >= 1500 || len(tools) < 8 {
		t.Errorf("%d tools have %d tokens; their budget is 1,500", len(tools), total)
	}
}
