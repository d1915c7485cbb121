package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// step is what happens in one stretch.
type step func(*enginetest.World)

// together are steps of one stretch.
func together(steps ...step) step {
	return func(w *enginetest.World) {
		for _, s := range steps {
			s(w)
			w.Pass(50 * time.Millisecond)
		}
	}
}

// courseOf returns how the browser did in each stretch of one step: the severity, or "since" and the number of an earlier stretch.
func courseOf(t *testing.T, w *enginetest.World, steps []step) (course []string) {
	t.Helper()
	w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`)
	w.Pass(time.Minute)
	var from []time.Time
	for _, happens := range steps {
		from = append(from, w.Now)
		w.Pass(time.Second)
		happens(w)
		w.Pass(time.Minute)
	}
	look := func() (course []string) {
		for _, got := range w.Engine.Regressions.Course(t.Context(), w.Agent(), t.TempDir(), from, append(slices.Clone(from[1:]), time.Time{})) {
			said := string(got.Severity)
			if !got.Since.IsZero() {
				said = fmt.Sprint("since ", slices.IndexFunc(from, func(at time.Time) bool { return got.Since.Sub(at) >= time.Second && got.Since.Sub(at) < 2*time.Second }))
			}
			course = append(course, said)
		}
		return course
	}
	if course = look(); w.Maps != nil {
		<-w.Maps.Idle()
		course = look()
	}
	w.Pass(10 * time.Minute)
	if again := look(); !slices.Equal(again, course) { // what is kept is the same
		t.Errorf("later it is %q, not %q", again, course)
	}
	return course
}

// TestAHotUpdateOfABundleEndsOnlyWhatItReplaced: webpack's client logs the modules of an update, that of Next.js sends them. Where
// they are not known, or not of what the code is, an update may have ended any error.
func TestAHotUpdateOfABundleEndsOnlyWhatItReplaced(t *testing.T) {
	throws := func(frames ...string) step {
		return func(w *enginetest.World) {
			w.Send("console", fmt.Sprintf(`"level":"error","via":"exception","text":"TypeError: no total","url":"http://localhost:5173/main.js","line":1,"column":1,"stack":["%s"]`, strings.Join(frames, `","`)))
		}
	}
	logs := func(texts ...string) step {
		return func(w *enginetest.World) {
			for _, text := range texts {
				w.Log("info", text)
			}
		}
	}
	webpack := func(modules ...string) step {
		texts := []string{"[HMR] Updated modules:"}
		for _, m := range modules {
			texts = append(texts, "[HMR]  - "+m)
		}
		return logs(append(texts, "[HMR] App is up to date.")...)
	}
	next := func(modules ...string) step {
		return func(w *enginetest.World) {
			frame := func(op, text string) {
				w.Send("websocket", fmt.Sprintf(`"id":"hmr","url":"ws://localhost:5173/_next/webpack-hmr?id=1","op":%q,"text":%q`, op, text))
			}
			frame("received", `{"type":"building"}`)
			w.Pass(100 * time.Millisecond)
			frame("received", `{"type":"built","hash":"1","errors":[],"warnings":[]}`)
			w.Pass(100 * time.Millisecond)
			w.Log("log", "[Fast Refresh] done in 210ms")
			frame("sent", fmt.Sprintf(`{"event":"client-hmr-latency","id":7,"startTime":1,"endTime":2,"page":"/","updatedModules":["%s"],"isPageHidden":false}`, strings.Join(modules, `","`)))
		}
	}
	builds := func(hash string) step { // of webpack-dev-server 6, whose client names no modules
		return func(w *enginetest.World) {
			w.Send("websocket", fmt.Sprintf(`"id":"hmr","url":"ws://localhost:5173/ws","op":"received","text":%q`, `{"name":"","action":"built","time":9,"hash":"`+hash+`","warnings":[],"errors":[]}`))
		}
	}
	reload := func(w *enginetest.World) { w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`) }
	const (
		cart   = "./src/cart.js"
		other  = "./src/Other.jsx"
		styles = "./src/app.css"
		layer  = "(app-pages-browser)/"
	)
	evaluated := throws("total (webpack-internal:///./src/cart.js:3:9)", "App (webpack-internal:///./src/App.jsx:8:5)")
	inASecond := func(broken, next string) step {
		return func(w *enginetest.World) {
			builds(broken)(w)
			w.Pass(100 * time.Millisecond)
			evaluated(w)
			w.Pass(700 * time.Millisecond)
			builds(next)(w)
		}
	}
	layered := throws("total (webpack-internal:///(app-pages-browser)/./src/cart.js:3:9)")
	bundled := throws("total (http://localhost:5173/main.js:1:1)")
	for name, c := range map[string]struct {
		steps []step
		maps  map[string][]byte
		want  []string
	}{
		"webpack": {
			[]step{evaluated, webpack(other), webpack(styles), webpack(cart, "./src/App.jsx"), webpack(other)},
			nil,
			[]string{"error", "since 0", "since 0", "clean", "clean"},
		},
		"webpack, behind loaders": {
			[]step{evaluated, webpack(styles, "./node_modules/css-loader/dist/cjs.js!./src/app.css"), webpack(cart, "./node_modules/some-loader/index.js!./src/cart.js")},
			nil,
			[]string{"error", "since 0", "clean"},
		},
		"webpack, by a load": {
			[]step{evaluated, webpack(other), reload, webpack(other)}, nil, []string{"error", "since 0", "clean", "clean"},
		},
		"webpack, what it could not replace": {
			[]step{evaluated, func(w *enginetest.World) { w.Log("warning", "[HMR]  - "+cart); webpack(other)(w) }}, nil, []string{"error", "since 0"},
		},
		"webpack, without names": {
			[]step{evaluated, webpack("12", "417"), webpack(other)}, nil, []string{"error", "clean", "clean"},
		},
		"webpack, builds within a second": {
			[]step{inASecond("1a", "2b"), logs("all is well")},
			nil,
			[]string{"error", "clean"},
		},
		"webpack, one build told twice": {
			[]step{inASecond("1a", "1a"), logs("all is well")},
			nil,
			[]string{"error", "since 0"},
		},
		"webpack, silent": {
			[]step{evaluated, logs("[HMR] App is up to date.")}, nil, []string{"error", "clean"},
		},
		"webpack, in packages alone": {
			[]step{throws("a (webpack-internal:///./node_modules/lib/a.js:3:9)"), webpack(other)}, nil, []string{"error", "clean"},
		},
		"webpack, a bundle": {
			[]step{bundled, webpack(other)}, nil, []string{"error", "clean"},
		},
		"webpack, a bundle that came with an update": {
			[]step{together(webpack("./src/App.jsx"), bundled), webpack(other), webpack("./src/App.jsx")}, nil, []string{"error", "since 0", "clean"},
		},
		"webpack, a bundle with a map": {
			[]step{bundled, webpack(other), webpack(cart), webpack(other)},
			map[string][]byte{"/main.js": oneFile("webpack://shop/./src/cart.js")},
			[]string{"error", "since 0", "clean", "clean"},
		},
		"Next.js": {
			[]step{layered, next(layer + other), next(layer + styles), next(layer+cart, layer+"./app/page.js"), next(layer + other)},
			nil,
			[]string{"error", "since 0", "since 0", "clean", "clean"},
		},
		"Next.js with Turbopack": {
			[]step{bundled, next("[project]/src/Other.jsx"), next("[project]/src/cart.js")},
			map[string][]byte{"/main.js": oneFile("turbopack:///[project]/src/cart.js")},
			[]string{"error", "since 0", "clean"},
		},
		"Next.js with Turbopack, whole paths": {
			[]step{bundled, next("[project]/src/Other.jsx"), next("[project]/src/cart.js")},
			map[string][]byte{"/main.js": oneFile("file:///home/me/shop/src/cart.js")},
			[]string{"error", "since 0", "clean"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			for path, data := range c.maps {
				s.put(path, data)
			}
			if got := courseOf(t, enginetest.NewWithMaps(t, s.fetch), c.steps); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestErrorsOfAHotUpdateThatFailedStand: a module could not be replaced, and its page is not loaded again.
func TestErrorsOfAHotUpdateThatFailedStand(t *testing.T) {
	w := enginetest.NewWithMaps(t, (&server{}).fetch)
	fails := func(w *enginetest.World) {
		w.Log("warning", "[HMR] Cannot apply update. Need to do a full reload!")
	}
	throws := func(w *enginetest.World) { w.Log("error", "TypeError: no total") }
	if got := courseOf(t, w, []step{throws, fails}); got[0] != string(report.Error) || got[1] == string(report.Clean) {
		t.Errorf("%q", got)
	}
}
