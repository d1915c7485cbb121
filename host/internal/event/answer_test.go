package event_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/redact"
)

// answered decodes a request with these bodies.
func answered(t *testing.T, status int, url, sent, answer string) *event.Network {
	t.Helper()
	raw := fmt.Sprintf(`{"kind":"network","at":1,"tab":1,"id":"1","method":"POST","url":%q,"resource":"fetch","status":%d,"started":1,"duration":1,"request_body":%s,"response_body":%s}`,
		url, status, gjson.AppendJSONString(nil, sent), gjson.AppendJSONString(nil, answer))
	ev, err := event.NewDecoder(redact.Default()).Decode(gjson.Parse(raw))
	if err != nil {
		t.Fatal(err)
	}
	return ev.(*event.Network)
}

func TestTheDetailOfAFailedAnswer(t *testing.T) {
	for _, c := range []struct{ from, body, want string }{
		{"nothing", "", ""},
		{"message", `{"message":"price must be positive"}`, "price must be positive"},
		{"Rails, as JSON", `{"status":500,"error":"Internal Server Error","exception":"#<NoMethodError: undefined method 'total' for nil>","traces":{"Application Trace":[{"exception_object_id":16,"id":1,"trace":"app/controllers/orders_controller.rb:7:in 'create'"}]}}`, "NoMethodError: undefined method 'total' for nil"},
		{"Spring without a message", `{"timestamp":"2026-11-26T10:00:00Z","status":500,"error":"Internal Server Error","message":"","exception":"java.lang.IllegalStateException","trace":"java.lang.IllegalStateException: no cart\n\tat shop.Cart.total(Cart.java:7)"}`, "java.lang.IllegalStateException"},
		{"Spring with a trace", `{"status":500,"error":"Internal Server Error","message":"No message available","trace":"java.lang.IllegalStateException: no cart\n\tat shop.Cart.total(Cart.java:7)"}`, "java.lang.IllegalStateException: no cart"},
		{"a stack beside a phrase", `{"statusCode":500,"message":"Internal server error","stack":["TypeError: order is undefined","    at total (cart.ts:7:3)"]}`, "TypeError: order is undefined"},
		{"a description beside a phrase", `{"error":"Bad Request","description":"qty must be positive"}`, "qty must be positive"},
		{"a phrase alone", `{"statusCode":404,"message":"Not Found"}`, "Not Found"},
		{"a phrase with its code", `{"error":"500 Internal Server Error","reason":"no such table: orders"}`, "no such table: orders"},
		{"a stack beside a message", `{"message":"no such order","stack":"Error: no such order\n    at find (orders.js:3:1)"}`, "no such order"},
		{"XML", `<?xml version="1.0"?><error><code>17</code><message>qty must be positive</message></error>`, "qty must be positive"},
		{"XML without a head", "<Error>\n  <Code>NoSuchKey</Code>\n  <Message>The specified key &quot;a&quot; does not exist.</Message>\n</Error>", `The specified key "a" does not exist.`},
		{"SOAP 1.1", `<?xml version='1.0'?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><soap:Fault><faultcode>soap:Client</faultcode><faultstring xml:lang="en">no such order</faultstring><detail><message>x</message></detail></soap:Fault></soap:Body></soap:Envelope>`, "no such order"},
		{"SOAP 1.2", `<env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope"><env:Body><env:Fault><env:Code><env:Value>env:Sender</env:Value></env:Code><env:Reason><env:Text xml:lang="en"><![CDATA[a < b]]></env:Text></env:Reason></env:Fault></env:Body></env:Envelope>`, "a < b"},
		{"problem details as XML", `<problem xmlns="urn:ietf:rfc:7807"><title>Bad Request</title><detail>qty must be positive</detail></problem>`, "qty must be positive"},
		{"Spring, as XML", `<Map><status>500</status><error>Internal Server Error</error><message>no cart</message></Map>`, "no cart"},
		{"XML with a phrase alone", `<hash><status>404</status><error>Not Found</error></hash>`, "Not Found"},
		{"error", `{"error":"no such order"}`, "no such order"},
		{"error object", `{"error":{"code":42,"message":"quota exceeded"}}`, "quota exceeded"},
		{"OAuth", `{"error":"invalid_grant","error_description":"the code has expired"}`, "the code has expired"},
		{"JSON:API", `{"errors":[{"status":"422","title":"Invalid","detail":"name is too short","source":{"pointer":"/data/name"}}]}`, "name is too short"},
		{"texts", `{"errors":["name is too short","x"]}`, "name is too short"},
		{"problem details", `{"type":"about:blank","title":"Not enough credit","status":403,"detail":"Your balance is 30, but that costs 50."}`, "Your balance is 30, but that costs 50."},
		{"title only", `{"title":"Not enough credit","status":403}`, "Not enough credit"},
		{"Laravel", `{"message":"The given data was invalid.","errors":{"email":["The email is taken."]}}`, "The given data was invalid: email: The email is taken."},
		{"NestJS", `{"statusCode":400,"message":["price must be a number","x"],"error":"Bad Request"}`, "price must be a number"},
		{"FastAPI", `{"detail":[{"loc":["body","price"],"msg":"field required","type":"value_error"}]}`, "body.price: field required"},
		{"Django REST", `{"email":["This field is required."]}`, "email: This field is required."},
		{"Rails, of a field with a common name", `{"errors":{"description":["can't be blank","is too short"]}}`, "description: can't be blank"},
		{"Rails, of a field named message", `{"errors":{"message":["can't be blank"]}}`, "message: can't be blank"},
		{"Django REST, of a field with a common name", `{"title":["This field is required."]}`, "title: This field is required."},
		{"of a secret field", `{"errors":{"password":["is too short (minimum is 8 characters)"]}}`, "password: is too short (minimum is 8 characters)"},
		{"Django REST, of a secret field", `{"password":["This password is too short."]}`, "password: This password is too short."},
		{"Laravel, of a secret field", `{"message":"The given data was invalid.","errors":{"password":["The password must be at least 8 characters."]}}`, "The given data was invalid: password: The password must be at least 8 characters."},
		{"of a secret field, with the secret", `{"message":"invalid","errors":{"password":["hunter is too short"]}}`, "invalid"},
		{"a text by field", `{"errors":{"email":"is taken"}}`, "email: is taken"},
		{"a text by secret field", `{"errors":{"token":"has expired"}}`, "token: has expired"},
		{"Mongoose", `{"errors":{"qty":{"name":"ValidatorError","message":"Path qty is required.","kind":"required"}}}`, "qty: Path qty is required."},
		{"Zod, flattened", `{"error":{"formErrors":[],"fieldErrors":{"password":["Required"]}}}`, "password: Required"},
		{"an object of errors with a code", `{"errors":{"code":"E42"},"message":"no"}`, "no: code: E42"},
		{"an object of errors", `{"errors":{"message":"no such order"}}`, "no such order"},
		{"Zod", `{"error":{"issues":[{"path":["qty"],"message":"Expected number"}],"name":"ZodError","message":"invalid"}}`, "invalid"},
		{"Zod, without a message", `{"success":false,"error":{"issues":[{"path":["qty"],"message":"Too small: expected number to be >=1"}]}}`, "qty: Too small: expected number to be >=1"},
		{"a batch of tRPC", `[{"result":{"data":1}},{"error":{"message":"seat 12A is taken","code":-32009,"data":{"code":"CONFLICT"}}}]`, "seat 12A is taken"},
		{"a message of several lines", `{"message":"\n\nfirst meaningful line\nsecond line"}`, "first meaningful line"},
		{"Rails 7.0", "<header>\n  <h1>\n    NoMethodError\n      in OrdersController#create\n  </h1>\n</header><div id=\"container\">\n  <h2>undefined method &#39;total&#39; for nil</h2>", "undefined method 'total' for nil"},
		{"Rails as text", "NoMethodError in OrdersController#create\n\nundefined method 'total' for nil\n\nRails.root: /app\n", "undefined method 'total' for nil"},
		{"Django, of a key", `<html><head><title>KeyError at /cart</title></head><body><pre class="exception_value">&#x27;cart_id&#x27;</pre>`, "KeyError: 'cart_id'"},
		{"PHP", "<br />\n<b>Fatal error</b>:  Uncaught TypeError: Unsupported operand types: string + int in /app/a.php:3\nStack trace:\n#0 {main}", "Uncaught TypeError: Unsupported operand types: string + int in /app/a.php:3"},
		{"express-validator", `{"errors":[{"msg":"Invalid value","param":"email"}]}`, "email: Invalid value"},
		{"tRPC with superjson", `{"error":{"json":{"message":"no such row","code":-32004,"data":{"code":"NOT_FOUND"}}}}`, "no such row"},
		{"OData", `{"error":{"code":"404","message":{"lang":"en-US","value":"No such order."}}}`, "No such order."},
		{"a list", `[{"message":"too long"}]`, "too long"},
		{"a text as JSON", `"out of stock"`, "out of stock"},
		{"cut JSON", `{"message":"cut","stack":["a","b`, "cut"},
		{"only a stack", `{"stack":["a","b"]}`, ""},
		{"Spring as JSON", `{"timestamp":"2026-01-01","status":500,"error":"Internal Server Error","path":"/a"}`, "Internal Server Error"},
		{"Express", "<!DOCTYPE html>\n<html><head><title>Error</title></head><body>\n<pre>TypeError: Cannot read properties of undefined (reading &#39;id&#39;)<br> &nbsp; &nbsp;at /app/server.js:13:9</pre></body></html>", "TypeError: Cannot read properties of undefined (reading 'id')"},
		{"Django", `<html><head><title>ZeroDivisionError at /</title></head><body><h1>ZeroDivisionError at /</h1><pre class="exception_value">division by zero</pre>`, "division by zero"},
		{"Rails", `<html><head><title>Action Controller: Exception caught</title></head><body><header><h1>NoMethodError in OrdersController#show</h1></header><h2 class="exception-message">undefined method &#39;total&#39; for nil</h2>`, "undefined method 'total' for nil"},
		{"Flask", `<html><head><title>KeyError: 'price' // Werkzeug Debugger</title></head>`, "KeyError: 'price'"},
		{"Spring", `<html><body><h1>Whitelabel Error Page</h1><p>This application has no explicit mapping</p><div>There was an unexpected error (type=Internal Server Error, status=500).</div><div>Index 3 out of bounds</div></body></html>`, "Index 3 out of bounds"},
		{"Go", "sql: no rows in result set\n", "sql: no rows in result set"},
		{"nginx", "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body></html>", "502 Bad Gateway"},
		{"Python", "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    1/0\nZeroDivisionError: division by zero\n", "ZeroDivisionError: division by zero"},
		{"Node", "\n\nError: boom\n    at f (a.js:1:1)\n", "Error: boom"},
		{"nested", `{"error":{"error":{"error":{"error":{"error":{"error":{"message":"deep"}}}}}}}`, ""},
	} {
		if got := answered(t, 500, "http://a.test/x", "", c.body).Detail; got != c.want {
			t.Errorf("%s: %q, want %q", c.from, got, c.want)
		}
	}
	long := answered(t, 500, "http://a.test/x", "", `{"message":"`+strings.Repeat("é", 400)+`"}`).Detail
	if n := len([]rune(long)); n != event.MaxDetail || !strings.HasSuffix(long, "…") {
		t.Errorf("%d characters: %s", n, long)
	}
	if got := answered(t, 500, "http://a.test/x", "", `{"message":"password=hunter2secret was refused"}`).Detail; strings.Contains(got, "hunter2secret") {
		t.Errorf("not masked: %s", got)
	}
	if got := answered(t, 200, "http://a.test/x", "", `{"message":"fine"}`).Detail; got != "" {
		t.Errorf("an answer that did not fail has a detail: %s", got)
	}
}

func TestWrites(t *testing.T) {
	for body, want := range map[string]bool{
		"": true, `{"qty":1}`: true, `{"query":"milk"}`: true, `{"operationName":"Add"}`: true,
		`{"query":"query Me { me { id } }"}`: false, `{"query":"{ me { id } }"}`: false, `{"query":"fragment F on T { id } mutation Add { add { ...F } }"}`: true,
	} {
		if n := (&event.Network{Method: "POST", RequestBody: body}); n.Writes() != want {
			t.Errorf("POST %s: %v", body, n.Writes())
		}
	}
	for method, want := range map[string]bool{"GET": false, "HEAD": false, "OPTIONS": false, "PUT": true, "PATCH": true, "DELETE": true} {
		if n := (&event.Network{Method: method}); n.Writes() != want {
			t.Errorf("%s: %v", method, n.Writes())
		}
	}
}

func TestGraphQLOperationsAndErrors(t *testing.T) {
	const refused = `{"data":null,"errors":[{"message":"no such order","path":["order"]}]}`
	for _, c := range []struct {
		what, url, sent, answer, operation string
		failed                             bool
	}{
		{"named", "http://a.test/graphql", `{"operationName":"Order","query":"query Order { order { id } }"}`, `{"data":{}}`, "Order", false},
		{"named in the document", "http://a.test/api", `{"query":"# a comment\nmutation  Pay($id: ID!) { pay(id: $id) }"}`, refused, "Pay", true},
		{"a fragment first", "http://a.test/api", `{"query":"fragment F on Order { id } query Order { order { ...F } }"}`, `{"data":{}}`, "Order", false},
		{"without a name", "http://a.test/graphql", `{"query":"{ order { id } }"}`, refused, "", true},
		{"a batch", "http://a.test/graphql", `[{"operationName":"A","query":"query A { a }"},{"operationName":"B","query":"query B { b }"}]`, `[{"data":{}}]`, "A+B", false},
		{"a batch of which one failed", "http://a.test/graphql", `[{"query":"query A { a }"},{"query":"mutation B { b }"}]`, `[{"data":{"a":1}},{"data":null,"errors":[{"message":"b is refused"}]}]`, "A+B", true},
		{"a batch of which one failed, by name alone", "http://a.test/graphql", `[{"operationName":"A","variables":{}},{"operationName":"B","variables":{}}]`, `[{"data":{"a":1}},{"errors":[{"message":"b is refused"}]}]`, "A+B", true},
		{"a batch of which one without a name failed", "http://a.test/graphql", `[{"query":"query A { a }"},{"query":"{ b }"}]`, `[{"data":{"a":1}},{"errors":[{"message":"b is refused"}]}]`, "A", true},
		{"a batch in another order", "http://a.test/graphql", `[{"query":"query B { b }"},{"query":"query A { a }"},{"query":"query B { b }"}]`, `[{"data":{}}]`, "A+B", false},
		{"a batch of one operation", "http://a.test/graphql", `[{"query":"query A { a }"},{"query":"query A { a }"}]`, `[{"data":{}}]`, "A", false},
		{"another API's lists", "http://a.test/rows", "", `[{"errors":[{"message":"row 2 is empty"}]}]`, "", false},
		{"persisted", "http://a.test/graphql?operationName=Order&extensions=%7B%7D", "", `{"data":{}}`, "Order", false},
		{"by GET, named in the document", "http://a.test/graphql?query=query%20ByGet%7B%20order%20%7B%20id%20%7D%20%7D", "", `{"data":{}}`, "ByGet", false},
		{"by GET, refused without data", "http://a.test/api?query=query%20ByGet%7B%20order%20%7B%20id%20%7D%20%7D", "", `{"errors":[{"message":"no such order"}]}`, "ByGet", true},
		{"by GET, refused without data or a name", "http://a.test/api?query=%7B%20order%20%7B%20id%20%7D%20%7D", "", `{"errors":[{"message":"no such order"}]}`, "", true},
		{"by GET, the document after variables", "http://a.test/api?variables=%7B%7D&query=%0A++query+ByGet(%24id%3A+ID!)+%7B+order(id%3A+%24id)+%7B+id+%7D+%7D%0A", "", `{"errors":[{"message":"no such order"}]}`, "ByGet", true},
		{"by GET, persisted without a name", "http://a.test/api?extensions=%7B%22persistedQuery%22%3A%7B%22version%22%3A1%2C%22sha256Hash%22%3A%22a1%22%7D%7D", "", `{"errors":[{"message":"PersistedQueryNotFound"}]}`, "", true},
		{"a version of an endpoint", "http://a.test/graphql/v2", "", `{"errors":[{"message":"no such order"}]}`, "", true},
		{"another API's GET with errors", "http://a.test/search?query=query+of+a+user", "", `{"errors":[{"message":"row 2 is empty"}]}`, "", false},
		{"another API's page about GraphQL", "http://a.test/docs/graphql-errors", "", `{"errors":[{"message":"row 2 is empty"}]}`, "", false},
		{"another API's GET", "http://a.test/search?query=query+of+a+user", "", `{"hits":[]}`, "", false},
		{"errors that are empty", "http://a.test/graphql", `{"query":"{ order { id } }"}`, `{"data":{},"errors":[]}`, "", false},
		{"partial data", "http://a.test/gateway", "", `{"data":{"a":1},"errors":[{"message":"b failed","locations":[{"line":1,"column":1}]}]}`, "", true},
		{"another API's list", "http://a.test/validate", `{"rows":3}`, `{"errors":[{"message":"row 2 is empty"}],"rows":3}`, "", false},
		{"another API's query", "http://a.test/search", `{"query":"query of a user"}`, `{"hits":[]}`, "", false},
		{"a hostile name", "http://a.test/graphql", "{\"operationName\":\"x\\n- button\",\"query\":\"{ a }\"}", `{"data":{}}`, "", false},
	} {
		n := answered(t, 200, c.url, c.sent, c.answer)
		if n.Operation != c.operation || n.Failed() != c.failed {
			t.Errorf("%s: operation %q, failed %v", c.what, n.Operation, n.Failed())
		}
		if c.failed && n.Detail == "" {
			t.Errorf("%s: no detail", c.what)
		}
	}
}

// TestAGraphQLAnswerIsKnownWithoutItsQuery: the body of the request is not known, or it has none.
func TestAGraphQLAnswerIsKnownWithoutItsQuery(t *testing.T) {
	for _, c := range []struct {
		mime, answer string
		detail       string // "" for no failure
	}{
		{"application/json", `{"data":null,"errors":[{"message":"no such field"}]}`, "no such field"},
		{"application/json", `{"errors":[{"message":"no such field"}],"data":{"a":1},"extensions":{"cost":1}}`, "no such field"},
		{"application/json", `[{"data":{"a":1}},{"data":null,"errors":[{"message":"no such field"}]}]`, "no such field"},
		{"application/graphql-response+json; charset=utf-8", `{"data":null,"errors":[{"message":"no such field"}]}`, "no such field"},
		{"application/graphql-response+json", `{"errors":[{"message":"no such field"}]}`, "no such field"},
		{"application/graphql+json", `{"errors":[{"message":"no such field"}]}`, "no such field"},
		{"application/graphql-response+json", `{"data":{"a":1}}`, ""},
		{"application/json", `{"errors":[{"message":"no such field"}]}`, ""},
		{"application/json", `{"data":null,"errors":[]}`, ""},
		{"application/json", `{"data":null,"errors":["no such field"]}`, ""},
		{"application/json", `{"data":null,"errors":[{"message":"no such field"},{"row":2}]}`, ""},
		{"application/json", `{"data":[1],"errors":[{"message":"row 2 is empty"}]}`, ""},
		{"application/json", `{"data":null,"errors":[{"message":"row 2 is empty"}],"rows":3}`, ""},
		{"application/json", `{"data":null,"errors":[{"message":"cut`, ""},
	} {
		raw := fmt.Sprintf(`{"kind":"network","at":1,"tab":1,"id":"1","method":"GET","url":"http://a.test/api/gateway","resource":"fetch","status":200,"started":1,"duration":1,"mime":%q,"response_body":%s}`,
			c.mime, gjson.AppendJSONString(nil, c.answer))
		ev, err := event.NewDecoder(redact.Default()).Decode(gjson.Parse(raw))
		if err != nil {
			t.Fatal(err)
		}
		if n := ev.(*event.Network); n.Failed() != (c.detail != "") || n.Detail != c.detail {
			t.Errorf("%s as %s: failed %v, %q", c.answer, c.mime, n.Failed(), n.Detail)
		}
	}
}

// TestADetailNamesTheServersCode where the answer of a development server has a stack.
func TestADetailNamesTheServersCode(t *testing.T) {
	const own, library = `    at Object.myTrips (/app/server/src/resolvers.js:89:51)`, `    at field.resolve (/app/server/node_modules/@apollo/server/a.js:41:28)`
	quoted := func(lines ...string) string { return string(gjson.AppendJSONString(nil, strings.Join(lines, "\n"))) }
	list := func(lines ...string) string {
		for i, l := range lines {
			lines[i] = quoted(l)
		}
		return "[" + strings.Join(lines, ",") + "]"
	}
	graphQL := func(extensions string) string {
		return `{"data":null,"errors":[{"message":"no ids","path":["me"],"extensions":` + extensions + `}]}`
	}
	for _, c := range []struct{ from, body, want string }{
		{"Apollo 4", graphQL(`{"stacktrace":` + list("TypeError: no ids", library, own) + `}`), "no ids (resolvers.js:89)"},
		{"Apollo 3", graphQL(`{"exception":{"stacktrace":` + list("TypeError: no ids", own, library) + `}}`), "no ids (resolvers.js:89)"},
		{"a text", `{"message":"no ids","stack":` + quoted("Error: no ids", library, own) + `}`, "no ids (resolvers.js:89)"},
		{"an error object", `{"error":{"message":"no ids","stack":` + quoted("Error: no ids", own) + `}}`, "no ids (resolvers.js:89)"},
		{"tRPC", `[{"result":{"data":1}},{"error":{"message":"no ids","data":{"stack":` + quoted("Error: no ids", own) + `}}}]`, "no ids (resolvers.js:89)"},
		{"async, as a URL", `{"message":"no ids","stack":` + quoted("Error", "    at async file:///app/src/(group)/[id]/page.server.ts?t=17:7:3") + `}`, "no ids (page.server.ts:7)"},
		{"Windows", `{"message":"no ids","stack":` + quoted("Error", `    at run (C:\app\src\data.ts:7:3)`) + `}`, "no ids (data.ts:7)"},
		{"libraries alone", `{"message":"no ids","stack":` + quoted("Error: no ids", library, "    at node:internal/process/task_queues:95:5", "    at async Promise.all (index 0)", "    at eval (webpack-internal:///(rsc)/./src/a.ts:3:4)", "    at x (/app/.next/server/chunks/1.js:3:4)", "    at native") + `}`, "no ids"},
		{"a place that the message has", `{"message":"no ids (resolvers.js:89)","stack":` + quoted("Error", own) + `}`, "no ids (resolvers.js:89)"},
		{"a hostile name", `{"message":"no ids","stack":` + quoted("Error", "    at x (/app/a) - button [e1] b.js:3:4)") + `}`, "no ids"},
		{"a secret as a name", `{"message":"no ids","stack":` + quoted("Error", "    at x (/app/ghp_16C7e42F292c6912E7710c838347Ae178B4a.js:3:4)") + `}`, "no ids"},
		{"a stack alone", `{"stack":` + quoted("Error: no ids", own) + `}`, ""},
	} {
		n := answered(t, 500, "http://a.test/graphql", "", c.body)
		if n.Detail != c.want {
			t.Errorf("%s: %q, want %q", c.from, n.Detail, c.want)
		}
	}
	long := answered(t, 500, "http://a.test/x", "", `{"message":"`+strings.Repeat("é", 400)+`","stack":`+quoted("Error", own)+`}`)
	if n := len([]rune(long.Detail)); n != event.MaxDetail || !strings.HasSuffix(long.Detail, "… (resolvers.js:89)") {
		t.Errorf("%d characters: %s", n, long.Detail)
	}
	if text, added := long.Said(); added != " (resolvers.js:89)" || text+added != long.Detail {
		t.Errorf("%q and %q", text, added)
	}
}

// TestTheNameOfABatchIsStable: which of its operations failed is in the detail.
func TestTheNameOfABatchIsStable(t *testing.T) {
	const sent = `[{"query":"query B1 { a }"},{"query":"query B2 { a }"}]`
	fine := answered(t, 200, "http://a.test/graphql", sent, `[{"data":{"a":1}},{"data":{"a":1}}]`)
	failed := answered(t, 200, "http://a.test/graphql", sent, `[{"data":{"a":1}},{"errors":[{"message":"no such row","extensions":{"stacktrace":["Error","    at a (/app/rows.js:7:1)"]}}]}]`)
	if fine.Operation != "B1+B2" || failed.Operation != fine.Operation || failed.Detail != "no such row (B2, rows.js:7)" {
		t.Errorf("%q, %q: %q", fine.Operation, failed.Operation, failed.Detail)
	}
	if text, _ := failed.Said(); text != "no such row" {
		t.Errorf("said %q", text)
	}
	alone := answered(t, 200, "http://a.test/graphql", sent, `[{"data":{"a":1}},{"errors":[{"message":"no such row"}]}]`)
	if text, added := alone.Said(); text != "no such row" || added != " (B2)" {
		t.Errorf("said %q and %q", text, added)
	}
	other := answered(t, 500, "http://a.test/rows", "", `{"message":"no such row (B2)"}`)
	if text, _ := other.Said(); text != other.Detail {
		t.Errorf("said %q", text)
	}
}

// FuzzAnswers: whatever bodies hold, a detail is one clean line of bounded length.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{`{"message":"a"}`, `{"errors":[{"message":"\u001b[31m"}]}`, "<pre>a<br>", "[[[[", `{"error":{"errors":{}}}`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, sent, answer string) {
		n := answered(t, 500, "http://a.test/graphql", sent, answer)
		if len([]rune(n.Detail)) > event.MaxDetail || n.Detail != event.OneLine(event.Clean(n.Detail)) {
			t.Errorf("%q", n.Detail)
		}
	})
}

func TestARefusedConnectionOfSocketIO(t *testing.T) {
	const poll, socket = "http://localhost:3000/socket.io/?EIO=4&transport=polling&t=p1&sid=abc", "ws://localhost:3000/socket.io/?EIO=4&transport=websocket"
	for _, c := range []struct{ url, answer, want string }{
		{poll, `44{"message":"token expired"}`, "token expired"},
		{poll, `44{"message":"token expired","data":{"content":"try again"}}`, "token expired"},
		{poll, `44/admin,{"message":"not for you"}`, "not for you"},
		{strings.Replace(poll, "EIO=4", "EIO=3", 1), `17:44"no such user"`, "no such user"},
		{poll, `40{"sid":"x"}`, ""},
		{poll, `42["chat","44{\"message\":\"no\"}"]`, ""},
		{poll, `44`, ""},
		{poll, `44{}`, ""},
		{"http://localhost:3000/api/code", `44{"message":"token expired"}`, ""},
	} {
		n := answered(t, 200, c.url, "", c.answer)
		if n.Detail != c.want || n.Failed() != (c.want != "") {
			t.Errorf("%s: %v %q", c.answer, n.Failed(), n.Detail)
		}
		raw := fmt.Sprintf(`{"kind":"websocket","at":1,"tab":1,"id":"1","url":%q,"op":"received","text":%s}`, strings.Replace(c.url, poll, socket, 1), gjson.AppendJSONString(nil, c.answer))
		ev, err := event.NewDecoder(redact.Default()).Decode(gjson.Parse(raw))
		if err != nil {
			t.Fatal(err)
		}
		if ev.(*event.WebSocket).Bad != (c.want != "") {
			t.Errorf("the frame %s", c.answer)
		}
	}
}
