package hooks

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// reader is an MCP client over `tidemark mcp` that hears of resources.
type reader struct {
	*mcp.ClientSession
	updated chan string
}

func newReader(t *testing.T, w *testbed.World, args ...string) reader {
	t.Helper()
	r := reader{updated: make(chan string, 100)}
	cmd := w.Command(append([]string{"mcp"}, args...)...)
	cmd.Dir = w.Home
	var err error
	r.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: "reader", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { r.updated <- req.Params.URI },
	}).Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func (r reader) follow(t *testing.T, uri string) {
	t.Helper()
	if err := r.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
}

// hear waits until it is told of a resource.
func (r reader) hear(t *testing.T, uri string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testbed.Patience)
	defer cancel()
	for {
		select {
		case got := <-r.updated:
			if got == uri {
				return
			}
		case <-ctx.Done():
			t.Fatalf("it is not told of %s", uri)
		}
	}
}

func (r reader) read(t *testing.T, uri string) string {
	t.Helper()
	got, err := r.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	return got.Contents[0].Text
}

func TestAnAgentIsToldWhenAPageBreaks(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	r := newReader(t, w.World, "--origin", s.URL)
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "before_break"}, &struct{}{})
	uri := "tidemark://diff/before_break/now"
	r.follow(t, uri)
	p.JS("console.error('broken `<b>` | [x](http://evil.example) \\u202e')")
	r.hear(t, uri)
	if got := r.read(t, uri); !strings.Contains(got, "✖ error: 1 new console error") || !strings.Contains(got, "- ✖ ``broken `<b>` | [x](http://evil.example)``") && !strings.Contains(got, "- ✖ `` broken `<b>` | [x](http://evil.example) ``") {
		t.Error(got)
	}
	if out := w.Run("diff", "before_break", "now", "--fail-on", "error"); out.Code != 4 || !strings.Contains(out.Out, "broken") {
		t.Errorf("%+v", out)
	}
}

func TestSubscriptionsOutliveTheDaemon(t *testing.T) {
	w := e2etest.EmptyWorld(t)
	r := newReader(t, w.World)
	r.follow(t, "tidemark://checkpoints")
	run := func(args ...string) {
		t.Helper()
		if r := w.Run(args...); r.Code != 0 {
			t.Fatalf("%s: %s", args, r.Err)
		}
	}
	run("checkpoint", "add", "one")
	r.hear(t, "tidemark://checkpoints")
	run("stop")
	run("checkpoint", "add", "two") // nobody looks
	if got := r.read(t, "tidemark://checkpoints"); !strings.Contains(got, "`one`") || !strings.Contains(got, "`two`") {
		t.Error(got)
	}
	r.hear(t, "tidemark://checkpoints") // that it may have changed
	run("checkpoint", "add", "three")
	r.hear(t, "tidemark://checkpoints")
}
