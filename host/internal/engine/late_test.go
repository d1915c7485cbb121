package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// TestAnActionListsNothingThatAReportHad of what happened since the action before: only a report that left something out does
// not count.
func TestAnActionListsNothingThatAReportHad(t *testing.T) {
	for name, c := range map[string]struct {
		report func(*enginetest.World, *checkpoint.Client)
		late   string
	}{
		"a report":               {func(w *enginetest.World, c *checkpoint.Client) { w.Changes(c, params{}) }, ""},
		"one of another agent":   {func(w *enginetest.World, _ *checkpoint.Client) { w.Changes(w.Agent(), params{}) }, "error: \"broken\", GET /a 500, error element .e: \"no\""},
		"one of errors":          {func(w *enginetest.World, c *checkpoint.Client) { w.Changes(c, params{Severity: "errors_only"}) }, "error element .e: \"no\""},
		"one of a section":       {func(w *enginetest.World, c *checkpoint.Client) { w.Changes(c, params{Include: []string{"console"}}) }, "GET /a 500, error element .e: \"no\""},
		"one since a checkpoint": {func(w *enginetest.World, c *checkpoint.Client) { w.Changes(c, params{Checkpoint: "auto_0"}) }, "error: \"broken\", GET /a 500, error element .e: \"no\""},
		"one of a tab that is another": {func(w *enginetest.World, c *checkpoint.Client) {
			w.Open(8, enginetest.Page+"/other")
			w.Changes(c, params{Tab: 2})
		}, "error: \"broken\", GET /a 500, error element .e: \"no\""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewLive(t, nil)
				b := &browser{button: "One"}
				w.Look = b.look
				w.Do = func(ctx context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
					if p.Steps[0].Op == protocol.StepClick {
						return &protocol.ActResult{Done: 1}, nil
					}
					return changesOnly(ctx, p)
				}
				a := w.Agent()
				ref := strings.Trim(reference.FindString(snapshot(t, w, a, pages.SnapshotParams{}).Snapshot), "[]")
				click := func() *act.Answer {
					t.Helper()
					time.Sleep(time.Second)
					answer, err := w.Engine.Actor.Click(t.Context(), a, act.ClickParams{Ref: ref, Tab: 1})
					if err != nil {
						t.Fatal(err)
					}
					return answer
				}
				w.Changes(a, params{})
				click()
				time.Sleep(time.Second)
				w.Log("error", "broken")
				w.Request("GET", "/a", 500, 1)
				w.Element("appeared", 1, ".e", "no")
				time.Sleep(time.Second)
				c.report(w, a)
				w.Element("gone", 1, "", "")
				w.Changes(a, params{Include: []string{"actions"}})
				late := click().Late
				var texts []string
				if late != nil {
					for _, l := range [][]diff.Consequence{late.Broke, late.Repeated} {
						for _, e := range l {
							text, _, _ := strings.Cut(e.Text, " (")
							if !e.Given {
								texts = append(texts, text)
							}
						}
					}
				}
				if got := strings.Join(texts, ", "); got != c.late {
					t.Errorf("%s, want %s", got, c.late)
				}
				if name == "a report" && late != nil {
					t.Errorf("%+v", late)
				}
			})
		})
	}
}

// TestWhatEndsDuringAWaitIsOfTheWait: a request that was made before it, too.
func TestWhatEndsDuringAWaitIsOfTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewLive(t, nil)
		b := &browser{button: "One"}
		w.Look, w.Do = b.look, changesOnly
		a := w.Agent()
		ref := strings.Trim(reference.FindString(snapshot(t, w, a, pages.SnapshotParams{}).Snapshot), "[]")
		if _, err := w.Engine.Actor.Click(t.Context(), a, act.ClickParams{Ref: ref, Tab: 1}); err != nil {
			t.Fatal(err)
		}
		began := map[string]int64{}
		for _, id := range []string{"a", "b"} {
			began[id] = time.Now().UnixMilli()
			w.Send("request", fmt.Sprintf(`"id":%q,"method":"GET","url":"%s/slow","resource":"fetch"`, id, enginetest.Page))
			time.Sleep(time.Second)
		}
		ends := func(id string) {
			w.Send("network", fmt.Sprintf(`"id":%q,"method":"GET","url":"%s/slow","resource":"fetch","status":500,"started":%d,"duration":%d`, id, enginetest.Page, began[id], time.Now().UnixMilli()-began[id]))
		}
		ends("a")
		time.Sleep(time.Second)
		time.AfterFunc(2*time.Second, func() { ends("b") })
		answer, err := w.Engine.Actor.WaitFor(t.Context(), a, act.WaitParams{Settled: true, Tab: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.Broke) != 1 || answer.Broke[0].Line() != "GET /slow 500" || answer.Late == nil || len(answer.Late.Broke) != 1 || answer.Late.Broke[0].Line() != "GET /slow 500" {
			t.Errorf("%+v, late %+v", answer.Broke, answer.Late)
		}
	})
}

// TestThePageThatAnActionLeavesIsNotListed: only the changes there are told, where they are few.
func TestThePageThatAnActionLeavesIsNotListed(t *testing.T) {
	for name, c := range map[string]struct {
		links int // that the page shows in place of its others, before the action
		want  string
	}{
		"most of it changed":   {15, ""},
		"little of it changed": {1, "New link A"},
		"nothing changed":      {0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewLive(t, nil)
				w.Look = func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error) { return pageWith("Pay"), nil }
				before := pageWith("Pay")
				f := &before.Frames[0]
				f.Since, f.Version, f.Nodes = 1, 2, nil
				for i := range c.links {
					f.Nodes = append(f.Nodes, protocol.AriaNode{ID: 10 + i, Role: "link", Name: fmt.Sprintf("New link %c", 'A'+i)})
				}
				w.Do = func(_ context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
					next := pageWith("Thanks")
					next.Frames[0].Document, next.Frames[0].URL = "e", enginetest.Page+"/thanks"
					return &protocol.ActResult{Done: len(p.Steps), Began: time.Now().UnixMilli(), Before: before, Page: next}, nil
				}
				a := w.Agent()
				snapshot(t, w, a, pages.SnapshotParams{})
				time.Sleep(time.Second)
				answer, err := w.Engine.Actor.Navigate(t.Context(), a, act.NavigateParams{URL: enginetest.Page + "/thanks", Tab: 1})
				if err != nil {
					t.Fatal(err)
				}
				late := ""
				if answer.Late != nil {
					late = answer.Late.Page
				}
				if c.want == "" && late != "" || !strings.Contains(late, c.want) || strings.Contains(late, "[The page now]") {
					t.Errorf("late:\n%s", late)
				}
				if !strings.Contains(answer.Page, `button "Thanks"`) || strings.Contains(answer.Page, "New link") {
					t.Errorf("the page:\n%s", answer.Page)
				}
			})
		})
	}
}
