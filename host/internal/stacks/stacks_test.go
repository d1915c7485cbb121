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
		{"callers of callers", []made{{"/tasks", []string{send, tasks, form}}, {"/users", []string{send, tasks, create}}}, false},
		{"no caller", []made{{"/tasks", []string{send}}, {"/users", []string{send}}}, false},
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
