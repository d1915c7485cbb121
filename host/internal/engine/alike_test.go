package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestOneFailureIsOneEntry has one failure reported in several ways.
func TestOneFailureIsOneEntry(t *testing.T) {
	log := func(level, via, text, url string) func(*enginetest.World) {
		return func(w *enginetest.World) {
			w.Send("console", fmt.Sprintf(`"level":%q,"via":%q,"text":%q,"url":%q,"line":3`, level, via, text, url))
		}
	}
	app := enginetest.Page + "/src/app.tsx"
	for _, c := range []struct {
		name    string
		steps   []func(*enginetest.World)
		want    string // the entries
		summary string
	}{
		{"an exception, the line that logs it, and React's about the component", []func(*enginetest.World){
			log("error", "console", "Error: no id", enginetest.Page+"/log.js"),
			log("error", "exception", "Error: no id", app),
			log("warning", "console", "An error occurred in the <App> component.\n\nConsider adding an error boundary", enginetest.Page+"/react-dom.js"),
			log("error", "console", "The above error occurred in the <App> component:\n    at App", enginetest.Page+"/react-dom.js"),
		}, "Error: no id (app.tsx:3) ×2", "1 new console error(s)"},
		{"what React and its router log of one error", []func(*enginetest.World){
			log("error", "console", "TypeError: no id\n    at Sum (http://localhost:5173/src/app.tsx:3:1)\n\nThe above error occurred in the <Sum> component.\n\nReact will try to recreate this component tree from scratch using the error boundary you provided, RenderErrorBoundary.", app),
			log("error", "console", "TypeError: no id\n\nThe above error occurred in the <Sum> component.", app),
			log("error", "console", "React Router caught the following error during render TypeError: no id", app),
			log("error", "console", "Error handled by React Router default ErrorBoundary: TypeError: no id", app),
			log("error", "console", "Error handled by React Router default ErrorBoundary: TypeError: no name", app),
		}, "TypeError: no id\n    at Sum (http://localhost:5173/src/app.tsx:3:1)\n\nThe above error occurred in the <Sum> component.\n\nReact will try to recreate this component tree from scratch using the error boun… (app.tsx:3) ×4; Error handled by React Router default ErrorBoundary: TypeError: no name (app.tsx:3) ×1", "2 new console error(s)"},
		{"what a framework says of an error that is not there", []func(*enginetest.World){
			log("error", "console", "The above error occurred in the <App> component:", app),
		}, "The above error occurred in the <App> component: (app.tsx:3) ×1", "1 new console error(s)"},
		{"a warning of React by component", []func(*enginetest.World){
			log("error", "console", "Warning: Each child in a list should have a unique \"key\" prop.\n\nCheck the render method of `List`. See https://reactjs.org/link/warning-keys", app),
			log("error", "console", "Warning: Each child in a list should have a unique \"key\" prop.\n\nCheck the render method of `Table`. See https://reactjs.org/link/warning-keys", app),
		}, "Warning: Each child in a list should have a unique \"key\" prop.\n\nCheck the render method of `List`. See https://reactjs.org/link/warning-keys (app.tsx:3) ×2", "1 new console error(s)"},
		{"a warning of React by key", []func(*enginetest.World){
			log("error", "console", "Warning: Encountered two children with the same key, `93`. Keys should be unique.\n    at List (http://localhost:5173/src/list.tsx:3:1)", app),
			log("error", "console", "Warning: Encountered two children with the same key, `94`. Keys should be unique.\n    at List (http://localhost:5173/src/list.tsx:3:1)", app),
		}, "Warning: Encountered two children with the same key, `93`. Keys should be unique.\n    at List (http://localhost:5173/src/list.tsx:3:1) (app.tsx:3) ×2", "1 new console error(s)"},
		{"a warning of Vue by key", []func(*enginetest.World){
			log("warning", "console", "[Vue warn]: Duplicate keys found during update: 93 Make sure keys are unique.", app),
			log("warning", "console", "[Vue warn]: Duplicate keys found during update: 94 Make sure keys are unique.", app),
		}, "[Vue warn]: Duplicate keys found during update: 93 Make sure keys are unique. (app.tsx:3) ×2", "1 new console warning(s)"},
		{"a difference of hydration, and what React throws of it", []func(*enginetest.World){
			log("error", "console", "Warning: Text content did not match. Server: \"1\" Client: \"2\"\n    at p\n    at Clock", app),
			log("error", "console", "Warning: An error occurred during hydration. The server HTML was replaced with client content in <div>.", enginetest.Page+"/react-dom.js"),
			log("error", "exception", "Error: Text content does not match server-rendered HTML.", enginetest.Page+"/react-dom.js"),
			log("error", "exception", "Error: Hydration failed because the initial UI does not match what was rendered on the server.", enginetest.Page+"/react-dom.js"),
			log("error", "exception", "Error: There was an error while hydrating. Because the error happened outside of a Suspense boundary, the entire root will switch to client rendering.", enginetest.Page+"/react-dom.js"),
		}, "Warning: Text content did not match. Server: \"1\" Client: \"2\"\n    at p\n    at Clock (app.tsx:3) ×1", "1 new console error(s)"},
		{"a failed hydration without a difference named", []func(*enginetest.World){
			log("error", "exception", "Error: Hydration failed because the initial UI does not match what was rendered on the server.", app),
			log("error", "console", "Warning: Prop `x` is wrong", app),
		}, "Warning: Prop `x` is wrong (app.tsx:3) ×1; Error: Hydration failed because the initial UI does not match what was rendered on the server. (app.tsx:3) ×1", "2 new console error(s)"},
		{"the same after a hot update", []func(*enginetest.World){
			log("error", "console", "cannot load http://localhost:5173/src/app.tsx?t=1732140000000 now", app),
			log("error", "console", "cannot load http://localhost:5173/src/app.tsx now", app),
		}, "cannot load http://localhost:5173/src/app.tsx?t=1732140000000 now (app.tsx:3) ×2", "1 new console error(s)"},
		{"a request and what the client says of it", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/api/pay", 500, 3) },
			log("error", "rejection", "AxiosError: Request failed with status code 500", app),
		}, "POST /api/pay 500", "1 network failure(s)"},
		{"a request and what htmx says of it", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/contacts/new", 422, 3) },
			log("error", "console", "Response Status Error Code 422 from /contacts/new", app),
		}, "POST /contacts/new 422", "1 network failure(s)"},
		{"a request without an answer and what htmx says of it", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/contacts/new", 0, 3) },
			log("error", "console", "htmx:afterRequest", app),
			log("error", "console", "htmx:sendError", app),
		}, "POST /contacts/new 0", "1 network failure(s)"},
		{"what htmx says of a target", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/contacts/new", 0, 3) },
			log("error", "console", "htmx:targetError", app),
		}, "htmx:targetError (app.tsx:3) ×1; POST /contacts/new 0", "1 new console error(s), 1 network failure(s)"},
		{"a request and an error made of its answer", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Send("network", fmt.Sprintf(`"id":"p","method":"POST","url":"http://localhost:5173/api/pay","resource":"fetch","status":422,"started":%d,"duration":5,"response_body":%q`, w.Now.UnixMilli(), `{"message":"the card has expired"}`))
			},
			log("error", "rejection", "Error: the card has expired\n    at pay (app.tsx:3:1)", app),
		}, "POST /api/pay 422", "1 network failure(s)"},
		{"a request and its response thrown", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/api/pay", 500, 3) },
			log("error", "rejection", "Response {type: 'basic', url: 'http://localhost:5173/api/pay', redirected: false, status: 500, ok: false, …}", app),
		}, "POST /api/pay 500", "1 network failure(s)"},
		{"a request and the response of another one thrown", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/api/pay", 500, 3) },
			log("error", "rejection", "Response {type: 'basic', url: 'http://localhost:5173/api/ship'}", app),
		}, "Response {type: 'basic', url: 'http://localhost:5173/api/ship'} (app.tsx:3) ×1; POST /api/pay 500", "1 new console error(s), 1 network failure(s)"},
		{"a request and what Angular logs of it", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/items?page=2", 400, 3) },
			log("error", "console", "ERROR HttpErrorResponse {headers: _HttpHeaders, status: 400, statusText: 'Bad Request', url: 'http://localhost:5173/api/items?page=2', ok: false, …}", enginetest.Page+"/@fs/_effect-chunk2.mjs"),
		}, "GET /api/items 400", "1 network failure(s)"},
		{"a request and what Angular logs of another one", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/items?page=2", 400, 3) },
			log("error", "console", "ERROR HttpErrorResponse {headers: _HttpHeaders, status: 400, statusText: 'Bad Request', url: 'http://localhost:5173/api/items?page=3', ok: false, …}", app),
		}, "ERROR HttpErrorResponse {headers: _HttpHeaders, status: 400, statusText: 'Bad Request', url: 'http://localhost:5173/api/items?page=3', ok: false, …} (app.tsx:3) ×1; GET /api/items 400", "1 new console error(s), 1 network failure(s)"},
		{"a request and the message of Angular's error", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/items", 400, 3) },
			log("error", "console", "Http failure response for http://localhost:5173/api/items: 400 Bad Request", app),
		}, "GET /api/items 400", "1 network failure(s)"},
		{"a request and the error of ofetch", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/x?a=1", 500, 3) },
			log("error", "rejection", "FetchError: [GET] \"/api/x?a=1\": 500 Internal Server Error\n    at async $fetch (http://localhost:5173/ofetch.js:1:1)", app),
		}, "GET /api/x 500", "1 network failure(s)"},
		{"a request without an answer and the error of ofetch", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "http://localhost:9/api/x", 0, 3) },
			log("error", "rejection", "FetchError: [GET] \"http://localhost:9/api/x\": <no response> Failed to fetch", app),
		}, "GET http://localhost:9/api/x 0", "1 network failure(s)"},
		{"a request and the error of ofetch about another one", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/x", 500, 3) },
			log("error", "rejection", "FetchError: [GET] \"/api/y\": 500 Internal Server Error", app),
		}, "FetchError: [GET] \"/api/y\": 500 Internal Server Error (app.tsx:3) ×1; GET /api/x 500", "1 new console error(s), 1 network failure(s)"},
		{"a request and the error of ky", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/x", 500, 3) },
			log("error", "rejection", "HTTPError: Request failed with status code 500 Internal Server Error: GET http://localhost:5173/api/x", app),
		}, "GET /api/x 500", "1 network failure(s)"},
		{"a request and the error of ky about another one", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/x", 500, 3) },
			log("error", "rejection", "HTTPError: Request failed with status code 500 Internal Server Error: GET http://localhost:5173/api/y", app),
		}, "HTTPError: Request failed with status code 500 Internal Server Error: GET http://localhost:5173/api/y (app.tsx:3) ×1; GET /api/x 500", "1 new console error(s), 1 network failure(s)"},
		{"a request and the preview of axios' error", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/x", 404, 3) },
			log("error", "console", "AxiosError {message: 'Request failed with status code 404', name: 'AxiosError', code: 'ERR_BAD_REQUEST', config: {…}, request: XMLHttpRequest, …}", app),
		}, "GET /api/x 404", "1 network failure(s)"},
		{"a request and an error of react-admin without a message", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/posts", 503, 3) },
			log("error", "console", "HttpError: Service Unavailable\n    at http://localhost:5173/node_modules/.vite/deps/react-admin.js:7:1", app),
		}, "GET /api/posts 503", "1 network failure(s)"},
		{"a request and the error of superagent", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/posts", 404, 3) },
			log("error", "rejection", "Error: Not Found\n    at Request.callback (http://localhost:5173/node_modules/.vite/deps/superagent.js?v=1:7:1)", app),
		}, "GET /api/posts 404", "1 network failure(s)"},
		{"a request and an error of the project with the name of its status", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("GET", "/api/posts", 404, 3) },
			log("error", "rejection", "Error: Not Found\n    at find (http://localhost:5173/src/app.tsx:3:1)", app),
		}, "Error: Not Found\n    at find (http://localhost:5173/src/app.tsx:3:1) (app.tsx:3) ×1; GET /api/posts 404", "1 new console error(s), 1 network failure(s)"},
		{"a request and the error of urql about its answer", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Send("network", fmt.Sprintf(`"id":"p","method":"POST","url":"http://localhost:5173/graphql","resource":"fetch","status":200,"started":%d,"duration":5,"response_body":%q`, w.Now.UnixMilli(), `{"data":null,"errors":[{"message":"no such field"}]}`))
			},
			log("error", "console", "CombinedError: [GraphQL] no such field", app),
		}, "POST /graphql 200", "1 network failure(s)"},
		{"a request and an error of something else", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Send("network", fmt.Sprintf(`"id":"p","method":"POST","url":"http://localhost:5173/api/pay","resource":"fetch","status":422,"started":%d,"duration":5,"response_body":%q`, w.Now.UnixMilli(), `{"message":"the card has expired"}`))
			},
			log("error", "rejection", "Error: the card", app),
		}, "Error: the card (app.tsx:3) ×1; POST /api/pay 422", "1 new console error(s), 1 network failure(s)"},
		{"a request without an answer", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/api/pay", 0, 3) },
			log("error", "console", "TypeError: Failed to fetch", app),
		}, "POST /api/pay 0", "1 network failure(s)"},
		{"a request and an error of another one", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/api/pay", 500, 3) },
			log("error", "rejection", "AxiosError: Request failed with status code 404", app),
		}, "AxiosError: Request failed with status code 404 (app.tsx:3) ×1; POST /api/pay 500", "1 new console error(s), 1 network failure(s)"},
		{"a request and an error that says more", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/api/pay", 500, 3) },
			log("error", "console", "payment failed: Request failed with status code 500", app),
		}, "payment failed: Request failed with status code 500 (app.tsx:3) ×1; POST /api/pay 500", "1 new console error(s), 1 network failure(s)"},
		{"an error of the project's code and the overlay that shows it", []func(*enginetest.World){
			log("error", "exception", "TypeError: Cannot read properties of undefined", app),
			func(w *enginetest.World) {
				w.Element("appeared", 1, "nextjs-portal", "Unhandled Runtime Error – TypeError: Cannot read properties of undefined")
			},
		}, "TypeError: Cannot read properties of undefined (app.tsx:3) ×1", "1 new console error(s)"},
		{"a short error of the project's code and the overlay that shows it", []func(*enginetest.World){
			log("error", "exception", "Error: effect boom", app),
			func(w *enginetest.World) {
				w.Element("appeared", 1, "#webpack-dev-server-client-overlay", "Uncaught runtime errors: ERROR effect boom at main (http://localhost:5173/main.js:1387:11)")
			},
		}, "Error: effect boom (app.tsx:3) ×1", "1 new console error(s)"},
		{"an error of a development server's client and its overlay", []func(*enginetest.World){
			log("error", "console", "[plugin:vite:react] Unexpected token (3:7)", enginetest.Page+"/@vite/client"),
			func(w *enginetest.World) {
				w.Element("appeared", 1, "vite-error-overlay", "[plugin:vite:react] Unexpected token (3:7) – /src/app.tsx")
			},
		}, "[plugin:vite:react] Unexpected token (3:7) – app.tsx", "1 new error overlay(s)"},
		{"a request without an answer, and an overlay that says no more", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/api/pay", 0, 3) },
			func(w *enginetest.World) {
				w.Element("appeared", 1, "vite-error-overlay", "Failed to fetch – /shop/src/app.tsx:3:7")
			},
		}, "POST /api/pay 0", "1 network failure(s)"},
		{"a request with an answer, and an overlay about one without", []func(*enginetest.World){
			func(w *enginetest.World) { w.Request("POST", "/api/pay", 500, 3) },
			func(w *enginetest.World) {
				w.Element("appeared", 1, "vite-error-overlay", "Failed to fetch – /shop/src/app.tsx:3:7")
			},
		}, "POST /api/pay 500; Failed to fetch – app.tsx:3", "1 network failure(s), 1 new error overlay(s)"},
		{"a module that Vite cannot compile", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Element("appeared", 1, "vite-error-overlay", "[plugin:vite:oxc] Unexpected token – /shop/src/app.tsx:3:7")
				w.Send("network", fmt.Sprintf(`"id":"m","method":"GET","url":"http://localhost:5173/src/app.tsx?t=1732140000000","resource":"script","status":500,"started":%d,"duration":5`, w.Now.UnixMilli()))
			},
			log("error", "console", "[vite] Failed to reload /src/app.tsx. This could be due to syntax errors or importing non-existent modules. (see errors above)", enginetest.Page+"/@vite/client"),
		}, "[plugin:vite:oxc] Unexpected token – app.tsx:3", "1 new error overlay(s)"},
		{"a module that Vite cannot compile, and the failure of another one", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Element("appeared", 1, "vite-error-overlay", "[plugin:vite:oxc] Unexpected token – /shop/src/app.tsx:3:7")
				w.Send("network", fmt.Sprintf(`"id":"m","method":"GET","url":"http://localhost:5173/src/cart.tsx","resource":"script","status":500,"started":%d,"duration":5`, w.Now.UnixMilli()))
			},
		}, "GET /src/cart.tsx 500; [plugin:vite:oxc] Unexpected token – app.tsx:3", "1 network failure(s), 1 new error overlay(s)"},
		{"a module that Vite cannot load, where the overlay is off", []func(*enginetest.World){
			log("error", "console", "[vite] Internal Server Error\nUnexpected token", enginetest.Page+"/@vite/client"),
			log("error", "console", "[vite] Failed to reload /src/app.tsx. This could be due to syntax errors or importing non-existent modules. (see errors above)", enginetest.Page+"/@vite/client"),
		}, "[vite] Internal Server Error\nUnexpected token () ×1", "1 new console error(s)"},
		{"a failed build that webpack's client logs, and two overlays show", []func(*enginetest.World){
			log("error", "console", "[webpack-dev-server] ./src/App.jsx\nModule build failed (from swc-loader):\nError: x Expected", "http://localhost:5173/main.js"),
			log("error", "console", "[webpack-dev-server] bundle has 1 errors", "http://localhost:5173/main.js"),
			func(w *enginetest.World) {
				w.Element("appeared", 1, "#react-refresh-overlay", "Failed to compile. Error: x Expected src/App.jsx")
				w.Element("appeared", 2, "#webpack-dev-server-client-overlay", "ERROR in ./src/App.jsx Module build failed (from swc-loader): Error: x Expected")
			},
		}, "ERROR in ./src/App.jsx Module build failed (from swc-loader): Error: x Expected", "1 new error overlay(s)"},
		{"a failed build where the overlay is off", []func(*enginetest.World){
			log("error", "console", "[webpack-dev-server] ./src/App.jsx\nModule build failed", app),
			log("error", "console", "[webpack-dev-server] bundle has 1 errors", app),
		}, "[webpack-dev-server] ./src/App.jsx\nModule build failed (app.tsx:3) ×1", "1 new console error(s)"},
		{"an error that two overlays show", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Element("appeared", 1, "#webpack-dev-server-client-overlay", "Uncaught runtime errors: × ERROR no items today RangeError: no items today at App.jsx")
				w.Element("appeared", 2, "#react-refresh-overlay", "RangeError no items today Call Stack App src/App.jsx:3")
			},
		}, "Uncaught runtime errors: × ERROR no items today RangeError: no items today at App.jsx", "1 new error overlay(s)"},
		{"two overlays about different errors", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Element("appeared", 1, "#webpack-dev-server-client-overlay", "Uncaught runtime errors: × ERROR no price of the pen")
				w.Element("appeared", 2, "#react-refresh-overlay", "RangeError no items today Call Stack App src/App.jsx:3")
			},
		}, "RangeError no items today Call Stack App src/App.jsx:3; Uncaught runtime errors: × ERROR no price of the pen", "2 new error overlay(s)"},
		{"a request that ended because the page was left", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Send("network", `"id":"x","method":"GET","url":"http://localhost:5173/slow","resource":"fetch","status":0,"canceled":true,"error":"net::ERR_ABORTED","started":1,"duration":5`)
			},
			log("error", "console", "TypeError: Failed to fetch", app),
			func(w *enginetest.World) {
				w.Send("navigation", fmt.Sprintf(`"how":"load","url":%q`, enginetest.Page+"/next"))
			},
		}, "", "No significant changes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			for _, step := range c.steps {
				w.Pass(50 * time.Millisecond)
				step(w)
			}
			r := w.Changes(a, params{})
			var got []string
			for _, m := range append(r.Console.NewErrors, r.Console.NewWarnings...) {
				got = append(got, fmt.Sprintf("%s (%s) ×%d", m.Message, m.Source, m.Count))
			}
			for _, f := range r.Network.Failures {
				got = append(got, fmt.Sprintf("%s %s %d", f.Method, f.URL, f.Status))
			}
			for _, e := range r.DOM.NewErrorElements {
				got = append(got, strings.TrimSuffix(e.Text+" – "+e.Source(), " – "))
			}
			if strings.Join(got, "; ") != c.want || r.Summary != c.summary {
				t.Errorf("%q\n%s", got, show(r))
			}
			for _, step := range c.steps { // once more: all of it was given
				w.Pass(50 * time.Millisecond)
				step(w)
			}
			if again := w.Changes(a, params{}); again.Errors+again.Warnings > 0 && !strings.HasPrefix(again.Summary, "no new problems") && len(again.DOM.NewErrorElements) > 0 {
				t.Errorf("again: %s", show(again))
			}
		})
	}
}

func TestRequestsOfAnActionKeepTheQueryThatTellsThemApart(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	from := w.Store.View(w.Now).Now()
	for _, path := range []string{"/items?page=1", "/items?page=2", "/items?page=2", "/me?_=1732140000001", "/me?_=1732140000002", "/cart?x=1", "/poll?t=Q8JgKNa", "/poll?t=Q8JgKNb"} {
		w.Request("GET", path, 200, 1)
	}
	w.Request("GET", "/bad?id=1", 500, 1)
	w.Request("GET", "/bad?id=2", 500, 1)
	w.Request("GET", "/api/items?page=1", 200, 1)
	w.Request("GET", "/api/items?page=2", 400, 1)
	w.Request("GET", "/api/tags?all=1", 200, 1)
	w.Request("GET", "/api/tags?all=1", 400, 1)
	var got []string
	for _, c := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
		got = append(got, fmt.Sprintf("%s ×%d", c.Text, c.Count))
	}
	const want = "GET /items?page=1 200 ×1, GET /items?page=2 200 ×2, GET /me 200 ×2, GET /cart 200 ×1, GET /poll 200 ×2, GET /bad?id=1 500 ×1, GET /bad?id=2 500 ×1, " +
		"GET /api/items?page=1 200 ×1, GET /api/items?page=2 400 ×1, GET /api/tags 200 ×1, GET /api/tags 400 ×1"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s", strings.Join(got, ", "))
	}
}

func TestAClosedSocketOfAnActionHasItsLine(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	from := w.Store.View(w.Now).Now()
	w.Send("websocket", `"id":"w1","url":"ws://localhost:18402/live","op":"close","code":1006,"stack":["connect (http://localhost:5173/src/socket.ts:12:9)"]`)
	w.Send("websocket", `"id":"w2","url":"ws://localhost:18402/chat","op":"close","code":1008,"reason":"session expired","stack":["connect (http://localhost:5173/src/chat.ts:7:9)"]`)
	v := w.Store.View(w.Now)
	o := window.Options{}
	w.Engine.Observer.OriginalsIn(v).Explain(&o)
	var got []string
	for _, c := range diff.Consequences(from, v, 0, o) {
		got = append(got, c.Text)
	}
	const want = "WebSocket ws://localhost:18402/live closed from socket.ts:12, WebSocket ws://localhost:18402/chat closed session expired from chat.ts:7"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s", strings.Join(got, ", "))
	}
}

// TestAModuleThatStillFails: a page with a module that Vite cannot compile is loaded again, and shows the same overlay.
func TestAModuleThatStillFails(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	fails := func(document int) {
		w.Send("network", fmt.Sprintf(`"id":"m%d","method":"GET","url":"http://localhost:5173/src/app.tsx?t=1732140000000","resource":"script","status":500,"started":%d,"duration":5`, document, w.Now.UnixMilli()))
		w.Send("element", fmt.Sprintf(`"op":"appeared","frame":0,"document":"n%d","id":1,"selector":"vite-error-overlay","text":"[plugin:vite:oxc] Unexpected token – /shop/src/app.tsx:3:7"`, document))
	}
	fails(1)
	w.Pass(5 * time.Second)
	if _, err := w.Call(w.Agent(), "checkpoint_create", `{"name":"broken"}`); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Second)
	w.Send("element", `"op":"reset","frame":0,"document":"n2","id":0`)
	w.Send("navigation", `"url":"http://localhost:5173/","how":"reload"`)
	w.Pass(time.Second)
	fails(2)
	w.Pass(time.Second)
	r := w.Changes(w.Agent(), params{Checkpoint: "broken"})
	if r.Severity != "error" || r.Summary != "no new problems; 1 repeated error" || len(r.Repeated) != 1 || !strings.Contains(r.Repeated[0].Message, "Unexpected token") {
		t.Errorf("%s, %s, %+v", r.Severity, r.Summary, r.Repeated)
	}
}
