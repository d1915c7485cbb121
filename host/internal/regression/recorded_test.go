package regression_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// app is a project with a page of a development server.
type app struct {
	*world
	t    *testing.T
	page *enginetest.World
	// looked is when the last snapshot was taken.
	looked time.Time
	// pause is how long before an edit nothing happens, and how long after it comes the hook.
	pause, hook time.Duration
	// late is how long after the hook the change is recorded.
	late time.Duration
	// hooked makes the moments of edits those of a hook.
	hooked bool
}

func newApp(t *testing.T) *app {
	t.Helper()
	page := enginetest.New(t, capture.Limits{})
	a := &app{world: start(t, page.Clock), t: t, page: page, pause: 5 * time.Second, hook: time.Second}
	a.Store, a.Rules, a.Observer, a.Clock = page.Store, page.Engine.Rules, page.Engine.Observer, page.Clock
	a.Edits = observe.Edits{Update: noise.Default().Update, Name: func(e *event.FileChange, _ bool, i *report.Introduced) {
		i.Moment, _ = timeline.OfChange(a.Timeline, e)
	}}
	a.Rules.Now = func(dir string) string { return timeline.Now(a.Timeline, dir) }
	return a
}

// after lets time pass in which what a hook reports late happens.
func (a *app) after(seconds int) { a.page.Pass(time.Duration(seconds) * time.Second) }

// edit writes a file, or removes it with an empty text. The page is loaded, and then something happens in it. Later comes the
// hook.
func (a *app) edit(path, text string, happens ...string) (moment string) {
	a.t.Helper()
	a.page.Pass(a.pause)
	e := event.FileChange{Change: event.FileModified, Path: path, Tail: path, Since: a.looked.UnixMilli(), Edited: a.page.Now.UnixMilli()}
	if text == "" {
		e.Change, e.Edited = event.FileRemoved, 0
		if err := os.Remove(filepath.Join(a.dir, path)); err != nil {
			a.t.Fatal(err)
		}
	} else {
		a.write(a.t, path, text)
	}
	a.page.Pass(100 * time.Millisecond)
	a.page.Send("navigation", `"url":"`+enginetest.Page+`/","how":"reload"`)
	a.page.Pass(10 * time.Millisecond)
	for _, text := range happens {
		a.page.Log("error", text)
	}
	a.page.Pass(a.hook)
	if a.hooked {
		m := a.record(a.t, "Edit "+path)
		moment, e.Snapshot = m.ID(), m.Snapshot
	} else {
		moment, e.Snapshot = a.moment(a.t, "Edit "+path)
	}
	a.page.Pass(a.late)
	a.looked = a.page.Now
	a.page.ChangeFile(a.dir, e)
	return moment
}

func (a *app) find(from, to string) string {
	a.t.Helper()
	r, err := a.Find(a.t.Context(), user, regression.Params{Where: moments.Where{Dir: a.dir}, From: from, To: to})
	if err != nil {
		a.t.Fatal(err)
	}
	return strings.TrimSpace(fmt.Sprint(r.Verdict, " ", r.Moment, " ", r.Reason))
}

// says fails where the answer about a span is another one.
func (a *app) says(from, to, want string) {
	a.t.Helper()
	if got := a.find(from, to); got != want {
		a.t.Errorf("from %s to %s: %q, want %q", from, to, got, want)
	}
}

// TestAnErrorThatCameBeforeItsHook: the first edit after from is removed or written long before its moment.
func TestAnErrorThatCameBeforeItsHook(t *testing.T) {
	a := newApp(t)
	a.write(t, "money.js", "1")
	start, _ := a.moment(t, "start")
	a.looked = a.page.Now
	style := a.edit("style.css", "1")
	gone := a.edit("money.js", "", "money is gone")
	later := a.edit("style.css", "2")
	for _, from := range []string{start, style} {
		for _, to := range []string{gone, later, ""} {
			a.says(from, to, "found "+gone)
		}
	}
	a.says(start, style, "clean  no new errors were recorded in this time")
}

// TestAnErrorThatCameBack: it was there before the span's first change, was repaired, and came again.
func TestAnErrorThatCameBack(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	start, _ := a.moment(t, "start")
	a.looked = a.page.Now
	first := a.edit("cart.js", "1", "boom")
	a.after(1)
	a.page.Log("error", "boom")
	repaired := a.edit("cart.js", "2")
	again := a.edit("cart.js", "3", "boom")
	a.says(start, "", "found "+first)
	a.says(first, "", "found "+again)
	a.says(repaired, "", "found "+again)
	a.says(first, repaired, "clean  no new errors were recorded in this time")
}

// TestAnErrorThatStays is none of the edits that follow it.
func TestAnErrorThatStays(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	a.moment(t, "start")
	a.looked = a.page.Now
	first := a.edit("cart.js", "1", "boom")
	a.after(1)
	a.page.Log("error", "boom")
	for i := range 5 {
		a.edit("cart.js", fmt.Sprint(2+i), "boom")
	}
	a.says(first, "", "clean  no new errors were recorded in this time")
	broken := a.edit("price.js", "1", "boom", "another")
	a.says(first, "", "found "+broken)
}

// TestAnErrorThatWasOver occurs again in the span, after another edit: the list of moments shows it as new, so that the span is not
// clean.
func TestAnErrorThatWasOver(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	a.moment(t, "start")
	a.looked = a.page.Now
	a.edit("cart.js", "1", "boom")
	repaired := a.edit("cart.js", "2")
	a.after(4)
	later, _ := a.moment(t, "later")
	a.edit("notes.md", "1")
	a.after(4)
	a.page.Log("error", "boom")
	for _, from := range []string{repaired, later} {
		a.says(from, "", "unknown  the evidence does not name one change")
	}
}

// TestAnErrorThatAReloadShowsAgain: quick edits follow one that no evidence names, and one of them reloads the page.
func TestAnErrorThatAReloadShowsAgain(t *testing.T) {
	for name, shown := range map[string]string{"the same": "boom", "another one": "bang"} {
		t.Run(name, func(t *testing.T) {
			a := newApp(t)
			a.write(t, "server.js", "0")
			start, _ := a.moment(t, "start")
			a.looked = a.page.Now
			before := a.edit("style.css", "1")
			a.pause, a.hook = 300*time.Millisecond, 200*time.Millisecond
			broken := a.edit("server.js", "1")
			a.after(4)
			a.page.Log("error", "boom")
			next := a.edit("style.css", "2")
			last := a.edit("index.html", "1", shown)
			for _, from := range []string{start, before} {
				for _, to := range []string{next, last, ""} {
					a.says(from, to, "unknown  the evidence does not name one change")
				}
			}
			if shown == "boom" {
				a.says(broken, last, "unknown  the evidence does not name one change")
			}
		})
	}
}

// TestAnErrorBeforeTheFirstEdit of a span is none of its edits, and not nothing.
func TestAnErrorBeforeTheFirstEdit(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	start, _ := a.moment(t, "start")
	a.looked = a.page.Now
	a.after(5)
	a.page.Log("error", "boom")
	harmless := a.edit("cart.js", "1")
	for _, to := range []string{harmless, ""} {
		a.says(start, to, "unknown  no file changed before it")
	}
	a.pause = 300 * time.Millisecond
	a.edit("index.html", "1", "boom")
	a.says(start, "", "unknown  no file changed before it")
	a.pause = 5 * time.Second
	broken := a.edit("price.js", "1", "another")
	a.says(start, "", "found "+broken)
}

// TestAPageThatCrashed: the list of moments shows it as an error.
func TestAPageThatCrashed(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	start, _ := a.moment(t, "start")
	a.looked = a.page.Now
	a.edit("cart.js", "1")
	a.page.Send("navigation", `"how":"crash","url":"`+enginetest.Page+`/"`)
	a.says(start, "", "unknown  a page crashed or is empty, and no error says why")
}

// TestAPageThatCrashedWithARepeatedError has an error, which does not say why.
func TestAPageThatCrashedWithARepeatedError(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	a.moment(t, "start")
	a.looked = a.page.Now
	first := a.edit("cart.js", "1", "boom")
	a.edit("notes.md", "1", "boom")
	a.page.Send("navigation", `"how":"crash","url":"`+enginetest.Page+`/"`)
	a.says(first, "", "unknown  a page crashed or is empty, and its errors had occurred before")
}

// TestATimeThatWasNotObservedIsNotClean: no tab was watched, or something was missed.
func TestATimeThatWasNotObservedIsNotClean(t *testing.T) {
	const why = "unknown  no new errors were recorded in this time, which was not fully observed"
	a := newApp(t)
	a.write(t, "cart.js", "0")
	start, _ := a.moment(t, "start")
	a.looked = a.page.Now
	edit := a.edit("cart.js", "1")
	a.says(start, "", "clean  no new errors were recorded in this time")
	a.page.CloseTab(7)
	a.edit("cart.js", "2")
	a.says(start, edit, "clean  no new errors were recorded in this time")
	a.page.Send("gap", fmt.Sprintf(`"reason":"dropped","from":%d,"to":%d`, a.page.Now.UnixMilli()-100, a.page.Now.UnixMilli()))
	a.says(start, "", why)
}

// TestAWorkspaceThatWasMoved: what was recorded before tells the edit as it did there.
func TestAWorkspaceThatWasMoved(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	start, _ := a.moment(t, "start")
	a.looked = a.page.Now
	broken := a.edit("cart.js", "1", "boom")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		if _, err := a.grants.Allow(t.Context(), to, nil, nil); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(timeline.UserTools, func(t *tool.Tool[*timeline.Timeline]) bool { return t.Name == "workspace_move" })
		if _, err := timeline.UserTools[i].Call(t.Context(), a.Timeline, user, fmt.Appendf(nil, `{"from":%q,"to":%q}`, from, to)); err != nil {
			t.Fatal(err)
		}
		a.dir = to
	}
	before, there := a.dir, a.dir+"-there"
	move(before, there)
	a.says(start, "", "found "+broken)
	next := a.edit("cart.js", "2", "bang")
	a.says(broken, "", "found "+next)
	move(there, before)
	a.says(start, "", "found "+broken)
	a.says(broken, "", "found "+next)
}

// TestAModuleThatStaysBroken is none of the edits that follow, whatever was recorded last before them.
func TestAModuleThatStaysBroken(t *testing.T) {
	for name, minutes := range map[string]int{"at once": 0, "later": 5} {
		t.Run(name, func(t *testing.T) {
			a := newApp(t)
			document := 0
			fails := func() {
				document++
				a.page.Pass(10 * time.Millisecond)
				a.page.Send("network", fmt.Sprintf(`"id":"m%d","method":"GET","url":"%s/list.tsx?t=1795714400000","resource":"script","status":500,"started":%d,"duration":5`, document, enginetest.Page, a.page.Now.UnixMilli()))
				a.page.Send("element", fmt.Sprintf(`"op":"appeared","frame":0,"document":"n%d","id":1,"selector":"vite-error-overlay","text":"Unexpected token – /shop/list.tsx:3:7"`, document))
			}
			load := func() {
				a.page.Send("element", fmt.Sprintf(`"op":"reset","frame":0,"document":"n%d","id":0`, document+1))
				a.page.Send("navigation", `"url":"`+enginetest.Page+`/","how":"reload"`)
				fails()
			}
			a.write(t, "list.tsx", "0")
			start, _ := a.moment(t, "start")
			a.looked = a.page.Now
			a.hook = 10 * time.Millisecond
			broken := a.edit("list.tsx", "1")
			fails()
			a.after(10)
			before, _ := a.moment(t, "before")
			load()
			a.page.Pass(time.Duration(minutes) * time.Minute)
			a.after(2)
			after, _ := a.moment(t, "after")
			a.edit("filter.tsx", "1")
			a.page.Log("debug", "[vite] hot updated: /filter.tsx")
			a.page.Pass(500 * time.Millisecond)
			load()
			a.after(1)
			a.says(start, "", "found "+broken)
			for _, from := range []string{before, after} {
				a.says(from, "", "clean  no new errors were recorded in this time")
			}
			if r, err := a.Find(t.Context(), user, regression.Params{Where: moments.Where{Dir: a.dir}, From: start}); err != nil || r.IntroducedBy.Path != "list.tsx" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
