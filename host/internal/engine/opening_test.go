package engine_test

import (
	"context"
	"encoding/json"
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
	w.Look = func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error) {
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

// TestAnAgentsActionsAreNotTheUsers: also after the agent has left.
func TestAnAgentsActionsAreNotTheUsers(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Look = func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error) {
		return &protocol.AriaResult{Frames: []protocol.AriaFrame{{Parent: -1, Document: "one", URL: enginetest.Page + "/", Root: 1, Version: 1, Nodes: []protocol.AriaNode{{ID: 1, Role: "document"}}}}}, nil
	}
	w.Do = func(context.Context, protocol.ActParams) (*protocol.ActResult, error) {
		w.Pass(time.Second)
		w.Send("action", `"action":"click","target":"button \"Pay\""`)
		w.Pass(time.Second)
		return &protocol.ActResult{Done: 1, Began: w.Now.UnixMilli()}, nil
	}
	one, other := w.Agent(), w.Agent()
	if _, err := w.Call(one, "browser_press_key", `{"key":"Enter"}`); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Minute)
	w.Send("action", `"action":"click","target":"button \"Cancel\""`)
	w.Engine.Actor.Forget(one)
	answer, err := w.Call(other, "get_enhanced_actions", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Entries []struct{ Target, By string }
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list.Entries) != 2 || list.Entries[0].By != "agent" || list.Entries[1].By != "" {
		t.Errorf("%v: %s", err, answer)
	}
}

func TestAFindingThatThePopupIgnoresChangesWhatViewersShow(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Log("error", "the clock is slow")
	f := view[protocol.ViewReport](t, w, "view_report", protocol.ViewReportParams{}).Refs["console.new_errors"][0].Finding
	changed := w.Engine.Viewer.Changed()
	view[protocol.IgnoreResult](t, w, "ignore", protocol.IgnoreParams{Kind: f.Kind, Level: f.Level, Origin: f.Origin, Fingerprint: f.Fingerprint})
	select {
	case <-changed:
	default:
		t.Error("viewers are not notified")
	}
}
