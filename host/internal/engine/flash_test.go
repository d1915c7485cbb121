package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

func TestFlashes(t *testing.T) {
	shown := func(w *enginetest.World, id int, alert bool, life time.Duration) {
		w.Send("element", fmt.Sprintf(`"op":"appeared","frame":0,"document":"d1","id":%d,"selector":".hint","text":"Too short","alert":%v`, id, alert))
		w.Pass(life)
		w.Element("gone", id, "", "")
	}
	typed := func(w *enginetest.World, target string, began time.Time) {
		w.Send("action", fmt.Sprintf(`"action":"type","target":%q,"value":"x","began":%d`, target, began.UnixMilli()))
	}
	for _, c := range []struct {
		name             string
		run              func(*enginetest.World)
		flashes, errors  int
		severity         report.Severity
		problems, briefs int // of an action
	}{
		{"twice while one field is filled in", func(w *enginetest.World) {
			began := w.Now
			w.Pass(100 * time.Millisecond)
			shown(w, 1, false, time.Second)
			w.Pass(time.Second)
			shown(w, 2, false, time.Second)
			typed(w, "textbox Name", began)
		}, 2, 0, report.Clean, 0, 1},
		{"after the form was submitted", func(w *enginetest.World) {
			typed(w, "textbox Name", w.Now)
			w.Pass(20 * time.Millisecond)
			w.Send("action", `"action":"submit","target":"form"`)
			w.Pass(20 * time.Millisecond)
			shown(w, 1, false, 500*time.Millisecond)
		}, 0, 1, report.Warning, 1, 0},
		{"before the form was submitted", func(w *enginetest.World) {
			typed(w, "textbox Name", w.Now)
			shown(w, 1, false, 50*time.Millisecond)
			w.Send("action", `"action":"submit","target":"form"`)
		}, 1, 0, report.Clean, 0, 1},
		{"with pauses in the typing", func(w *enginetest.World) {
			typed(w, "textbox Name", w.Now)
			shown(w, 1, false, 3*time.Second)
			typed(w, "textbox Name", w.Now)
		}, 1, 0, report.Clean, 0, 1},
		{"in two fields, one right after the other", func(w *enginetest.World) {
			for id, target := range []string{"textbox Q", "textbox R"} {
				began := w.Now
				shown(w, id, false, 200*time.Millisecond)
				typed(w, target, began)
				w.Pass(120 * time.Millisecond)
			}
		}, 2, 0, report.Clean, 0, 1},
		{"twice in one field, one right after the other", func(w *enginetest.World) {
			began := w.Now
			shown(w, 1, false, 200*time.Millisecond)
			w.Pass(120 * time.Millisecond)
			shown(w, 2, false, 200*time.Millisecond)
			typed(w, "textbox Q", began)
		}, 2, 0, report.Clean, 0, 1},
		{"redrawn while a field is filled in", func(w *enginetest.World) {
			began := w.Now
			shown(w, 1, false, 200*time.Millisecond)
			w.Pass(20 * time.Millisecond)
			shown(w, 2, false, 200*time.Millisecond)
			typed(w, "textbox Q", began)
		}, 1, 0, report.Clean, 0, 1},
		{"interrupted, and then it lasts", func(w *enginetest.World) {
			began := w.Now
			shown(w, 1, false, 200*time.Millisecond)
			w.Pass(120 * time.Millisecond)
			w.Element("appeared", 2, ".hint", "Too short")
			typed(w, "textbox Q", began)
		}, 0, 1, report.Warning, 1, 0},
		{"with an alert role", func(w *enginetest.World) {
			began := w.Now
			w.Pass(100 * time.Millisecond)
			shown(w, 1, true, time.Second)
			typed(w, "textbox Name", began)
		}, 0, 1, report.Warning, 1, 0},
		{"over two fields", func(w *enginetest.World) {
			typed(w, "textbox Name", w.Now)
			shown(w, 1, false, 3*time.Second)
			typed(w, "textbox Mail", w.Now)
		}, 0, 1, report.Warning, 1, 0},
		{"that lasts", func(w *enginetest.World) {
			w.Element("appeared", 1, ".hint", "Too short")
			w.Pass(time.Second)
			typed(w, "textbox Name", w.Now.Add(-time.Second))
		}, 0, 1, report.Warning, 1, 0},
		{"without a field", func(w *enginetest.World) { shown(w, 1, false, time.Second) }, 0, 1, report.Warning, 1, 0},
		{"as the page is left", func(w *enginetest.World) {
			shown(w, 1, false, 200*time.Millisecond)
			w.Send("navigation", fmt.Sprintf(`"how":"history","url":%q`, enginetest.Page+"/next"))
		}, 1, 0, report.Clean, 0, 1},
		{"an alert as the page is left", func(w *enginetest.World) {
			shown(w, 1, true, 200*time.Millisecond)
			w.Send("navigation", fmt.Sprintf(`"how":"history","url":%q`, enginetest.Page+"/next"))
		}, 0, 1, report.Warning, 1, 0},
		{"twice, far apart, without a field", func(w *enginetest.World) {
			shown(w, 1, false, time.Second)
			w.Pass(50 * time.Second)
			shown(w, 2, false, time.Second)
		}, 0, 2, report.Warning, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			from := w.Store.View(w.Now).Now()
			w.Pass(time.Second)
			c.run(w)
			w.Pass(5 * time.Second)
			r := w.Changes(a, params{})
			expect(t, len(r.DOM.Flashes) == c.flashes && len(r.DOM.NewErrorElements) == c.errors && r.Severity == c.severity, r)
			for _, e := range append(r.DOM.Flashes, r.DOM.NewErrorElements...) {
				if e.GoneAt != nil && e.GoneAt.Sub(e.AppearedAt.Time) > 3*time.Second {
					t.Errorf("removed after %s", e.GoneAt.Sub(e.AppearedAt.Time))
				}
			}
			problems, briefs := 0, 0
			for _, one := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
				if one.Flash {
					briefs++
				} else if one.Severity != report.Clean {
					problems++
				}
			}
			if problems != c.problems || briefs != c.briefs {
				t.Errorf("an action has %d problems, %d flashes", problems, briefs)
			}
		})
	}
}

// TestAFlashIsNotRepeated: an answer gave the message while it was visible, and by now it is a flash.
func TestAFlashIsNotRepeated(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	element := capture.ElementKey{Tab: 1, Origin: enginetest.Page, Selector: ".hint", Text: "Too short"}
	for id := 1; id <= 2; id++ {
		w.Pass(5 * time.Second)
		w.Element("appeared", id, element.Selector, element.Text)
		observe.Give(w.Engine.Observer, a, []alike.Entry{alike.Element(element, 0)}, nil)
		w.Pass(time.Second)
		w.Element("gone", id, "", "")
	}
	w.Send("action", fmt.Sprintf(`"action":"type","target":"textbox Name","value":"x","began":%d`, w.Now.Add(-1100*time.Millisecond).UnixMilli()))
	r := w.Changes(a, params{})
	expect(t, len(r.DOM.Flashes) == 1 && len(r.DOM.NewErrorElements)+len(r.Repeated) == 0 && r.Severity == report.Clean, r)
}

// TestAFlashIsInOneAnswer: what the answer of an action shows is not in the next report, nor the other way round. Another flash of
// the same message is.
func TestAFlashIsInOneAnswer(t *testing.T) {
	for _, visible := range []bool{false, true} { // when the action was answered
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		w.Changes(a, params{})
		flash := func(id int, answered func()) {
			began := w.Now
			w.Pass(100 * time.Millisecond)
			w.Element("appeared", id, ".hint", "Too short")
			w.Pass(300 * time.Millisecond)
			if visible {
				answered()
			}
			w.Element("gone", id, "", "")
			w.Send("action", fmt.Sprintf(`"action":"type","target":"textbox Name","value":"x","began":%d`, began.UnixMilli()))
			if !visible {
				answered()
			}
			w.Pass(5 * time.Second)
		}
		from := w.Store.View(w.Now).Now()
		consequences := func() (fresh int) {
			for _, c := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{Given: a.Given()}) {
				if !c.Given {
					fresh++
					observe.Give(w.Engine.Observer, a, c.Entries, nil)
				}
			}
			return fresh
		}
		flash(1, func() {
			if n := consequences(); n != 1 {
				t.Errorf("an action reports %d", n)
			}
		})
		r := w.Changes(a, params{})
		expect(t, len(r.DOM.Flashes)+len(r.DOM.NewErrorElements)+len(r.Repeated) == 0 && r.Severity == report.Clean, r)
		from = w.Store.View(w.Now).Now()
		flash(2, func() {})
		r = w.Changes(a, params{})
		expect(t, len(r.DOM.Flashes) == 1, r)
		if n := consequences(); n != 0 {
			t.Errorf("an action reports %d that the report has", n)
		}
	}
}

func TestAnEmptyPageIsReportedWithItsTabAndOnce(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Open(8, enginetest.Page+"/other")
	w.Changes(a, params{})
	w.Send("console", `"tab":8,"level":"error","via":"exception","text":"Error: no id"`)
	w.Send("element", `"tab":8,"op":"emptied","frame":0,"document":"d2","id":0`)
	r := w.Changes(a, params{})
	expect(t, r.DOM.PageEmptySince != nil && r.DOM.PageEmptyTab == 2, r)
	var text strings.Builder
	if err := render.Report(&text, r, 200); err != nil || !strings.Contains(text.String(), "tab 2\n") {
		t.Errorf("%s (%v)", text.String(), err)
	}
	// A state that was exported while the page was empty knows that it is.
	if _, err := w.Call(a, "checkpoint_create", `{"name":"known"}`); err != nil {
		t.Fatal(err)
	}
	f, err := w.Engine.Observer.Export(t.Context(), a, "known")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = checkpoint.ParseFile(data); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Minute)
	if r, err = w.Engine.Observer.Compare(t.Context(), a, params{}, f); err != nil {
		t.Fatal(err)
	}
	expect(t, r.DOM.PageEmptySince != nil && !strings.Contains(r.Summary, "empty page"), r)
	w.Send("console", `"level":"error","via":"exception","text":"Error: no id"`)
	w.Send("element", `"op":"emptied","frame":0,"document":"d1","id":0`)
	if r, err = w.Engine.Observer.Compare(t.Context(), a, params{}, f); err != nil {
		t.Fatal(err)
	}
	expect(t, strings.HasSuffix(r.Summary, "1 empty page(s)"), r)
}

func TestAPageThatGoesEmptyBecauseItsCodeFailed(t *testing.T) {
	thrown := `"level":"error","via":"exception","text":"Error: no id"`
	emptied := func(w *enginetest.World) {
		w.Send("element", `"op":"emptied","frame":0,"document":"d1","id":0`)
	}
	filled := func(w *enginetest.World) { w.Send("element", `"op":"filled","frame":0,"document":"d1","id":0`) }
	load := func(how string) func(*enginetest.World) {
		return func(w *enginetest.World) {
			w.Send("navigation", fmt.Sprintf(`"how":%q,"url":%q`, how, enginetest.Page+"/next"))
		}
	}
	throw := func(w *enginetest.World) { w.Send("console", thrown) }
	for _, c := range []struct {
		name  string
		steps []func(*enginetest.World)
		empty bool
	}{
		{"an error before", []func(*enginetest.World){throw, emptied}, true},
		{"an error after", []func(*enginetest.World){emptied, throw}, true},
		{"no error", []func(*enginetest.World){emptied}, false},
		{"a line of the browser", []func(*enginetest.World){emptied, func(w *enginetest.World) {
			w.Send("console", `"level":"error","via":"browser","category":"network","text":"Failed to load resource"`)
		}}, false},
		{"content again", []func(*enginetest.World){throw, emptied, filled}, false},
		{"another document", []func(*enginetest.World){throw, emptied, load("load")}, false},
		{"another view of the same document", []func(*enginetest.World){throw, emptied, load("history")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			for _, step := range c.steps {
				w.Pass(100 * time.Millisecond)
				step(w)
			}
			r := w.Changes(a, params{})
			expect(t, (r.DOM.PageEmptySince != nil) == c.empty, r)
			if c.empty {
				expect(t, r.Severity == report.Error && r.Summary == "1 new console error(s), 1 empty page(s)", r)
				w.Pass(time.Minute)
				r = w.Changes(a, params{}) // it still is, and that is not new
				expect(t, r.DOM.PageEmptySince != nil && r.Severity == report.Error && r.Summary == "no new problems; 1 repeated error", r)
			}
		})
	}
}
