package engine_test

import (
	"context"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// leaving is a world with two tabs of the agent's origin. Every action leads tab 1 to another origin.
func leaving(t *testing.T) (*enginetest.World, *checkpoint.Client) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, enginetest.Page+"/other")
	secret := func() *protocol.AriaResult {
		value := "secret of elsewhere"
		return &protocol.AriaResult{Frames: []protocol.AriaFrame{{Parent: -1, Document: "e", URL: elsewhere + "/", Title: "secret of elsewhere", Root: 1, Version: 1, Nodes: []protocol.AriaNode{
			{ID: 1, Role: "document", Children: []int{2, 3}}, {ID: 2, Role: "button", Name: "secret of elsewhere"}, {ID: 3, Role: "textbox", Name: "secret of elsewhere", Value: &value},
		}}}}
	}
	away := false
	w.Look = func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error) {
		if away {
			return secret(), nil
		}
		return pageWith("Leave"), nil
	}
	w.Do = func(_ context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
		away = true
		w.Log("error", "before it left")
		w.Send("navigation", `"how":"load","url":"`+elsewhere+`/secret"`)
		w.Send("network", `"id":"n","method":"GET","url":"`+elsewhere+`/secret.json","resource":"fetch","status":500,"started":1769164200000,"duration":1`)
		w.Send("network", `"id":"m","method":"GET","url":"`+elsewhere+`/secret","resource":"document","status":200,"started":1769164200000,"duration":1`)
		w.Log("error", "secret of elsewhere")
		r := &protocol.ActResult{Done: len(p.Steps), Began: w.Now.UnixMilli(), Waiting: []string{"GET " + elsewhere + "/secret"}, Value: `"secret"`, Downloads: []string{"secret.txt"}, Image: "c2VjcmV0", Mime: "image/png"}
		if p.Look != nil {
			r.Page = secret()
		}
		return r, nil
	}
	return w, w.Scoped("localhost:5173")
}

func said(t *testing.T, w *enginetest.World, c *checkpoint.Client, tool, args string) string {
	t.Helper()
	answer, err := engine.FindTool(tool).Call(t.Context(), w.Engine, c, []byte(args))
	if err != nil {
		return err.Error()
	}
	text, ok := render.ForAgent(answer)
	if !ok {
		t.Fatalf("%T", answer)
	}
	return text
}

func TestAnActionThatLeavesTheAgentsOriginsShowsNothingOfThePage(t *testing.T) {
	const left = "tab 1 left this client's origins (http://localhost:5173)"
	for _, call := range []struct{ tool, args string }{
		{"browser_click", `{"ref":"e1","tab":1}`},
		{"browser_navigate", `{"url":"back","tab":1}`},
		{"browser_navigate", `{"url":"http://localhost:5173/redirects","tab":1}`},
		{"browser_press_key", `{"key":"Enter","tab":1}`},
		{"browser_screenshot", `{"tab":1}`},
		{"browser_wait_for", `{"text":"secret of elsewhere","tab":1}`},
		{"browser_fill_form", `{"fields":[{"ref":"e1","value":"x"}],"submit":"e1","tab":1}`},
	} {
		w, c := leaving(t)
		said(t, w, c, "browser_snapshot", `{"tab":1}`)
		if call.tool == "browser_wait_for" { // while it reads
			act, look := w.Do, w.Look
			w.Look = func(ctx context.Context, p protocol.AriaParams) (*protocol.AriaResult, error) {
				if _, err := act(ctx, protocol.ActParams{}); err != nil {
					return nil, err
				}
				return look(ctx, p)
			}
		}
		text := said(t, w, c, call.tool, call.args)
		if strings.Count(text, left) != 1 || strings.Contains(text, "secret") || strings.Contains(text, elsewhere) || strings.Contains(text, "No problems") {
			t.Errorf("%s %s: %s", call.tool, call.args, text)
		}
		if call.tool != "browser_wait_for" && !strings.Contains(text, "before it left") {
			t.Errorf("%s lacks the problem of its own page: %s", call.tool, text)
		}
		if call.tool != "browser_click" {
			continue // the next call is the same after all
		}
		for _, next := range []string{`{}`, `{"tab":1}`} {
			if text := said(t, w, c, "browser_snapshot", next); !strings.Contains(text, left) || !strings.Contains(text, "browser_tabs") {
				t.Errorf("the next snapshot %s: %s", next, text)
			}
		}
		if text, err := w.Call(c, "browser_tabs", `{}`); err != nil || strings.Contains(text, "current") || strings.Contains(text, elsewhere) {
			t.Errorf("the tabs: %s (%v)", text, err)
		}
		if text := said(t, w, c, "browser_snapshot", `{"tab":2}`); strings.Contains(text, left) {
			t.Errorf("the other tab: %s", text)
		}
	}
}

func TestARefusedStepAfterLeavingSaysSo(t *testing.T) {
	w, c := leaving(t)
	said(t, w, c, "browser_snapshot", `{"tab":1}`)
	act := w.Do
	w.Do = func(ctx context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
		r, err := act(ctx, p)
		r.Done, r.Refused, r.Text = 1, protocol.RefusedGone, "secret"
		return r, err
	}
	text := said(t, w, c, "browser_fill_form", `{"fields":[{"ref":"e2","value":"x"}],"submit":"e2","tab":1}`)
	if !strings.HasPrefix(text, `button "Leave" [e2]: tab 1 left this client's origins (http://localhost:5173). Pass the tab you mean: browser_tabs lists them. 1 of 2 steps were done.`) || strings.Contains(text, "secret") {
		t.Error(text)
	}
}

func TestAnAgentWithoutLimitSeesWhereItsActionLeads(t *testing.T) {
	w, _ := leaving(t)
	c := w.Agent()
	said(t, w, c, "browser_snapshot", `{"tab":1}`)
	if text := said(t, w, c, "browser_click", `{"ref":"e1"}`); !strings.Contains(text, "secret of elsewhere") || !strings.Contains(text, "secret.json") {
		t.Error(text)
	}
}

func TestAnAgentOpensOnlyItsOrigins(t *testing.T) {
	w, c := leaving(t)
	w.Do = func(context.Context, protocol.ActParams) (*protocol.ActResult, error) {
		t.Error("the browser was asked")
		return &protocol.ActResult{}, nil
	}
	const sees = "this client sees only http://localhost:5173, so it cannot open http://localhost:9000"
	for _, call := range []struct{ tool, args string }{
		{"browser_navigate", `{"url":"` + elsewhere + `/secret"}`},
		{"browser_navigate", `{"url":"` + elsewhere + `/secret","tab":1}`},
		{"browser_navigate", `{"url":"http://localhost:5173@localhost:9000/"}`},
		{"browser_tabs", `{"action":"new","url":"` + elsewhere + `/secret"}`},
	} {
		if text := said(t, w, c, call.tool, call.args); text != sees {
			t.Errorf("%s %s: %s", call.tool, call.args, text)
		}
	}
}

func TestATabThatAPageOpensElsewhereIsNotShown(t *testing.T) {
	w, c := leaving(t)
	said(t, w, c, "browser_snapshot", `{"tab":1}`)
	w.Do = func(context.Context, protocol.ActParams) (*protocol.ActResult, error) {
		w.Open(9, elsewhere+"/secret")
		w.Open(10, enginetest.Page+"/mine")
		return &protocol.ActResult{Done: 1, Opened: []int{9, 10}}, nil
	}
	text := said(t, w, c, "browser_click", `{"ref":"e1"}`)
	if !strings.Contains(text, "Opened a tab outside of this client's origins.\nOpened tab 4: http://localhost:5173/mine") || strings.Contains(text, "secret") {
		t.Error(text)
	}
}

func TestAnAgentThatOpenedATabActsOnIt(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	w.Do = func(context.Context, protocol.ActParams) (*protocol.ActResult, error) {
		w.Open(8, enginetest.Page+"/new")
		return &protocol.ActResult{Done: 1, Opened: []int{8}}, nil
	}
	if _, err := w.Call(c, "browser_tabs", `{"action":"new","url":"`+enginetest.Page+`/new"}`); err != nil {
		t.Fatal(err)
	}
	if agents := w.Engine.Actor.AgentsSeenFrom("i"); len(agents) != 1 || agents[0].Tab != 8 || agents[0].Title != "page" {
		t.Errorf("%+v", agents)
	}
	if did := w.Engine.Actor.DidBy(c); !did(2, w.Now.UnixMilli()) {
		t.Error("it did not act on the tab")
	}
}
