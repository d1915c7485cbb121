package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// TestAnActionReportsThatThePageBecameEmpty: the page's code fails and leaves nothing, which the page reports a while later.
func TestAnActionReportsThatThePageBecameEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		throws bool
		want   string
		took   time.Duration
	}{
		"an error":                   {true, `error: "TypeError: no price", the page is empty`, 300 * time.Millisecond},
		"no error, as at a sign out": {false, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewLive(t, nil)
				version, empty := 0, false
				w.Look = func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error) {
					r := pageWith("Blank")
					f := &r.Frames[0]
					version++
					if f.Version = version; empty {
						f.Nodes = []protocol.AriaNode{{ID: 1, Role: "document"}}
					}
					return r, nil
				}
				w.Do = func(_ context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
					if c.throws {
						w.Log("error", "TypeError: no price")
					}
					empty = true
					time.AfterFunc(300*time.Millisecond, func() { w.Send("element", `"op":"emptied","frame":0,"document":"d","id":0`) })
					return &protocol.ActResult{Done: len(p.Steps)}, nil
				}
				a := w.Agent()
				ref := strings.Trim(reference.FindString(snapshot(t, w, a, pages.SnapshotParams{}).Snapshot), "[]")
				w.Changes(a, params{})
				time.Sleep(time.Second)
				began := time.Now()
				answer, err := w.Engine.Actor.Click(t.Context(), a, act.ClickParams{Ref: ref, Tab: 1})
				if err != nil {
					t.Fatal(err)
				}
				took := time.Since(began)
				var texts []string
				for _, e := range answer.Broke {
					text, _, _ := strings.Cut(e.Text, " (")
					texts = append(texts, text)
				}
				if got := strings.Join(texts, ", "); got != c.want || took != c.took {
					t.Errorf("%s after %s", got, took)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// submittedForm is a page with a field and a button. The button sends a request that does not end.
type submittedForm struct {
	*enginetest.World
	t               *testing.T
	agent           *checkpoint.Client
	refs            []string // of the field and the button
	value, document string
	began           int64
	looks, version  int
}

func newSubmittedForm(t *testing.T) *submittedForm {
	f := &submittedForm{World: enginetest.NewLive(t, nil), t: t, value: "Ada", document: "d"}
	page := func(known []protocol.AriaKnown) *protocol.AriaResult {
		f.version++
		value := f.value
		frame := protocol.AriaFrame{Parent: -1, Document: f.document, URL: enginetest.Page + "/", Title: "page", Root: 1, Version: f.version, Nodes: []protocol.AriaNode{
			{ID: 1, Role: "document", Children: []int{2, 3}}, {ID: 2, Role: "textbox", Name: "Name", Value: &value}, {ID: 3, Role: "button", Name: "Pay"},
		}}
		if len(known) > 0 && known[0].Document == f.document {
			frame.Since = known[0].Version
		}
		return &protocol.AriaResult{Frames: []protocol.AriaFrame{frame}}
	}
	f.Look = func(_ context.Context, p protocol.AriaParams) (*protocol.AriaResult, error) {
		f.looks++
		return page(p.Known), nil
	}
	f.Do = func(_ context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
		r := &protocol.ActResult{Done: len(p.Steps), Began: time.Now().UnixMilli()}
		if p.Before && p.Look != nil {
			r.Before = page(p.Look.Known)
		}
		switch last := p.Steps[len(p.Steps)-1]; {
		case last.Op == protocol.StepType || last.Op == protocol.StepFill:
			f.value = strings.Join(last.Texts, "")
		case last.Op == protocol.StepClick && f.began == 0:
			f.began = time.Now().UnixMilli()
			f.Send("request", `"id":"pay","method":"POST","url":"http://localhost:5173/api/pay","resource":"fetch"`)
		}
		time.Sleep(500 * time.Millisecond) // in the bubble
		return r, nil
	}
	f.agent = f.Agent()
	f.refs = reference.FindAllString(snapshot(t, f.World, f.agent, pages.SnapshotParams{}).Snapshot, -1)
	if len(f.refs) != 2 {
		t.Fatal(f.refs)
	}
	f.Changes(f.agent, params{})
	return f
}

// end ends the request two seconds later.
func (f *submittedForm) end(status int) {
	time.Sleep(2 * time.Second)
	f.Send("network", fmt.Sprintf(`"id":"pay","method":"POST","url":"http://localhost:5173/api/pay","resource":"fetch","status":%d,"started":%d,"duration":2500`, status, f.began))
}

func (f *submittedForm) click() (now, late []string) {
	f.t.Helper()
	answer, err := f.Engine.Actor.Click(f.t.Context(), f.agent, act.ClickParams{Ref: strings.Trim(f.refs[1], "[]"), Tab: 1})
	if err != nil {
		f.t.Fatal(err)
	}
	if answer.Late != nil {
		late = answer.Late.Emptied
	}
	return answer.Emptied, late
}

func (f *submittedForm) report() (names []string) {
	for _, e := range f.Changes(f.agent, params{}).DOM.EmptiedFields {
		names = append(names, e.Element)
	}
	return names
}

// TestFieldsThatAreEmptiedAfterTheAnswer are reported once, by the tool that is called next.
func TestFieldsThatAreEmptiedAfterTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*submittedForm) // after the request was sent
		status    int
		want      bool
		looks     int // of a report at the page
	}{
		"a refusal":      {func(*submittedForm) {}, 422, true, 1},
		"a success":      {func(*submittedForm) {}, 200, false, 0},
		"another try":    {func(f *submittedForm) { f.click() }, 422, true, 1},
		"a new document": {func(f *submittedForm) { f.document = "e" }, 422, false, 1},
		"filled again by the agent": {func(f *submittedForm) {
			if _, err := f.Engine.Actor.Type(f.t.Context(), f.agent, act.TypeParams{Ref: strings.Trim(f.refs[0], "[]"), Text: act.Texts{"Bob"}, Tab: 1}); err != nil {
				f.t.Fatal(err)
			}
		}, 422, false, 0},
		"emptied before the refusal": {func(f *submittedForm) {
			f.value = ""
			f.click()
		}, 422, false, 0},
	} {
		for _, tool := range []string{"action", "report", "screenshot", "wait"} {
			t.Run(name+", then "+tool, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newSubmittedForm(t)
					var want []string
					if c.want {
						want = []string{`textbox "Name" ` + f.refs[0]}
					}
					if now, late := f.click(); len(now)+len(late) > 0 {
						t.Errorf("at once: %q, late %q", now, late)
					}
					c.meanwhile(f)
					f.end(c.status)
					f.value = ""
					f.looks = 0
					switch tool {
					case "screenshot":
						if _, err := f.Engine.Actor.Screenshot(t.Context(), f.agent, act.ScreenshotParams{Tab: 1}); err != nil {
							t.Fatal(err)
						}
						fallthrough
					case "action":
						if now, late := f.click(); len(now) > 0 || !slices.Equal(late, want) {
							t.Errorf("%q, late %q, not %q", now, late, want)
						}
					case "wait":
						answer, err := f.Engine.Actor.WaitFor(t.Context(), f.agent, act.WaitParams{Text: "Pay", Tab: 1})
						if err != nil || !slices.Equal(answer.Emptied, want) || answer.Late != nil && len(answer.Late.Emptied) > 0 {
							t.Errorf("%+v, %v, not %q", answer, err, want)
						}
					default:
						if got := f.report(); !slices.Equal(got, want) || f.looks != c.looks {
							t.Errorf("%q after %d looks, not %q", got, f.looks, want)
						}
					}
					f.looks = 0
					if got := f.report(); len(got) > 0 || f.looks > 0 {
						t.Errorf("again: %q after %d looks", got, f.looks)
					}
					if f.document != "d" {
						return
					}
					if now, late := f.click(); len(now)+len(late) > 0 {
						t.Errorf("again: %q, late %q", now, late)
					}
				})
			})
		}
	}
}
