package stacks_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/stacks"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]stacks.Frame{
		"save (http://localhost/a.js:3:14)":                {Function: "save", URL: "http://localhost/a.js", Line: 3, Column: 14},
		"async load (webpack-internal:///./src/a.ts:10:2)": {Function: "async load", URL: "webpack-internal:///./src/a.ts", Line: 10, Column: 2},
		"map (<anonymous>)":                                {},
		"":                                                 {},
		"f (:::)":                                          {},
		"f (a:99999999999999999999:1)":                     {},
	} {
		if f, ok := stacks.Parse(line); ok && f != want || !ok && want.URL != "" {
			t.Errorf("%q: %+v, %v", line, f, ok)
		}
	}
}

func TestModule(t *testing.T) {
	const chunk = "http://localhost/_next/static/chunks/_099wiqnnowdq5._.js"
	for address, want := range map[string]string{
		chunk: "", chunk + "?id=5": "", chunk + "?id=%": "", chunk + "?id=%255B": "[",
		chunk + "?id=%255Bproject%255D/src/Item.jsx+%255Bapp-client%255D+(ecmascript)":            "src/Item.jsx",
		chunk + "?id=%255Bproject%255D%252Fapp%252F%255Bid%255D%252Fa+b.tsx+%255Bapp-client%255D": "app/[id]/a b.tsx",
		chunk + "?id=%255Bproject%255D/node_modules/swr/index.js+%255Bapp-client%255D":            "node_modules/swr/index.js",
	} {
		if got := stacks.Module(address); got != want {
			t.Errorf("%s: %q, not %q", address, got, want)
		}
	}
}

func TestWrappers(t *testing.T) {
	const (
		send   = "send (http://localhost/src/http.ts?t=1:5:10)"
		newer  = "send (http://localhost/src/http.ts?t=2:5:10)"
		axios  = "get (http://localhost/node_modules/.vite/deps/axios.js:9:1)"
		tasks  = "list (http://localhost/src/api.ts:20:3)"
		create = "create (http://localhost/src/api.ts:29:3)"
		form   = "submit (http://localhost/src/Form.tsx:12:3)"
	)
	type made struct {
		path  string
		stack []string
	}
	for _, c := range []struct {
		name string
		made []made
		want bool
	}{
		{"several endpoints and callers", []made{{"/tasks", []string{send, tasks}}, {"/users", []string{newer, create}}}, true},
		{"with a library in it", []made{{"/tasks", []string{axios, send, axios, tasks}}, {"/users", []string{axios, send, axios, create}}}, true},
		{"one endpoint", []made{{"/tasks", []string{send, tasks}}, {"/tasks", []string{send, create}}}, false},
		{"one caller: it makes them in a loop", []made{{"/tasks", []string{send, tasks}}, {"/users", []string{send, tasks}}}, false},
		{"callers of its only caller", []made{{"/tasks", []string{send, tasks, form}}, {"/users", []string{send, tasks, create}}}, true},
		{"callers of its only caller, to one endpoint", []made{{"/tasks", []string{send, tasks, form}}, {"/tasks", []string{send, tasks, create}}}, false},
		{"no caller", []made{{"/tasks", []string{send}}, {"/users", []string{send}}}, false},
		{"it makes several for each caller", []made{{"/tasks", []string{send, tasks}}, {"/users", []string{send, tasks}}, {"/tasks", []string{send, create}}, {"/users", []string{send, create}}}, false},
		{"it has not made all for each caller yet", []made{{"/tasks", []string{send, tasks}}, {"/users", []string{send, tasks}}, {"/tasks", []string{send, create}}}, false},
		{"several for each caller of its only caller", []made{{"/tasks", []string{send, tasks, form}}, {"/users", []string{send, tasks, form}}, {"/tasks", []string{send, tasks, create}}, {"/users", []string{send, tasks, create}}}, false},
		{"two callers have the same, a third another one", []made{{"/tasks", []string{send, tasks}}, {"/tasks", []string{send, form}}, {"/users", []string{send, create}}}, true},
		{"callers have several of their own", []made{{"/tasks", []string{send, tasks}}, {"/lists", []string{send, tasks}}, {"/users", []string{send, create}}}, true},
		{"callers share one of several", []made{{"/tasks", []string{send, tasks}}, {"/csrf", []string{send, tasks}}, {"/users", []string{send, create}}, {"/csrf", []string{send, create}}}, true},
		{"three times in a line of its caller", []made{{"/tasks", []string{send, tasks}}, {"/users", []string{send, "list (http://localhost/src/api.ts:20:23)"}}, {"/lists", []string{send, "list (http://localhost/src/api.ts:20:43)"}}}, true},
		{"twice in a line of its caller", []made{{"/tasks", []string{send, tasks}}, {"/users", []string{send, "list (http://localhost/src/api.ts:20:23)"}}}, true},
		{"twice in a line of its caller, after an await", []made{{"/tasks", []string{send, "async list (http://localhost/src/api.ts:20:1)"}}, {"/users", []string{send, "async list (http://localhost/src/api.ts:20:21)"}}}, true},
		{"it makes several for each of two calls in a line", []made{{"/tasks", []string{send, tasks}}, {"/tasks", []string{send, "list (http://localhost/src/api.ts:20:23)"}}, {"/users", []string{send, "async list (http://localhost/src/api.ts:20:1)"}}}, false},
		{"its callers go on after an await", []made{{"/tasks", []string{send, tasks}}, {"/users", []string{send, "async list (http://localhost/src/api.ts:20:1)"}}, {"/tasks", []string{send, create}}, {"/users", []string{send, "async create (http://localhost/src/api.ts:29:1)"}}}, false},
		{"it calls itself", []made{{"/tasks", []string{send, send, tasks}}, {"/users", []string{send, tasks}}}, false},
		{"nothing", nil, false},
	} {
		var w stacks.Wrappers
		for _, m := range c.made {
			w.Add(event.EndpointKey{Method: "GET", Path: m.path}, m.stack)
		}
		if got := w.Has(send); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestWhatAHelperIsGivenToCallIsNoWrapper though only that helper calls it.
func TestWhatAHelperIsGivenToCallIsNoWrapper(t *testing.T) {
	const (
		send   = "send (http://localhost/src/http.ts:5:10)"
		follow = "async toggleFollow (http://localhost/src/follow.ts:12:3)"
		like   = "async toggleLike (http://localhost/src/like.ts:15:3)"
		run    = "async run (http://localhost/src/use-async.ts:16:5)"
	)
	var w stacks.Wrappers
	add := func(method, path string, stack ...string) {
		w.Add(event.EndpointKey{Method: method, Path: path}, stack)
	}
	add("POST", "/follow", send, follow, run, "onClick (http://localhost/src/Profile.vue:40:3)")
	add("DELETE", "/follow", send, follow, run, "onClick (http://localhost/src/Profile.vue:40:3)")
	add("POST", "/like", send, like, run, "onClick (http://localhost/src/Article.vue:20:3)")
	if !w.Has(send) || !w.Has(run) || w.Has(follow) || w.Has(like) {
		t.Errorf("send: %v, run: %v, toggleFollow: %v, toggleLike: %v", w.Has(send), w.Has(run), w.Has(follow), w.Has(like))
	}
}

func TestLibraries(t *testing.T) {
	for file, want := range map[string]bool{
		"node_modules/axios/lib/xhr.js":                                           true,
		"http://localhost/@fs/app/.angular/cache/20.0.0/app/vite/deps/chunk-A.js": true,
		"https://unpkg.com/react@18/umd/react.development.js":                     true,
		"https://cdn.jsdelivr.net/npm/vue@3":                                      true,
		"https://cdn.jsdelivr.net/gh/me/mine/app.js":                              false,
		"vite/preload-helper.js":                                                  true,
		"webpack:/swiper/src/swiper.js":                                           true,
		"webpack://app/./src/App.js":                                              false,
		"http://localhost/socket.io/socket.io.js":                                 true,
		"src/unpkg.com/a.js":                                                      false,
		"http://localhost/_next/static/chunks/node_modules_next_dist_05y3._.js":   true,
		"http://localhost/_next/static/chunks/1daa_next_dist_compiled_react-.js":  true,
		"http://localhost/_next/static/chunks/1q96_modules_next_dist_1sqry.js":    true,
		"http://localhost/_next/static/chunks/turbopack-_11q0wbt2n0d9y._.js":      true,
		"turbopack:///[turbopack]/shared/runtime/runtime-utils.ts":                true,
		"turbopack:///[project]/src/Item.jsx":                                     false,
		"http://localhost/_next/static/chunks/_099wiqnnowdq5._.js":                false,
		"http://localhost/_next/static/chunks/src_modules_shop_099wiq._.js":       false,
		"src/api.ts": false,
	} {
		if got := stacks.IsLibrary(file); got != want {
			t.Errorf("%s: a library: %v", file, got)
		}
	}
	for file, want := range map[string]bool{
		"jquery.js": true, "assets/jquery-3.7.1.min.js": true, "http://localhost/js/lodash.min.js?v=4": true, "js/vue.global.prod.js": true,
		"react-dom.development.js": true, "http://localhost/vendor/mine.js": true, "bootstrap.bundle.min.js": true, "d3.v7.min.js": true, "angular.min.js": true,
		"resources/js/bootstrap.js": false, "src/vendor/x.js": false, "js/axios.js": false, "js/app.js": false, "vendors.ts": false, "vue.js": false,
		"cart.min.js": false, "src/jquery.js": false, "js/chart.js": false, "my-jquery.js": false, "require.ts": false,
	} {
		if got := stacks.IsVendored(file); got != want {
			t.Errorf("%s: vendored: %v", file, got)
		}
	}
}
