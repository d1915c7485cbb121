package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// is fails when a part of a report is not as it should be in JSON, but for the times of its requests.
func is(t *testing.T, part any, want string) {
	t.Helper()
	data, err := report.Encode(part)
	if err != nil {
		t.Fatal(err)
	}
	if got := enginetest.Untimed(data); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// requests sends one request for each "METHOD path status duration".
func requests(w *enginetest.World, list ...string) {
	for _, r := range list {
		var method, path string
		var status int
		var ms float64
		if _, err := fmt.Sscan(r, &method, &path, &status, &ms); err != nil {
			panic(err)
		}
		w.Request(method, path, status, ms)
	}
}

// TestWhatIsNewOfEndpoints lists requests before and after the last look, and the expected report.
func TestWhatIsNewOfEndpoints(t *testing.T) {
	for _, c := range []struct {
		name     string
		before   []string
		since    []string
		want     string
		severity report.Severity
	}{
		{
			"one that is first seen failing is a failure, and no new endpoint",
			nil,
			[]string{"GET /api/a 500 5"},
			`{"failures":[{"method":"GET","url":"/api/a","status":500}],"total_new_requests":1}`, report.Error,
		},
		{
			"one that failed before and still fails is repeated",
			[]string{"GET /api/a 500 5"},
			[]string{"GET /api/a 500 5", "GET /api/a 500 5"},
			`{"still_failing":1,"total_new_requests":2}`, report.Error,
		},
		{
			"one that fails in another way is a failure",
			[]string{"GET /api/a 500 5"},
			[]string{"GET /api/a 500 5", "GET /api/a 503 5"},
			`{"failures":[{"method":"GET","url":"/api/a","status":503,"previous_status":500}],"total_new_requests":2}`, report.Error,
		},
		{
			"one that fails at another address is a failure",
			[]string{"GET /api/orders/1 500 5", "GET /api/orders?page=1 500 5"},
			[]string{"GET /api/orders/1 500 5", "GET /api/orders/2 500 5", "GET /api/orders?page=2 500 5"},
			`{"failures":[{"method":"GET","url":"/api/orders","status":500},{"method":"GET","url":"/api/orders/{id}","status":500}],"total_new_requests":3}`, report.Error,
		},
		{
			"one whose address differs in a time stamp still fails",
			[]string{"GET /api/a?_=1769164200000 500 5"},
			[]string{"GET /api/a?_=1769164201000 500 5"},
			`{"still_failing":1,"total_new_requests":1}`, report.Error,
		},
		{
			"one of which another address succeeds still fails",
			[]string{"GET /api/a/1 500 5", "GET /api/a/2 200 5", "GET /api/a/3 500 5"},
			[]string{"GET /api/a/1 500 5", "GET /api/a/2 200 5", "GET /api/a/3 500 5"},
			`{"still_failing":1,"total_new_requests":3}`, report.Error,
		},
		{
			"one that fails no more is recovered",
			[]string{"GET /api/a 200 5", "GET /api/a 500 5"},
			[]string{"GET /api/a 200 5"},
			`{"recovered":[{"method":"GET","url":"/api/a","status":200,"previous_status":500}],"total_new_requests":1}`, report.Clean,
		},
		{
			"one that failed and came back between two looks is a failure that is over",
			[]string{"GET /api/a 200 5"},
			[]string{"GET /api/a 500 5", "GET /api/a 500 5", "GET /api/a 204 5"},
			`{"failures":[{"method":"GET","url":"/api/a","status":500,"previous_status":200,"count":2,"now_status":204}],"total_new_requests":3}`, report.Error,
		},
		{
			"one that recovered and failed again is a failure anew",
			[]string{"GET /api/a 500 5"},
			[]string{"GET /api/a 200 5", "GET /api/a 502 5"},
			`{"failures":[{"method":"GET","url":"/api/a","status":502,"previous_status":200}],"total_new_requests":2}`, report.Error,
		},
		{
			"a failure without a status is a failure",
			[]string{"GET /api/a 200 5"},
			[]string{"GET /api/a 0 5"},
			`{"failures":[{"method":"GET","url":"/api/a","status":0,"previous_status":200,"error":"net::ERR_CONNECTION_REFUSED"}],"total_new_requests":1}`, report.Error,
		},
		{
			"ids in the path are one endpoint, shown by the template when there were several",
			[]string{"GET /users/1 200 5"},
			[]string{"GET /users/2 200 5", "GET /users/3 404 5", "GET /users/4/cart 200 5", "GET /users/5/cart 200 5"},
			`{"failures":[{"method":"GET","url":"/users/{id}","status":404,"previous_status":200}],"new_endpoints":[{"method":"GET","url":"/users/{id}/cart","status":200}],"total_new_requests":4}`, report.Error,
		},
		{
			"the query never counts, the method does",
			[]string{"GET /api/a?page=1 200 5"},
			[]string{"GET /api/a?page=2 200 5", "POST /api/a?page=1 201 5"},
			`{"new_endpoints":[{"method":"POST","url":"/api/a","status":201}],"total_new_requests":2}`, report.Clean,
		},
		{
			"hashes in the names of built files do not make new endpoints",
			[]string{"GET /assets/index-4f3a9c21.js 200 5"},
			[]string{"GET /assets/index-B7x_9Qke.js 200 5"},
			`{"total_new_requests":1}`, report.Clean,
		},
		{
			"another origin is shown whole, the page's own as a path",
			nil,
			[]string{"GET https://api.example.com/v1/things?key=1 200 5", "GET /api/a 200 5"},
			`{"new_endpoints":[{"method":"GET","url":"/api/a","status":200},{"method":"GET","url":"https://api.example.com/v1/things","status":200}],"total_new_requests":2}`, report.Clean,
		},
		{
			"slower than three times the mean and 100 ms is degraded",
			[]string{"GET /api/a 200 40", "GET /api/a 200 60", "GET /api/a 200 50"},
			[]string{"GET /api/a 200 151", "GET /api/a 200 160"},
			`{"degraded":[{"method":"GET","url":"/api/a","avg_ms":156,"previous_avg_ms":50}],"total_new_requests":2}`, report.Warning,
		},
		{
			"exactly three times the mean is not degraded",
			[]string{"GET /api/a 200 50", "GET /api/a 200 50", "GET /api/a 200 50"},
			[]string{"GET /api/a 200 150"},
			`{"total_new_requests":1}`, report.Clean,
		},
		{
			"two earlier requests are not enough to call one degraded",
			[]string{"GET /api/a 200 10", "GET /api/a 200 10"},
			[]string{"GET /api/a 200 900"},
			`{"total_new_requests":1}`, report.Clean,
		},
		{
			"100 ms or less is never degraded",
			[]string{"GET /api/a 200 1", "GET /api/a 200 1", "GET /api/a 200 1"},
			[]string{"GET /api/a 200 100"},
			`{"total_new_requests":1}`, report.Clean,
		},
		{
			"failed requests are no measure of speed, before or after",
			[]string{"GET /api/a 200 10", "GET /api/a 200 10", "GET /api/a 500 900"},
			[]string{"GET /api/a 500 900", "GET /api/a 200 10"},
			`{"recovered":[{"method":"GET","url":"/api/a","status":200,"previous_status":500}],"total_new_requests":2}`, report.Error,
		},
		{
			"a missing favicon is noise",
			nil,
			[]string{"GET /favicon.ico 404 5"},
			`{"total_new_requests":1}`, report.Clean,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			requests(w, c.before...)
			w.Changes(a, params{})
			requests(w, c.since...)
			r := w.Changes(a, params{})
			is(t, r.Network, c.want)
			if r.Severity != c.severity {
				t.Errorf("severity %s, want %s", r.Severity, c.severity)
			}
			if again := w.Changes(a, params{}); again.Severity != report.Clean || again.Network.TotalNewRequests != 0 {
				t.Errorf("reported twice: %s", show(again))
			}
		})
	}
}

// TestWhatBecomesOfOneRequest lists fields of a network event, and the expected report.
func TestWhatBecomesOfOneRequest(t *testing.T) {
	for _, c := range []struct{ name, fields, want string }{
		{
			"given up without a status is no failure and no endpoint",
			`"status":0,"canceled":true`,
			`{"total_new_requests":1}`,
		},
		{
			"given up by its error's name alone is no failure either",
			`"status":0,"error":"net::ERR_ABORTED"`,
			`{"total_new_requests":1}`,
		},
		{
			"a status wins over ERR_ABORTED",
			`"status":404,"error":"net::ERR_ABORTED","canceled":true`,
			`{"failures":[{"method":"GET","url":"/x","status":404}],"total_new_requests":1}`,
		},
		{
			"an answer that was given up on is an answer",
			`"status":200,"canceled":true`,
			`{"new_endpoints":[{"method":"GET","url":"/x","status":200}],"total_new_requests":1}`,
		},
		{
			"an answer that broke off is a failure",
			`"status":200,"error":"net::ERR_CONTENT_LENGTH_MISMATCH"`,
			`{"failures":[{"method":"GET","url":"/x","status":200,"error":"net::ERR_CONTENT_LENGTH_MISMATCH"}],"total_new_requests":1}`,
		},
		{
			"blocked by CORS is a failure with its reason",
			`"status":0,"error":"CORS: No 'Access-Control-Allow-Origin' header is present on the requested resource."`,
			`{"failures":[{"method":"GET","url":"/x","status":0,"error":"CORS: No 'Access-Control-Allow-Origin' header is present on the requested resource."}],"total_new_requests":1}`,
		},
		{
			"redirected is answered",
			`"status":302`,
			`{"new_endpoints":[{"method":"GET","url":"/x","status":302}],"total_new_requests":1}`,
		},
		{
			"a preflight is nobody's endpoint",
			`"status":403,"resource":"preflight"`,
			`{"total_new_requests":1}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			w.Send("network", `"id":"r","method":"GET","url":"`+enginetest.Page+`/x?q","resource":"fetch","started":1,"duration":5,`+c.fields)
			is(t, w.Changes(w.Agent(), params{}).Network, c.want)
		})
	}
}

// TestAPageThatIsCompiledIsNotDegraded: Next.js compiles a route when its router first asks for it. Once it is built, a slow route
// is one.
func TestAPageThatIsCompiledIsNotDegraded(t *testing.T) {
	for developed, want := range map[bool]report.Severity{true: report.Clean, false: report.Warning} {
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		if developed {
			w.Log("log", "[vite] hot updated: /src/App.vue")
		}
		requests(w, "GET /?_rsc=a 200 40", "GET /?_rsc=b 200 50", "GET /?_rsc=c 200 60")
		w.Changes(a, params{})
		w.Pass(time.Minute)
		requests(w, "GET /?_rsc=d 200 6109", "GET /?_rsc=e 200 6000")
		if r := w.Changes(a, params{}); r.Severity != want {
			t.Errorf("of a development server: %t: %s, %q", developed, r.Severity, r.Summary)
		}
	}
}

func TestAnswersThatMeasureNothingDoNotMakeAnEndpointDegraded(t *testing.T) {
	for _, kind := range []string{"cached", "stream", "canceled"} {
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		send := func(fields string) {
			w.Send("network", `"id":"r","method":"GET","url":"`+enginetest.Page+`/x","resource":"fetch","status":200,"started":1,`+fields)
		}
		for range 5 {
			send(`"duration":1,"` + kind + `":true`)
		}
		send(`"duration":200`)
		w.Changes(a, params{})
		send(`"duration":210`)
		send(`"duration":90000,"` + kind + `":true`)
		if r := w.Changes(a, params{}); r.Severity != report.Clean {
			t.Errorf("%s: %s", kind, show(r.Network))
		}
	}
}

func TestFailuresAreOrderedByFrequencyThenRecency(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	requests(w, "GET /once/early 404 1", "GET /often 404 1", "GET /once/late 404 1", "GET /often 404 1")
	var urls []string
	for _, f := range w.Changes(w.Agent(), params{}).Network.Failures {
		urls = append(urls, f.URL)
	}
	if got := strings.Join(urls, " "); got != "/often /once/late /once/early" {
		t.Error(got)
	}
}

func TestTheWorstOfASectionIsKept(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for i := range 60 {
		requests(w, fmt.Sprintf("GET /fine/%s 200 1", letters(i)))
	}
	for i := range 45 {
		requests(w, fmt.Sprintf("GET /bad/%s 500 1", letters(i)))
	}
	n := w.Changes(w.Agent(), params{}).Network
	if len(n.Failures) != 45 || len(n.NewEndpoints) != 5 || n.Omitted != 55 || n.NewEndpoints[0].URL != "/fine/"+letters(59) {
		t.Errorf("%d failures, %d new endpoints, %d omitted: %s", len(n.Failures), len(n.NewEndpoints), n.Omitted, show(n.NewEndpoints))
	}
}

func TestTwoProjectsThatUseOneAPIAreKeptApart(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	a := w.Scoped("localhost:3000")
	requests(w, "GET http://localhost:9000/api 200 1")
	w.Changes(a, params{})
	w.Send("network", `"tab":8,"id":"r","method":"GET","url":"http://localhost:9000/api","resource":"fetch","status":500,"started":1,"duration":1`)
	is(t, w.Changes(a, params{}).Network, `{"failures":[{"method":"GET","url":"http://localhost:9000/api","status":500}],"total_new_requests":1}`)
}

// TestDegradedNeedsEvidence lists requests before and after the last look, each with its start in milliseconds after
// the look and its duration, and the endpoints that are degraded.
func TestDegradedNeedsEvidence(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, since []string
		want          string
	}{
		{"one that is slower, alone", []string{"/a 0 40", "/a 50 40", "/a 100 40"}, []string{"/a 0 400"}, "/a"},
		{
			"one that is slower among others",
			[]string{"/a 0 40", "/a 50 40", "/a 100 40", "/b 0 30", "/c 0 50"},
			[]string{"/a 0 400", "/b 100 35", "/c 200 45"},
			"/a",
		},
		{
			"all that are slower alike",
			[]string{"/a 0 40", "/a 50 40", "/a 100 40", "/b 0 30", "/b 9 30", "/b 9 30", "/c 0 50", "/c 0 50", "/c 0 50"},
			[]string{"/a 0 400", "/b 100 290", "/c 200 510"},
			"",
		},
		{
			"a busy machine that makes files slower too",
			[]string{"/a 0 60", "/a 50 60", "/a 100 60", "/x.js 0 2", "/y.css 0 3"},
			[]string{"/a 0 300", "/x.js 10 140", "/y.css 20 160"},
			"",
		},
		{
			"one that is slower at another time than the rest",
			[]string{"/a 0 40", "/a 50 40", "/a 100 40", "/b 0 30", "/b 9 30", "/b 9 30"},
			[]string{"/a 0 400", "/b 60000 290"},
			"/a /b",
		},
		{
			"one that waited in the browser's queue, among others that are new",
			[]string{"/a 0 9", "/a 50 9", "/a 100 9"},
			[]string{"/a 0 1246", "/n1 0 182", "/n2 1 600", "/n3 1 700", "/n4 2 900", "/n5 2 1100", "/n6 2 1300", "/n7 3 1584"},
			"",
		},
		{
			"one that is slower, among many that are new and not slow",
			[]string{"/a 0 9", "/a 50 9", "/a 100 9"},
			[]string{"/a 0 1246", "/n1 0 18", "/n2 1 60", "/n3 1 70", "/n4 2 90", "/n5 2 110", "/n6 2 130", "/n7 3 158"},
			"/a",
		},
		{
			"one that waited in a queue once, and is slower later",
			[]string{"/a 0 9", "/a 50 9", "/a 100 9"},
			[]string{"/a 0 1246", "/n1 0 182", "/n2 1 600", "/n3 1 700", "/n4 2 900", "/n5 2 1100", "/n6 2 1300", "/n7 3 1584", "/a 60000 1000"},
			"/a",
		},
		{
			"one that always varied",
			[]string{"/a 0 10", "/a 50 10", "/a 100 900", "/a 150 20", "/a 200 30", "/a 250 10"},
			[]string{"/a 0 800"},
			"",
		},
		{
			"an outlier among ten does not count",
			[]string{"/a 0 10", "/a 50 10", "/a 100 700", "/a 150 20", "/a 200 30", "/a 250 10", "/a 9 9", "/a 9 9", "/a 9 9", "/a 9 9", "/a 9 9"},
			[]string{"/a 0 600"},
			"/a",
		},
		{"a single one that waited for the processor", []string{"/a 0 26", "/a 50 26", "/a 100 26"}, []string{"/a 0 125"}, ""},
		{"two that took as long", []string{"/a 0 26", "/a 50 26", "/a 100 26"}, []string{"/a 0 125", "/a 500 125"}, "/a"},
		{
			"one slow request of many",
			[]string{"/a 0 40", "/a 50 45", "/a 100 90"},
			[]string{"/a 0 40", "/a 50 40", "/a 100 3000"},
			"",
		},
		{"one of a server that compiles", []string{"/a 0 15", "/a 50 15", "/a 100 15"}, []string{"update 0 0", "/a 20 230"}, ""},
		{"one that is much slower since the server compiled", []string{"/a 0 15", "/a 50 15", "/a 100 15"}, []string{"update 0 0", "/a 20 800"}, "/a"},
		{"one that is slower long after an update", []string{"/a 0 15", "/a 50 15", "/a 100 15"}, []string{"update 0 0", "/a 9000 230"}, "/a"},
		{"a document of a server that just started", []string{"/doc 0 37", "/doc 10 37", "/doc 20 37"}, []string{"/doc 0 743"}, ""},
		{"a file", []string{"/x.js 0 5", "/x.js 10 5", "/x.js 20 5", "/a.css 0 5", "/a.css 0 5", "/a.css 0 5"}, []string{"/x.js 0 900", "/a.css 9000 900"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			send := func(list []string) {
				for i, r := range list {
					var path string
					var start, ms int64
					if _, err := fmt.Sscan(r, &path, &start, &ms); err != nil {
						t.Fatal(err)
					}
					if path == "update" {
						w.Send("console", fmt.Sprintf(`"level":"debug","via":"console","text":"[vite] hot updated: /a.js","at":%d`, w.Now.UnixMilli()+start))
						continue
					}
					resource := "fetch"
					if path == "/doc" {
						resource = "document"
					}
					w.Send("network", fmt.Sprintf(`"id":"e%d-%d","method":"GET","url":"%s%s","resource":%q,"status":200,"started":%d,"duration":%d`,
						w.Now.UnixNano(), i, enginetest.Page, path, resource, w.Now.UnixMilli()+start, ms))
				}
			}
			send(c.before)
			w.Changes(a, params{})
			w.Pass(time.Hour)
			send(c.since)
			var got []string
			r := w.Changes(a, params{})
			for _, d := range r.Network.Degraded {
				got = append(got, d.URL)
			}
			if strings.Join(got, " ") != c.want || (r.Severity == report.Warning) != (c.want != "") {
				t.Errorf("%q, %s", got, r.Severity)
			}
		})
	}
}

func TestFilesOfAPageAreNoEndpointsUnlessTheyFail(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	send := func(status int) *report.NetworkDiff {
		for i, r := range []string{
			"script /src/main", "stylesheet /theme", "font /f", "image /avatar/7", "media /film", "manifest /app.webmanifest",
			"fetch /src/App.tsx?t=1769164200000", "xhr /chunk-4f3a9c21.mjs", "fetch /pkg/app.wasm", "other /style.css#top",
		} {
			kind, path, _ := strings.Cut(r, " ")
			w.Send("network", fmt.Sprintf(`"id":"f%d","method":"GET","url":"%s%s","resource":%q,"status":%d,"started":%d,"duration":5`, i, enginetest.Page, path, kind, status, w.Now.UnixMilli()))
		}
		return w.Changes(a, params{}).Network
	}
	is(t, send(200), `{"total_new_requests":10}`)
	if n := send(404); len(n.Failures) != 10 {
		t.Errorf("%s", show(n))
	}
	if n := send(200); len(n.Recovered) != 10 || n.NewEndpoints != nil {
		t.Errorf("%s", show(n))
	}
	requests(w, "GET /api/locales.json 200 5", "GET /api/v1.0/users 200 5", "POST /upload.js 200 5", "GET / 200 5")
	if n := w.Changes(a, params{}).Network; len(n.NewEndpoints) != 4 {
		t.Errorf("%s", show(n))
	}
}

// TestAnotherFailureOfAnEndpointIsNew: it has another answer, and a reader that folds is told of it once.
func TestAnotherFailureOfAnEndpointIsNew(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	order := func(id int, says string) {
		w.Send("network", fmt.Sprintf(`"id":"o%d","method":"GET","url":"%s/api/orders/%d","resource":"fetch","status":500,"started":%d,"duration":5,"mime":"application/json","response_body":%q`,
			w.Now.UnixNano(), enginetest.Page, id, w.Now.UnixMilli(), fmt.Sprintf(`{"message":%q}`, says)))
		w.Pass(time.Second)
	}
	checkpointed := func(name string) {
		if _, err := w.Call(a, "checkpoint_create", fmt.Sprintf(`{"name":%q}`, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.Changes(a, params{})
	order(1, "cannot read total")
	w.Changes(a, params{})
	checkpointed("known")
	order(1, "cannot read total")
	r := w.Changes(a, params{Checkpoint: "known"})
	expect(t, r.Severity == report.Warning && r.Network.StillFailing == 1 && len(r.Network.KnownFailures) == 1 && r.Network.KnownFailures[0].Detail == "cannot read total", r)
	r = w.Changes(a, params{})
	expect(t, r.Severity == report.Error && repeated(r) == "[{GET /api/orders/1 500: cannot read total 1}]", r)
	order(1, "no such table")
	order(2, "out of stock")
	r = w.Changes(a, params{})
	expect(t, r.Severity == report.Error && len(r.Network.Failures) == 1 && r.Network.Failures[0].Count == 2 && r.Network.Failures[0].Detail == "out of stock", r)
	order(2, "out of stock")
	r = w.Changes(a, params{})
	expect(t, repeated(r) == "[{GET /api/orders/2 500: out of stock 1}]" && r.Network.StillFailing == 1, r)
	for _, again := range []bool{false, true} {
		for i := range 300 {
			order(3+i, "gone")
		}
		r = w.Changes(a, params{})
		expect(t, r.Severity == report.Error && r.TokenCount < 300, r)
		if again {
			expect(t, len(r.Network.Failures) == 0 && r.Network.StillFailing == 1 && repeated(r) == "[{GET /api/orders/{id} 500 300}]", r)
		} else {
			expect(t, len(r.Network.Failures) == 1 && r.Network.Failures[0].Count == 300 && len(r.Repeated) == 0, r)
		}
	}
}
