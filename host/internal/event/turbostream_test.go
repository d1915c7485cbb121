package event_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/redact"
)

// streamed is a request that a turbo-stream answered.
func streamed(t testing.TB, status int, mime, body string) *event.Network {
	t.Helper()
	raw := fmt.Sprintf(`{"kind":"network","at":1,"tab":1,"id":"1","method":"GET","url":"http://a.test/contacts/7.data","resource":"fetch","status":%d,"started":1,"duration":1,"mime":%q,"response_body":%s}`,
		status, mime, gjson.AppendJSONString(nil, body))
	ev, err := event.NewDecoder(redact.Default()).Decode(gjson.Parse(raw))
	if err != nil {
		t.Fatal(err)
	}
	return ev.(*event.Network)
}

// TestDetailsOfTurboStreams has bodies in the form of React Router's encoder, written by hand but for that of the 422 answer.
func TestDetailsOfTurboStreams(t *testing.T) {
	const (
		refused = `[{"_1":2},"data",{"_3":4},"errors",{"_5":6},"first",[7],"First name can't be blank"]`
		stack   = `"TypeError: Cannot read properties of undefined (reading 'toISOString')\n    at getContact (/app/app/data.ts:59:31)\n    at callRouteHandler (/app/node_modules/react-router/dist/a.mjs:512:16)"`
		thrown  = `[{"_1":2,"_3":4},"routes/contact",{"_9":10},"layouts/sidebar",{"_5":6},"data",{"_7":8,"_14":-5},"contacts",[],"error",["SanitizedError",11,12,13],"TypeError","Cannot read properties of undefined (reading 'toISOString')",` + stack + `,"q"]` + "\n"
	)
	for _, c := range []struct{ what, body, want string }{
		{"an action with errors by field", refused, "first: First name can't be blank"},
		{"a loader that threw", thrown, "TypeError: Cannot read properties of undefined (reading 'toISOString') (data.ts:59)"},
		{"an action that threw", `[{"_1":2},"error",["SanitizedError",3,4,-7],"Error","no such contact"]`, "no such contact"},
		{"a thrown response", `[{"_1":2},"routes/contact",{"_3":4},"error",["ErrorResponse",5,6,7],"no contact 7",404,"Not Found"]`, "no contact 7"},
		{"a thrown response without a body", `[{"_1":2},"routes/contact",{"_3":4},"error",["ErrorResponse",5,6,7],"",404,"Not Found"]`, "Not Found"},
		{"data of the only route", `[{"_1":2},"routes/contact",{"_3":4},"data",{"_5":6},"message","no contact 7"]`, "no contact 7"},
		{"an error as a value", `[{"_1":2},"error",["E","no contact 7","RangeError"]]`, "RangeError: no contact 7"},
		{"an object of a class", `[{"_1":2},"error",["SingleFetchClassInstance",3],{"_4":5},"message","no contact 7"]`, "no contact 7"},
		{"data of several routes", `[{"_1":2,"_3":2},"a",{"_4":5},"b","data",{"_6":7},"message","fine"]`, ""},
		{"a redirect", `[["SingleFetchRedirect",1],{"_2":3},"redirect","/login"]`, ""},
		{"a body that was cut behind it", strings.TrimSuffix(refused, "]") + `,{"_1":2},"some te`, "first: First name can't be blank"},
		{"a body that was cut before it", refused[:60], ""},
		{"a reference to nothing", `[{"_1":2},"data",{"_3":9},"message"]`, ""},
		{"a reference that is none", `[{"_1":2},"data",{"message":3},"no"]`, ""},
		{"an unknown type", `[{"_1":2},"error",["Sanitized",3],"no"]`, ""},
		{"a circle", `[{"_1":2},"data",[2,2,2]]`, ""},
		{"another circle", `[{"_1":2},"data",["Z",2]]`, ""},
		{"a number", `[{"_1":2},"data",7]`, ""},
		{"another form", `["routes/contact","data"]`, ""},
		{"no list", `routes/contact failed`, ""},
		{"nothing", `[]`, ""},
	} {
		if got := streamed(t, 500, "text/x-script; charset=utf-8", c.body).Detail; got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if got := streamed(t, 422, "", refused).Detail; got != "first: First name can't be blank" {
		t.Errorf("of an unknown type: %q", got)
	}
	if got := streamed(t, 422, "application/json", `[{"_id":1,"message":"too long"}]`).Detail; got != "too long" {
		t.Errorf("another list: %q", got)
	}
}

// FuzzTurboStreams: whatever a stream holds, a detail is one clean line of bounded length.
func FuzzTurboStreams(f *testing.F) {
	for _, seed := range []string{`[{"_1":2},"data",[2,2,2]]`, `[{"_1":2},"error",["SanitizedError",3,4,-7],"Error","no"]`, `[{"_1":2},"data",["N",{"_1":2}]]`, `[{"_1":2},"data",["S",2,2,2]]`, `[{"_1":2},"error",["ErrorResponse"]]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		n := streamed(t, 500, "text/x-script", body)
		if len([]rune(n.Detail)) > event.MaxDetail || n.Detail != event.OneLine(event.Clean(n.Detail)) {
			t.Errorf("%q", n.Detail)
		}
	})
}
