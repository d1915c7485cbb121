package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// opened returns the answer of browser_open for the page of a world's tab, which renders something after a while and has one
// request in flight until then. Its browser waits as long as it may.
func opened(t *testing.T, rendered time.Duration) string {
	t.Helper()
	w := enginetest.New(t, capture.Limits{})
	began := w.Now
	w.Send("request", `"id":"slow","method":"GET","url":"http://localhost:5173/api/slow","resource":"fetch"`)
	w.Look = func(_ context.Context, p protocol.AriaParams) (*protocol.AriaResult, error) {
		f := protocol.AriaFrame{Parent: -1, Document: "one", URL: enginetest.Page + "/", Title: "Shop", Root: 1, Version: 1, Nodes: []protocol.AriaNode{{ID: 1, Role: "document"}}}
		if w.Now.Sub(began) >= rendered {
			f.Nodes = []protocol.AriaNode{{ID: 1, Role: "document", Children: []int{2}}, {ID: 2, Role: "button", Name: "Buy"}}
		}
		return &protocol.AriaResult{Frames: []protocol.AriaFrame{f}}, nil
	}
	w.Do = func(_ context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
		if p.Steps[0].Op == protocol.StepChange {
			w.Pass(time.Duration(p.SettleMs) * time.Millisecond)
		}
		return &protocol.ActResult{Done: 1}, nil
	}
	answer, err := w.Call(w.Agent(), "browser_open", `{"url":"`+enginetest.Page+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAPageIsOpenOnceItHasRendered(t *testing.T) {
	if got := opened(t, 7*time.Second); !strings.Contains(got, `button \"Buy\"`) || !strings.Contains(got, `"reused":true`) || strings.Contains(got, "loading") {
		t.Error(got)
	}
}

func TestAPageThatDoesNotRenderIsStillLoading(t *testing.T) {
	got := opened(t, time.Hour)
	if !strings.Contains(got, "still loading: 1 request(s)") || !strings.Contains(got, `"loading":1`) || strings.Contains(got, "snapshot") {
		t.Error(got)
	}
}
