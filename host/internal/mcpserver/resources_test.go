package mcpserver_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/mcpserver"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// follower is a real MCP client that hears of resources.
type follower struct {
	*mcp.ClientSession
	updated chan string
	// acknowledged hears of each request that lasts, when it has begun.
	acknowledged chan struct{}
}

// protocols are those by which clients subscribe: with a request for each resource, and with a request that lasts.
var protocols = []string{"2025-06-18", "2026-07-28"}

func follow(t *testing.T, w *enginetest.World, version string) follower {
	t.Helper()
	f := follower{updated: make(chan string, 100), acknowledged: make(chan struct{}, 100)}
	ours, theirs := net.Pipe()
	client, leave := w.Engine.Clients.Join("", "follower", checkpoint.Scope{})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = mcpserver.Serve(ctx, w.Engine, client, "0.0.0", ours)
	}()
	var err error
	c := mcp.NewClient(&mcp.Implementation{Name: "follower", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { f.updated <- r.Params.URI },
	})
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				f.acknowledged <- struct{}{}
			}
			return next(ctx, method, req)
		}
	})
	f.ClientSession, err = c.Connect(ctx, &mcp.IOTransport{Reader: theirs, Writer: theirs}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.Close()
		_ = theirs.Close()
		cancel()
		<-served
		leave()
	})
	return f
}

func (f follower) read(t *testing.T, uri string) string {
	t.Helper()
	r, err := f.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	if len(r.Contents) != 1 || r.Contents[0].MIMEType != "text/markdown" {
		t.Fatalf("%s: %+v", uri, r.Contents)
	}
	return r.Contents[0].Text
}

func (f follower) heard(t *testing.T, uri string) {
	t.Helper()
	select {
	case got := <-f.updated:
		if got != uri {
			t.Errorf("told of %s, want %s", got, uri)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("was not told of %s", uri)
	}
}

func (f follower) subscribe(t *testing.T, uri string) {
	t.Helper()
	if err := f.Subscribe(context.Background(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	if f.InitializeResult().ProtocolVersion >= protocols[1] {
		select {
		case <-f.acknowledged:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s is not followed", uri)
		}
	}
}

func TestResourcesAreMarkdownAndMoveNothing(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	s := follow(t, w, protocols[0])
	call(t, s.ClientSession, "checkpoint_create", map[string]any{"name": "session_start"})
	w.Pass(time.Second)
	at := w.Now.UTC().Format("2006-01-02T15:04:05Z")
	w.Pass(time.Second)
	w.Log("error", "it <broke> `hard`")
	w.Pass(time.Second)
	call(t, s.ClientSession, "checkpoint_create", map[string]any{"name": "after_refactor"})
	w.Pass(time.Second)

	listed, err := s.ListResources(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := s.ListResourceTemplates(context.Background(), nil)
	if err != nil || len(listed.Resources) != 2 || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "tidemark://diff/{from}/{to}" {
		t.Fatalf("%v: %+v %+v", err, listed, templates)
	}
	for range 2 {
		if got := s.read(t, "tidemark://changes"); !strings.Contains(got, "## ✖ error: 1 new console error(s)") || !strings.Contains(got, "``it <broke> `hard` ``") && !strings.Contains(got, "`` it <broke> `hard` ``") {
			t.Errorf("%s", got)
		}
	}
	if got := text(call(t, s.ClientSession, "get_changes_since", nil)); !strings.Contains(got, "broke") || !strings.Contains(got, "auto_1") {
		t.Errorf("reading has moved the agent's place: %s", got)
	}
	if got := s.read(t, "tidemark://changes"); !strings.Contains(got, "✔ clean: No significant changes") || !strings.Contains(got, "`auto_1`") {
		t.Errorf("%s", got)
	}
	if got := s.read(t, "tidemark://checkpoints"); !strings.Contains(got, "`session_start` → ✔ clean\n") || !strings.Contains(got, "`after_refactor` → ✖ error, 1 new console error(s)\n") {
		t.Errorf("%s", got)
	}
	for uri, want := range map[string]string{
		"tidemark://diff/session_start/after_refactor":                   "1 new console error",
		"tidemark://diff/after_refactor/now":                             "No significant changes",
		"tidemark://diff/" + at + "/now":                                 "1 new console error",
		"tidemark://diff/" + strings.ReplaceAll(at, ":", "%3A") + "/now": "1 new console error",
	} {
		if got := s.read(t, uri); !strings.Contains(got, want) {
			t.Errorf("%s: %s", uri, got)
		}
	}
	for uri, want := range map[string]string{
		"tidemark://diff/session_stort/now":                "there is no checkpoint \"session_stort\"; checkpoints are session_start",
		"tidemark://diff/after_refactor/session_start":     "Swap the two",
		"tidemark://diff/session_start":                    "not found",
		"tidemark://diff/session_start/after_refactor/now": "not found",
		"tidemark://other":                                 "not found",
	} {
		if _, err := s.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%s: %v, want %s", uri, err, want)
		}
	}
}

func TestSubscribersAreToldWhenASeverityChanges(t *testing.T) {
	for _, version := range protocols {
		t.Run(version, func(t *testing.T) { subscribersAreTold(t, version) })
	}
}

func subscribersAreTold(t *testing.T, version string) {
	w := enginetest.New(t, capture.Limits{})
	s := follow(t, w, version)
	if got := s.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("they speak %s", got)
	}
	call(t, s.ClientSession, "checkpoint_create", map[string]any{"name": "session_start"})
	call(t, s.ClientSession, "get_changes_since", nil)
	w.Pass(time.Second)
	s.subscribe(t, "tidemark://changes")
	w.Log("warning", "careful") // clean → warning
	s.heard(t, "tidemark://changes")
	w.Log("warning", "careful again") // warning still: not told
	w.Log("error", "broken")          // warning → error
	s.heard(t, "tidemark://changes")
	s.subscribe(t, "tidemark://diff/session_start/now")
	call(t, s.ClientSession, "get_changes_since", nil) // error → clean for the agent, not for the other
	w.Log("log", "something")
	s.heard(t, "tidemark://changes")
	s.subscribe(t, "tidemark://checkpoints")
	w.Pass(time.Second)
	call(t, s.ClientSession, "checkpoint_create", map[string]any{"name": "second"})
	s.heard(t, "tidemark://checkpoints")
	if err := s.Unsubscribe(context.Background(), &mcp.UnsubscribeParams{URI: "tidemark://changes"}); err != nil {
		t.Fatal(err)
	}
	w.Log("error", "nobody asked")
	call(t, s.ClientSession, "checkpoint_delete", map[string]any{"name": "session_start"}) // what can no longer be read is told, too
	got := []string{<-s.updated, <-s.updated}
	slices.Sort(got)
	if !slices.Equal(got, []string{"tidemark://checkpoints", "tidemark://diff/session_start/now"}) {
		t.Error(got)
	}
	if len(s.updated) > 0 {
		t.Errorf("was told of %s", <-s.updated)
	}
}

func TestSubscriptionsAreCheckedAndBounded(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	s := follow(t, w, protocols[0])
	ctx := context.Background()
	for _, uri := range []string{"tidemark://diff/nope/now", "tidemark://nope", "file:///etc/passwd"} {
		if err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err == nil {
			t.Errorf("%s is followed", uri)
		}
	}
	last := w.Now.Add(-time.Hour)
	for i := range 51 {
		err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: "tidemark://diff/" + last.Add(time.Duration(i)*time.Second).UTC().Format("2006-01-02T15:04:05Z") + "/now"})
		if (err != nil) != (i == 50) || i == 50 && !strings.Contains(err.Error(), "50 subscriptions already") {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestAPersonHoldsResourcesToo(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	s := follow(t, w, protocols[0])
	call(t, s.ClientSession, "checkpoint_list", nil)
	o, err := w.Engine.Viewer.Overview(context.Background(), "", protocol.ViewParams{})
	if err != nil || len(o.Agents) != 1 {
		t.Fatal(err, o)
	}
	if _, err := w.Engine.Viewer.Agents.SetSuspended(context.Background(), protocol.ViewHoldParams{Agent: o.Agents[0].ID, Held: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "tidemark://changes"}); err == nil || !strings.Contains(err.Error(), "suspended") {
		t.Error(err)
	}
}
