package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/tool"
)

const (
	// sessionTimeout is how long a session may be silent before it ends.
	sessionTimeout = 24 * time.Hour
	// maxBody bounds a request, in bytes.
	maxBody = 4 << 20
)

// HTTP serves agents over streamable HTTP: each session is a client of its own, of the scope that the
// query's origin (repeatable) names, with the tool sets of its tools (separated by commas) and the workspace of
// its workspace (an absolute path). Whoever reaches it is served: put the check of the token before it.
// Each server that it makes is given to extend, where a test adds what it needs.
func HTTP(ctx context.Context, e *engine.Engine, version string, extend ...func(*mcp.Server)) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(req *http.Request) *mcp.Server {
		// (Called for questions outside of any session too: those are nobody's.)
		client, err := clientOf(req.URL.Query())
		if err != nil {
			return nil
		}
		r := newResources(e, client)
		server := newServer(e, client, version, r, nil, func(session *mcp.ServerSession) {
			if name := nameOf(session); name != "" {
				client.Name = name
			}
			leave := e.Clients.Enter(client)
			e.Timeline.BeginSoon(client.Scope.Workspace)
			go func() { // ends with the session, and all sessions end with ctx
				defer leave()
				defer r.close()
				stop := context.AfterFunc(ctx, func() { _ = session.Close() })
				defer stop()
				_ = session.Wait()
			}()
		})
		for _, add := range extend {
			add(server)
		}
		return server
	}, &mcp.StreamableHTTPOptions{
		Logger: slog.New(slog.DiscardHandler), SessionTimeout: sessionTimeout, MaxRequestBodyBytes: maxBody, JSONResponse: true,
	})
}

// clientOf is the client that a query describes.
func clientOf(query url.Values) (*checkpoint.Client, error) {
	scope, err := checkpoint.NewScope(query["origin"])
	if err != nil {
		return nil, err
	}
	if scope.Workspace = query.Get("workspace"); scope.Workspace != "" {
		if !filepath.IsAbs(scope.Workspace) {
			return nil, fmt.Errorf("workspace is %q; it must be an absolute path", scope.Workspace)
		}
		if resolved, err := grants.Resolve(scope.Workspace); err == nil { // as changes of files name it
			scope.Workspace = resolved
		}
	}
	client := &checkpoint.Client{Name: "http", Scope: scope}
	if query.Has("tools") {
		if client.Sets, err = tool.CheckSets(strings.FieldsFunc(query.Get("tools"), func(c rune) bool { return c == ',' })); err != nil {
			return nil, err
		}
	}
	return client, nil
}
