package launch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/protocol"
)

// browser is a headless browser that a test opens.
type browser struct{ done chan struct{} }

func (b browser) Instance() string                   { return "i" }
func (b browser) Headless() bool                     { return true }
func (b browser) Open(context.Context, string) error { return nil }
func (b browser) Done() <-chan struct{}              { return b.done }
func (b browser) Notes() []string                    { return nil }
func (b browser) Close() error                       { close(b.done); return nil }
func (b browser) Launch(context.Context, LaunchRequest) (OwnBrowser, error) {
	return b, nil
}

func (b browser) ended() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// A headless browser stays for its time after the last agent that used it left, whichever opened it.
func TestABrowserStaysWhileAnAgentUsesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := capture.New(capture.DefaultLimits(), noise.Default(), time.Now())
		store.Hello(&protocol.Hello{Protocol: 1, Extension: "1", Browser: "Chromium 156", Instance: "i", Session: "life", Stream: "s", First: 1}, time.Now())
		store.SetTabs("i", []protocol.Tab{{ID: 7, URL: "http://localhost/", Watched: true}}, time.Now())
		registry := clients.New(store, time.Now, retention.Never)
		all := pages.New(pages.Options{Store: store, Clock: time.Now})
		own := browser{make(chan struct{})}
		e := New(Options{Store: store, Pages: all, Clients: registry, Launcher: own, Clock: time.Now})
		registry.OnConnect(e.Back)
		registry.OnDisconnect(all.Forget)
		registry.OnDisconnect(e.Left)

		first, leave := registry.Join("first", "first", checkpoint.Scope{})
		if _, _, err := e.open(t.Context(), first, LaunchRequest{Headless: true}, nil); err != nil {
			t.Fatal(err)
		}
		const tab = 1
		all.Use(first, tab)
		leave()
		time.Sleep(DefaultKeepOpen / 2)
		second, leave := registry.Join("second", "second", checkpoint.Scope{})
		all.Use(second, tab)
		time.Sleep(DefaultKeepOpen * 2)
		if own.ended() {
			t.Fatal("ended while the second agent uses it")
		}
		leave()
		all.Use(second, tab) // a call that ends late
		time.Sleep(DefaultKeepOpen / 2)
		_, leave = registry.Join("first", "first", checkpoint.Scope{})
		all.Use(first, tab)
		leave()
		time.Sleep(DefaultKeepOpen - time.Second)
		if own.ended() {
			t.Fatal("ended a minute after the agent before the last one")
		}
		time.Sleep(2 * time.Second)
		if !own.ended() {
			t.Error("stays after every agent left")
		}
	})
}
