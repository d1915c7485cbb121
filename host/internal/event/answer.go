package event

import (
	"cmp"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/redact"
)

// MaxDetail bounds the detail of a failed answer, in characters.
const MaxDetail = 160

// interpret finds what a request's bodies say of it: its GraphQL operation, whether its answer lists GraphQL errors or refuses
// a connection of Socket.IO, and the detail of a failure. The bodies are masked already.
func (n *Network) interpret(r *redact.Redactor) {
	operations := operationsOf(n)
	n.Operation = joined(operations)
	errs, of := gjson.Result{}, 0
	if strings.Contains(n.ResponseBody, `"errors"`) {
		errs, of = graphQLErrors(n)
	}
	why, refused := connectRefusal(n.URL, n.ResponseBody)
	n.Refused = (errs.Exists() || refused) && n.Status > 0 && n.Status < 400
	if !n.Failed() || n.ResponseBody == "" {
		return
	}
	body := n.ResponseBody
	if isTurboStream(n.Mime, body) {
		body = failureIn(body)
	}
	var text, name string
	answer := gjson.Result{}
	switch {
	case errs.Exists():
		answer = errs.Get("0")
		text = answer.Get("message").Str // its path is that of the answer, which the operation says better
		if of < len(operations) && operations[of] != n.Operation {
			name = operations[of]
		}
	case refused:
		text = why
	default:
		text = detailOf(body)
		if trimmed := strings.TrimLeft(body, " \t\r\n"); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
			answer = gjson.Parse(trimmed)
		}
	}
	detail, _ := r.Text(text)
	n.Detail = withNotes(OneLine(Clean(detail)), name, thrownAt(answer, r))
}

// interpret checks the name of the request's GraphQL operation, or finds it in the address.
func (e *Request) interpret(r *redact.Redactor) {
	if _, masked := r.Text(e.Operation); masked > 0 || !areOperations(e.Operation) {
		e.Operation = joined(operationsOf(&Network{URL: e.URL}))
	}
}

var (
	operationName = lazyregexp.New(`^[_A-Za-z][_0-9A-Za-z]*$`)
	// namedOperation is the head of an operation in a GraphQL document (https://spec.graphql.org/October2021/#sec-Language.Operations).
	namedOperation = lazyregexp.New(`(?:^|[\s},])(?:query|mutation|subscription)\s+([_A-Za-z][_0-9A-Za-z]*)\s*[({@]`)
	anyOperation   = lazyregexp.New(`^(?:\s|#[^\n]*\n)*(?:\{|query\b|mutation\b|subscription\b|fragment\b)`)
)

// Writes reports whether a request asks a server to change something, by its method. A query of GraphQL is sent as a write, too.
func (n *Network) Writes() bool {
	switch n.Method {
	case "POST", "PUT", "PATCH", "DELETE":
		document := gjson.Get(n.RequestBody, "query").Str
		return !anyOperation().MatchString(document) || strings.Contains(document, "mutation")
	}
	return false
}

// maxOperation bounds the name of an operation, in bytes.
const maxOperation = 100

// isOperation reports whether a text is a name of GraphQL, and not too long for one.
func isOperation(s string) bool { return len(s) <= maxOperation && operationName().MatchString(s) }

// batched stands between the names of a batch's operations.
const batched = "+"

// joined returns the name of a request by those of its operations, which is that of the same batch in another order. It has the
// names for which there is room, and how many others there are.
func joined(operations []string) string {
	names := slices.Compact(slices.Sorted(slices.Values(operations)))
	if len(names) > 0 && names[0] == "" {
		names = names[1:]
	}
	name := ""
	for i, n := range names {
		if i > 0 && len(name)+len(n)+len("+9999") > maxOperation {
			return name + batched + strconv.Itoa(len(names)-i)
		}
		if i > 0 {
			name += batched
		}
		name += n
	}
	return name
}

// areOperations reports whether a text is what [joined] returns.
func areOperations(s string) bool {
	names := strings.Split(s, batched)
	for i, name := range names {
		if _, err := strconv.ParseUint(name, 10, 16); !isOperation(name) && (i == 0 || i < len(names)-1 || err != nil) {
			return false
		}
	}
	return len(s) <= maxOperation+len("+9999")
}

// maxBatch bounds how many operations of a batch are read.
const maxBatch = 1000

// operationsOf returns the names of a request's GraphQL operations, as GraphQL over HTTP sends them: in the body as JSON, or in the
// query of the address. An operation of a batch may have none.
func operationsOf(n *Network) (names []string) {
	body := strings.TrimLeft(n.RequestBody, " \t\r\n")
	graphQL := strings.Contains(body, `"query"`) || strings.Contains(body, `"operationName"`)
	if strings.HasPrefix(body, "[") && graphQL {
		gjson.Parse(body).ForEach(func(_, sent gjson.Result) bool {
			name := ""
			if sent.IsObject() {
				name = operationIn(sent)
			}
			names = append(names, name)
			return len(names) < maxBatch
		})
		return names
	}
	if isObject(body) && graphQL {
		return []string{operationIn(gjson.Parse(body))}
	}
	return []string{operationInURL(n.URL)}
}

// operationIn returns the name of the operation that an object asks for.
func operationIn(o gjson.Result) string {
	sent := gjson.GetMany(o.Raw, "operationName", "query", "extensions", "variables")
	if name := sent[0].Str; isOperation(name) && (sent[1].Exists() || sent[2].Exists() || sent[3].Exists()) {
		return name
	}
	return nameIn(sent[1].Str)
}

// operationInURL returns the name of the operation that the query of an address asks for.
func operationInURL(address string) string {
	_, query, ok := strings.Cut(address, "?")
	if !ok || !strings.Contains(query, "operationName=") && !strings.Contains(query, "query=") {
		return ""
	}
	values, _ := url.ParseQuery(query) // what cannot be parsed is left out
	if name := values.Get("operationName"); isOperation(name) && (values.Has("query") || values.Has("extensions") || values.Has("variables")) {
		return name
	}
	return nameIn(values.Get("query"))
}

// nameIn returns the name of the first named operation in a GraphQL document, "" if there is none.
func nameIn(document string) string {
	if m := namedOperation().FindStringSubmatch(document); m != nil && len(m[1]) <= maxOperation && anyOperation().MatchString(document) {
		return m[1]
	}
	return ""
}

// asksGraphQL reports whether a request is one of GraphQL, by its address or by what it sent, also where its operation has no name.
func asksGraphQL(n *Network) bool {
	path, query, _ := strings.Cut(n.URL, "?")
	if path = strings.TrimRight(path, "/"); strings.HasSuffix(path, "graphql") || strings.Contains(path, "/graphql/") || anyOperation().MatchString(gjson.Get(n.RequestBody, "query").Str) {
		return true
	}
	if !strings.Contains(query, "query=") && !strings.Contains(query, "persistedQuery") {
		return false
	}
	values, _ := url.ParseQuery(query) // what cannot be parsed is left out
	document := values.Get("query")
	return strings.Contains(document, "{") && anyOperation().MatchString(document) || gjson.Get(values.Get("extensions"), "persistedQuery").IsObject()
}

// graphQLErrors returns the errors of a GraphQL answer. The answer of any other API may have a list of that name, so the
// request must be one of GraphQL, or the answer must look like one of GraphQL
// (https://spec.graphql.org/October2021/#sec-Response). Of the answers to a batch it is the first that has errors, and which one
// that is.
func graphQLErrors(n *Network) (errs gjson.Result, of int) {
	asked := n.Operation != "" || asksGraphQL(n) || graphQLType().MatchString(n.Mime)
	errorsOf := func(answer gjson.Result) bool {
		list := answer.Get("errors")
		first := list.Get("0")
		typical := first.Get("path").Exists() || first.Get("locations").Exists() || first.Get("extensions").Exists()
		if list.IsArray() && first.Get("message").Type == gjson.String && (asked || answer.Get("data").Exists() && typical || isGraphQL(answer)) {
			errs = list
			return false
		}
		of++
		return true
	}
	body := strings.TrimLeft(n.ResponseBody, " \t\r\n")
	switch {
	case strings.HasPrefix(body, "{"):
		errorsOf(gjson.Parse(body))
	case strings.HasPrefix(body, "["):
		gjson.Parse(body).ForEach(func(_, answer gjson.Result) bool { return errorsOf(answer) })
	}
	return errs, of
}

// graphQLType matches the types of GraphQL answers (https://graphql.github.io/graphql-over-http/draft/#sec-Media-Types), the
// former one included.
var graphQLType = lazyregexp.New(`(?i)^application/graphql(?:-response)?\+json\b`)

// isGraphQL reports whether an answer has just the shape of one of GraphQL with errors.
func isGraphQL(answer gjson.Result) bool {
	errors, data := answer.Get("errors"), answer.Get("data")
	if !gjson.Valid(answer.Raw) || !errors.IsArray() || !data.IsObject() && (data.Type != gjson.Null || !data.Exists()) {
		return false
	}
	exact := true
	answer.ForEach(func(key, _ gjson.Result) bool {
		exact = key.Str == "errors" || key.Str == "data" || key.Str == "extensions"
		return exact
	})
	errors.ForEach(func(_, e gjson.Result) bool {
		exact = exact && e.Get("message").Type == gjson.String
		return exact
	})
	return exact
}

func isObject(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") }

// detailOf returns the line of a failed answer that says why it failed, "" if there is none.
func detailOf(body string) string {
	body = strings.TrimSpace(body)
	switch {
	case body == "":
		return ""
	case body[0] == '{':
		return objectDetail(gjson.Parse(body), 0)
	case body[0] == '[':
		return valueDetail(gjson.Parse(body), 0)
	case body[0] == '"':
		return gjson.Parse(body).Str
	case body[0] == '<':
		return cmp.Or(xmlDetail(body), pageDetail(body))
	}
	return textDetail(body)
}

// maxItems bounds how many items of a list are searched for a detail: the answer to a batch begins with those that succeeded.
const maxItems = 20

// maxDepth bounds how deep a detail is searched for.
const maxDepth = 8

// reasons are the members of an object that say why something failed, the most telling first: those of common APIs, and of
// RFC 9457 (detail, title), of OAuth (error_description, beside a mere code) and of superjson (json, around all others).
var reasons = []string{"message", "error_description", "error", "detail", "msg", "reason", "description", "title", "json"}

// exceptions are the members that name an exception, where the others have only the phrase of the status: those of Rails and
// Spring, and traces, whose first line has it.
var exceptions = []string{"exception", "trace", "stack"}

// wrapped is an exception as Ruby inspects it.
var wrapped = lazyregexp.New(`(?s)^#<([A-Z][\w:]*: .+)>$`)

// unwrapped returns an exception without what Ruby puts around it.
func unwrapped(text string) string {
	if m := wrapped().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// statusPhrase is what servers write in place of a reason, beside the phrases of HTTP.
var statusPhrase = lazyregexp.New(`(?i)^(?:(?:Http)?(?:Error|Exception): )?(?:server error|internal error|error|an? (?:unexpected|internal|unknown) error (?:has )?occur+ed|no message available)$`)

// isStatusPhrase reports whether a text says no more than a status does: "Internal Server Error", "404 Not Found".
func isStatusPhrase(text string) bool {
	text = strings.TrimRight(strings.TrimSpace(text), ".!")
	if code, phrase, ok := strings.Cut(text, " "); ok && len(code) == 3 && code[0] >= '4' && code[0] <= '5' {
		text = phrase
	}
	return StatusNamed(text) != 0 || statusPhrase().MatchString(text)
}

// StatusNamed returns the status of a failed request by its name as servers write it, such as "Not Found", in any case of
// letters; 0 for another text. The names are those of RFC 9110 and of what servers commonly add to it.
func StatusNamed(text string) int { return statuses[strings.ToLower(text)] }

var statuses = map[string]int{
	"bad request": 400, "unauthorized": 401, "payment required": 402, "forbidden": 403, "not found": 404, "method not allowed": 405, "not acceptable": 406,
	"request timeout": 408, "conflict": 409, "gone": 410, "length required": 411, "precondition failed": 412, "payload too large": 413, "content too large": 413,
	"request entity too large": 413, "uri too long": 414, "unsupported media type": 415, "i'm a teapot": 418, "misdirected request": 421,
	"unprocessable entity": 422, "unprocessable content": 422, "locked": 423, "failed dependency": 424, "too early": 425, "upgrade required": 426,
	"precondition required": 428, "too many requests": 429, "request header fields too large": 431, "unavailable for legal reasons": 451,
	"internal server error": 500, "not implemented": 501, "bad gateway": 502, "service unavailable": 503, "gateway timeout": 504,
	"http version not supported": 505, "insufficient storage": 507, "loop detected": 508, "network authentication required": 511,
}

// objectDetail returns what an object says went wrong. A list of errors by field follows the message.
func objectDetail(o gjson.Result, depth int) string {
	if depth > maxDepth {
		return ""
	}
	text, phrase := "", ""
	for _, name := range slices.Concat(reasons, exceptions) {
		v := o.Get(name)
		if v.IsArray() && (name == "trace" || name == "stack") {
			v = v.Get("0")
		}
		if field := name == "title" || name == "description"; field && v.IsArray() {
			continue // a list says what is wrong with the field of that name
		}
		if value := v.Get("value"); name == "message" && v.IsObject() && value.Type == gjson.String {
			v = value // OData, which has the language beside it
		}
		if text = unwrapped(valueDetail(v, depth+1)); text != "" && !isStatusPhrase(text) {
			break
		}
		phrase, text = cmp.Or(phrase, text), ""
		if phrase == "" && name == reasons[len(reasons)-1] {
			break // exceptions of an object that says nothing else are no answer
		}
	}
	text = cmp.Or(text, phrase)
	fields := errorsDetail(o.Get("errors"), depth+1)
	if fields == "" {
		fields = errorsDetail(o.Get("fieldErrors"), depth+1)
	}
	if fields == "" && text == "" {
		fields = cmp.Or(valueDetail(o.Get("issues"), depth+1), fieldDetail(o)) // Zod, others
	}
	switch {
	case text == "" || strings.Contains(fields, text):
		return fields
	case fields == "" || strings.Contains(text, fields):
		return text
	}
	return strings.TrimRight(text, ".: ") + ": " + fields
}

// errorsDetail returns what the errors of an object say. If they are by field, the first field is named, whatever its name.
func errorsDetail(v gjson.Result, depth int) string {
	if v.IsObject() && depth <= maxDepth {
		if text := fieldDetail(v); text != "" {
			return text
		}
	}
	text := valueDetail(v, depth)
	if v.IsObject() && depth <= maxDepth {
		v.ForEach(func(k, of gjson.Result) bool {
			if text != "" {
				return false
			}
			if text = valueDetail(of, depth+1); text != "" {
				text = k.Str + ": " + text
			}
			return true
		})
	}
	return text
}

// valueDetail returns what a member says: the first line of a text, the first item of a list that says something, or an object's
// own detail.
func valueDetail(v gjson.Result, depth int) string {
	switch {
	case depth > maxDepth:
		return ""
	case v.Type == gjson.String:
		return cmp.Or(textDetail(v.Str), strings.TrimSpace(v.Str))
	case v.IsArray():
		text, items := "", 0
		v.ForEach(func(_, item gjson.Result) bool {
			text = valueDetail(item, depth+1)
			if where := place(item); text != "" && where != "" && !strings.Contains(text, where) {
				text = where + ": " + text
			}
			items++
			return text == "" && items < maxItems
		})
		return text
	case v.IsObject():
		return objectDetail(v, depth+1)
	}
	return ""
}

// place returns the field that an item of a list of errors is about.
func place(item gjson.Result) string {
	for _, name := range []string{"loc", "field", "path", "param", "property", "pointer"} {
		switch v := item.Get(name); {
		case v.Type == gjson.String:
			return v.Str
		case v.IsArray():
			var parts []string
			v.ForEach(func(_, part gjson.Result) bool {
				parts = append(parts, part.String())
				return len(parts) < 8
			})
			return strings.Join(parts, ".")
		}
	}
	return ""
}

// fieldDetail returns the first member of an object of errors by field: {"email": ["is taken"]}.
func fieldDetail(o gjson.Result) (text string) {
	o.ForEach(func(k, v gjson.Result) bool {
		if first := v.Get("0"); v.IsArray() && first.Type == gjson.String && k.Str != "stack" && k.Str != "trace" {
			text = k.Str + ": " + strings.TrimSpace(first.Str)
		}
		return text == ""
	})
	return text
}

// xmlReasons find what an answer in XML says went wrong, the most telling first: the faults of SOAP 1.1 and 1.2, and the names
// of [reasons]. A name may have a prefix. The expressions are compiled when they are first needed: the hook starts often, and
// reads no answers.
var xmlReasons = sync.OnceValue(func() (list []*regexp.Regexp) {
	for _, name := range slices.Concat([]string{"faultstring", `Reason>\s*<(?:[\w.-]+:)?Text`}, reasons, exceptions) {
		list = append(list, regexp.MustCompile(`(?is)<(?:[\w.-]+:)?`+name+`(?:\s[^>]*)?>([^<]*|\s*<!\[CDATA\[.*?]]>\s*)</`))
	}
	return list
})

var (
	// startsHTML is how a page begins, or a part of one.
	startsHTML = lazyregexp.New(`(?i)^(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body|title|h1|p|pre|div|center)\b`)
	cdata      = lazyregexp.New(`(?s)<!\[CDATA\[(.*?)]]>`)
)

// xmlDetail returns what an answer in XML says went wrong, "" for a page.
func xmlDetail(body string) string {
	if startsHTML().MatchString(body) {
		return ""
	}
	phrase := ""
	for _, pattern := range xmlReasons() {
		found := pattern.FindStringSubmatch(body)
		if found == nil {
			continue
		}
		text := found[1]
		if raw := cdata().FindStringSubmatch(text); raw != nil {
			text = raw[1]
		} else {
			text = html.UnescapeString(text)
		}
		if text = unwrapped(textDetail(strings.TrimSpace(text))); text != "" && !isStatusPhrase(text) {
			return text
		}
		phrase = cmp.Or(phrase, text)
	}
	return phrase
}

// pages find the exception in the error pages of servers, by what surrounds it. They are compiled as [xmlReasons] are.
var pages = sync.OnceValue(func() (list []*regexp.Regexp) {
	for _, expr := range []string{
		`(?is)<pre class="exception_value">(.*?)</pre>`,                                                // Django
		`(?is)<h2 class="exception-message[^>]*>(.*?)</h2>|<div class="exception-message">(.*?)</div>`, // Rails, Symfony
		`(?is)<h1>[^<]*(?:Error|Exception)[^<]* in [^<]*</h1>.*?<h2[^>]*>(.*?)</h2>`,                   // Rails 7.0
		`(?is)<h1>([^<]*(?:Error|Exception)[^<]* in [^<]*)</h1>`,                                       // Rails
		`(?i)<b>(?:Fatal|Parse) error</b>:\s*([^\n<]+)`,                                                // PHP
		`(?is)There was an unexpected error[^<]*</div>\s*<div>([^<]+)</div>`,                           // Spring
		`(?is)(There was an unexpected error[^<]*)</`,                                                  // Spring
		`(?is)<title>([^<]*?)\s*// Werkzeug Debugger</title>`,                                          // Flask
		`(?is)<pre>(.*?)(?:<br\s*/?>|\n|</pre>)`,                                                       // Express, finalhandler
		`(?is)"err":\{"name":"[^"]*","source":"[^"]*","message":"((?:[^"\\]|\\.)*)"`,                   // Next.js
		`(?is)<title>([^<]*)</title>`,
		`(?is)<h1[^>]*>(.*?)</h1>`,
	} {
		list = append(list, regexp.MustCompile(expr))
	}
	return list
})

var tags = lazyregexp.New(`(?s)<[^>]*>`)

// djangoException finds the name of an exception in Django's error page, whose message may be a mere key.
var djangoException = lazyregexp.New(`<title>\s*(\w+)\s+at\s`)

// railsException is the first line of a Rails error page as text. The message follows.
var railsException = lazyregexp.New(`^[A-Z][\w:]* in [A-Z][\w:]*#\w+\s*\n\s*(\S[^\n]*)`)

func pageDetail(page string) string {
	for _, pattern := range pages() {
		for _, found := range pattern.FindAllStringSubmatch(page, 1) {
			for _, text := range found[1:] {
				if text = textDetail(strings.TrimSpace(html.UnescapeString(tags().ReplaceAllString(text, " ")))); text == "" {
					continue
				}
				if name := djangoException().FindStringSubmatch(page); name != nil && strings.HasPrefix(text, "'") {
					text = name[1] + ": " + text
				}
				return text
			}
		}
	}
	return ""
}

// textDetail returns the first line of a text that has letters. A Python traceback has its exception at the end.
func textDetail(text string) string {
	lines := strings.Split(text, "\n")
	if strings.HasPrefix(text, "Traceback (most recent call last)") {
		for i := len(lines) - 1; i > 0; i-- {
			if line := strings.TrimRight(lines[i], "\r"); line != "" && line[0] != ' ' {
				return line
			}
		}
	}
	if m := railsException().FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if strings.ContainsFunc(line, isLetter) {
			return line
		}
	}
	return ""
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 }

// shorten cuts a text to a number of characters, the last of which is an ellipsis then.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	return strings.TrimSpace(string(runes[:limit-1])) + "…"
}
