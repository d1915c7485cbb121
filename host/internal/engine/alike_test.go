package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
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
		{"an error of a development server's client and its overlay", []func(*enginetest.World){
			log("error", "console", "[plugin:vite:react] Unexpected token (3:7)", enginetest.Page+"/@vite/client"),
			func(w *enginetest.World) {
				w.Element("appeared", 1, "vite-error-overlay", "[plugin:vite:react] Unexpected token (3:7) – /src/app.tsx")
			},
		}, "[plugin:vite:react] Unexpected token (3:7) – /src/app.tsx", "1 new error overlay(s)"},
		{"a module that Vite cannot compile", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Element("appeared", 1, "vite-error-overlay", "[plugin:vite:oxc] Unexpected token – /shop/src/app.tsx:3:7")
				w.Send("network", fmt.Sprintf(`"id":"m","method":"GET","url":"http://localhost:5173/src/app.tsx?t=1732140000000","resource":"script","status":500,"started":%d,"duration":5`, w.Now.UnixMilli()))
			},
			log("error", "console", "[vite] Failed to reload /src/app.tsx. This could be due to syntax errors or importing non-existent modules. (see errors above)", enginetest.Page+"/@vite/client"),
		}, "[plugin:vite:oxc] Unexpected token – /shop/src/app.tsx:3:7", "1 new error overlay(s)"},
		{"a module that Vite cannot compile, and the failure of another one", []func(*enginetest.World){
			func(w *enginetest.World) {
				w.Element("appeared", 1, "vite-error-overlay", "[plugin:vite:oxc] Unexpected token – /shop/src/app.tsx:3:7")
				w.Send("network", fmt.Sprintf(`"id":"m","method":"GET","url":"http://localhost:5173/src/cart.tsx","resource":"script","status":500,"started":%d,"duration":5`, w.Now.UnixMilli()))
			},
		}, "GET /src/cart.tsx 500; [plugin:vite:oxc] Unexpected token – /shop/src/app.tsx:3:7", "1 network failure(s), 1 new error overlay(s)"},
		{"a module that Vite cannot load, where the overlay is off", []func(*enginetest.World){
			log("error", "console", "[vite] Internal Server Error\nUnexpected token", enginetest.Page+"/@vite/client"),
			log("error", "console", "[vite] Failed to reload /src/app.tsx. This could be due to syntax errors or importing non-existent modules. (see errors above)", enginetest.Page+"/@vite/client"),
		}, "[vite] Internal Server Error\nUnexpected token (client:3) ×1", "1 new console error(s)"},
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
				got = append(got, e.Text)
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
	var got []string
	for _, c := range diff.Consequences(from, w.Store.View(w.Now), 0, diff.Options{}) {
		got = append(got, fmt.Sprintf("%s ×%d", c.Text, c.Count))
	}
	const want = "GET /items?page=1 200 ×1, GET /items?page=2 200 ×2, GET /me 200 ×2, GET /cart 200 ×1, GET /poll 200 ×2, GET /bad?id=1 500 ×1, GET /bad?id=2 500 ×1"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s", strings.Join(got, ", "))
	}
}
