package alike

import (
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// WithoutStamps removes the time stamps that a development server adds to the addresses of edited files.
func WithoutStamps(text string) string {
	if strings.IndexByte(text, '=') < 0 || !strings.Contains(text, "?t=") && !strings.Contains(text, "&t=") {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, "t=")
		if i < 0 {
			break
		}
		digits := digitsLen(text[i+2:])
		if digits >= 10 && i > 0 && (text[i-1] == '?' || text[i-1] == '&') {
			b.WriteString(text[:i-1])
		} else {
			b.WriteString(text[:i+2+digits])
		}
		text = text[i+2+digits:]
	}
	b.WriteString(text)
	return b.String()
}

// busters are the names of parameters that only keep answers from being cached, or name a connection.
var busters = []string{"_", "t", "ts", "sid", "cb", "rnd", "rand", "random", "nonce", "nocache", "cachebust", "cachebuster", "timestamp"}

// minBuster is how long the value of such a parameter is at least, in bytes.
const minBuster = 6

// IsBuster reports whether a part of a query (name=value) only keeps answers from being cached: a time in digits, or a
// parameter of such a name.
func IsBuster(part string) bool {
	name, value, _ := strings.Cut(part, "=")
	return len(value) >= 10 && digitsLen(value) == len(value) || len(value) >= minBuster && slices.Contains(busters, strings.ToLower(name))
}

// WithoutBusters removes such parts from the addresses in a text.
func WithoutBusters(text string) string {
	if !strings.ContainsAny(text, "?&") {
		return text
	}
	var b strings.Builder
	for {
		i := strings.IndexAny(text, "?&")
		if i < 0 {
			break
		}
		part := text[i+1:]
		if end := strings.IndexAny(part, "?&#:;,'\"`()<> \n\t"); end >= 0 {
			part = part[:end]
		}
		b.WriteString(text[:i])
		if !IsBuster(part) {
			b.WriteString(text[i : i+1+len(part)])
		}
		text = text[i+1+len(part):]
	}
	b.WriteString(text)
	return b.String()
}

// Query folds what changes each time that a request is made again.
func Query(query string) string {
	parts := strings.Split(query, "&")
	return Fingerprint(strings.Join(slices.DeleteFunc(parts, IsBuster), "&"))
}

// prefixes of errors that say only how they were reported.
var reportPrefixes = []string{
	"Uncaught (in promise) ", "Uncaught ", "ERROR ", "Warning: ",
	"Error handled by React Router default ErrorBoundary: ", "React Router caught the following error during render ",
}

// stackFrame begins each line of a stack in a message.
const stackFrame = "\n    at "

// boundaryNote begins what React adds to an error that a boundary caught.
const boundaryNote = "\n\nThe above error occurred in "

// componentParts begin what React adds about one component to a warning that it logs for each.
var componentParts = []string{stackFrame, "\n    in ", "Check the render method of ", "Check the top-level render call using ", "Check your code at "}

// keyWarnings begin warnings that a framework logs for each key that two elements of a list share.
var keyWarnings = []string{"Encountered two children with the same key, ", "[Vue warn]: Duplicate keys found during update: "}

// Text is what two messages have in common that are one entry. It is equal for an error and the line that logs it,
// for a warning of React about several components, and for one about several keys.
func Text(e *event.Console) string { return Fingerprint(saidBy(e).common) }

// saying is what a message says.
type saying struct {
	whole  string
	common string // the part of it that [Text] is about
	// component is true where whole ends with the component of the project that a warning of React is about.
	component bool
}

func saidBy(e *event.Console) saying {
	s := saying{whole: WithoutStamps(e.Text)}
	text := s.whole
	for _, p := range reportPrefixes {
		if has(text, p) {
			text = text[len(p):]
		}
	}
	component := ""
	if strings.HasPrefix(e.Text, "Warning: ") || strings.Contains(text, "/link/") && (strings.Contains(text, "react.dev/link/") || strings.Contains(text, "reactjs.org/link/")) {
		if frames := Frames(s.whole); len(frames) > 0 {
			name, _, _ := strings.Cut(frames[0], " (") // its line moves with each edit above
			before, _, _ := strings.Cut(s.whole, stackFrame)
			s.component, component = true, stackFrame+name
			s.whole = before + component
		}
		for _, part := range componentParts {
			text, _, _ = strings.Cut(text, part)
		}
		text = strings.TrimSpace(text)
	} else if e.Level == event.Error && strings.IndexByte(text, '\n') >= 0 {
		text, _, _ = strings.Cut(text, stackFrame)
		text, _, _ = strings.Cut(text, boundaryNote)
	}
	for _, p := range keyWarnings {
		if has(text, p) {
			text, s.whole = p, p+component
		}
	}
	s.common = text
	return s
}

// echoes begin the lines that frameworks log about an error that was reported by itself.
var echoes = []string{
	"The above error occurred in ", "An error occurred in the <", "React will try to recreate this component tree",
	"Consider adding an error boundary", "[Vue warn]: Unhandled error during execution of ",
}

// IsEcho reports whether a message only says that there was an error: a framework logs it after, or just before, the
// error itself.
func IsEcho(e *event.Console) bool {
	return begins(e.Text, echoes)
}

// IsReported reports whether an error is one that a framework may log an echo of: nothing caught it, or the framework logged it.
func IsReported(e *event.Console) bool {
	_, forever := SaysRendersForever(e.Text)
	return e.IsUncaught() || e.Level == event.Error && (e.Logged != "" || forever)
}

// recursive begins what Vue logs about a component that is rendered without end.
const recursive = "Maximum recursive updates exceeded"

// SaysRendersForever reports whether a message is about a component of Vue that is rendered without end, and returns its name,
// "" if it has none.
func SaysRendersForever(text string) (component string, says bool) {
	rest, says := strings.CutPrefix(strings.TrimPrefix(text, "[Vue warn]: "), recursive)
	if name, ok := strings.CutPrefix(rest, " in component <"); ok && says {
		component, _, _ = strings.Cut(name, ">")
	}
	return component, says
}

// mismatches begin the warnings of React that name what differs between the server's markup and the client's.
var mismatches = []string{
	"Text content did not match. ", "Expected server HTML to contain ", "Did not expect server HTML to contain ", "Prop `", "Extra attributes from the server: ",
}

// hydrations begin what React throws and logs after such a warning.
var hydrations = []string{
	"There was an error while hydrating", "Hydration failed because the initial UI", "Text content does not match server-rendered HTML",
	"An error occurred during hydration. ", "This Suspense boundary received an update before it finished hydrating",
}

// NamesMismatch reports whether a message names what differs between the server's markup and the client's.
func NamesMismatch(e *event.Console) bool {
	text, ok := strings.CutPrefix(e.Text, "Warning: ")
	return ok && begins(text, mismatches) &&
		(!strings.HasPrefix(text, "Prop `") || strings.Contains(text, "did not match. Server: "))
}

// SaysHydrationFailed reports whether a message says only that the two differ, or what React did then.
func SaysHydrationFailed(e *event.Console) bool {
	return begins(Bare(e.Text), hydrations)
}

// fetchFailures are messages that say that a request failed, and nothing else. Those that end with a space go on with the
// status.
var fetchFailures = []string{
	"Request failed with status code ", "Response not successful: Received status code ", "HTTP error! status: ", "HTTP error ", "HTTP ",
	"Response Status Error Code ", "htmx:sendError", "htmx:afterRequest", // htmx logs the last one as an error of a request without an answer
	"Failed to fetch", "Network Error", "NetworkError when attempting to fetch resource.", "Load failed", "fetch failed",
}

// bareErrors are the names of errors that those messages may follow.
var bareErrors = []string{"AxiosError: ", "AxiosError {message: '", "CombinedError: [Network] ", "TypeError: ", "Error: ", "ApolloError: ", "NetworkError: ", "HTTPError: ", "ServerError: "}

// beforeMessage is what a message may follow.
var beforeMessage = slices.Concat(reportPrefixes, bareErrors)

// Bare returns a text without how it was reported, and without the names of errors that say nothing.
func Bare(text string) string {
	for _, p := range beforeMessage {
		if has(text, p) {
			text = text[len(p):]
		}
	}
	return text
}

// maxClass bounds the name of an error's class, in bytes.
const maxClass = 48

// Unnamed is [Bare] for an error of any class: _HttpError, CombinedGraphQLErrors.
func Unnamed(text string) string {
	text = Bare(text)
	name, _, ok := strings.Cut(text[:min(len(text), maxClass)], ": ")
	if !ok || !strings.Contains(name, "Error") && !strings.HasSuffix(name, "Exception") {
		return text
	}
	for i := range len(name) {
		if !isWord(name[i]) && name[i] != '$' {
			return text
		}
	}
	return strings.TrimPrefix(text[len(name)+2:], "[GraphQL] ") // as urql has it
}

// has is [strings.HasPrefix] for a prefix that is rarely there: it looks at one byte first.
func has(text, prefix string) bool {
	return len(text) >= len(prefix) && text[0] == prefix[0] && text[:len(prefix)] == prefix
}

// begins reports whether a text begins with one of some prefixes.
func begins(text string, prefixes []string) bool {
	for _, p := range prefixes {
		if has(text, p) {
			return true
		}
	}
	return false
}

// loggedEvent begins a preview of an event, of which errorEvent is part where a connection failed. Quiet capture reads no
// getters: its whole preview of any event is anyEvent.
const loggedEvent, errorEvent, anyEvent = "Event {", "type: 'error', target: WebSocket", "isTrusted: (...)}"

// LogsSocketError reports whether a message quotes nothing but the event of a connection that failed, and what it says before.
func LogsSocketError(text string) (says string, logs bool) {
	says, preview, ok := strings.Cut(text, loggedEvent)
	if !ok || preview != anyEvent && !strings.Contains(preview, errorEvent) {
		return "", false
	}
	return strings.TrimRight(says, " :"), true
}

// SaysRequestFailed reports whether a message says nothing but that a request failed, and with which status; 0 for none.
func SaysRequestFailed(text string) (status int, says bool) {
	if status = namedStatus(text); status != 0 {
		return status, true
	}
	bare := Bare(text)
	for _, p := range fetchFailures {
		if !has(bare, p) {
			continue
		}
		rest, _, _ := strings.Cut(bare[len(p):], "\n")
		if !strings.HasSuffix(p, " ") {
			if strings.TrimRight(rest, ".") == "" {
				return 0, true
			}
		} else if n := digitsLen(rest); n == 3 && (len(rest) == n || !isWord(rest[n])) {
			status, _ = strconv.Atoi(rest[:n]) // three digits
			return status, true
		}
	}
	return 0, false
}

// QuotedFailure returns where a line quotes an error that says nothing but that a request failed; its length if it quotes none.
func QuotedFailure(line string) int {
	n := len(line)
	if !strings.HasSuffix(line, "Failed to fetch") && (n < 4 || line[n-4] != ' ' || digitsLen(line[n-3:]) != 3) {
		return n
	}
	i := strings.Index(line, anyError)
	if i < 0 {
		return n
	}
	return strings.LastIndexByte(line[:i], ' ') + 1
}

// BeforeError returns what a line says before an error, without the name of that error's class.
func BeforeError(line string) string {
	line = strings.TrimRight(line, " ")
	if strings.HasSuffix(line, strings.TrimRight(anyError, " ")) {
		line = line[:strings.LastIndexByte(line, ' ')+1]
	}
	return strings.TrimRight(line, " :-–")
}

// FailedAddress is the address that a log entry of the browser tells of as failed: one of a request, or of an element
// that could not load what it shows.
func FailedAddress(e *event.Console) (url string, ok bool) {
	if e.Via != "browser" || e.Level != event.Error {
		return "", false
	}
	if e.Category == "network" {
		return e.URL, true
	}
	rest, ok := strings.CutPrefix(e.Text, "Failed to load <")
	if !ok {
		return "", false
	}
	_, url, ok = strings.Cut(rest, "> ")
	return url, ok
}

// namedStatuses begin errors of libraries that may be only the name of a status: of react-admin, of urql, and of superagent,
// which its stack names.
var namedStatuses = []string{"HttpError: ", "CombinedError: ", anyError}

const anyError = "Error: "

// namedStatus returns the status of which an error of a library is only the name. It is 0 for any other message.
func namedStatus(text string) int {
	for _, p := range reportPrefixes {
		if has(text, p) {
			text = text[len(p):]
		}
	}
	for _, class := range namedStatuses {
		if !has(text, class) {
			continue
		}
		name, stack, _ := strings.Cut(text[len(class):], "\n")
		if class == anyError && !strings.Contains(stack, "superagent") {
			return 0
		}
		return event.StatusNamed(strings.TrimPrefix(name, "[Network] "))
	}
	return 0
}

// Said returns what an error says, without the name of its class and without a stack: a failed answer's detail, if the
// error was made of it.
func Said(text string) string {
	text, _, _ = strings.Cut(Unnamed(text), stackFrame)
	return event.OneLine(strings.TrimSpace(text))
}

// failedImport begins what Chromium throws about a module that could not be loaded. The address follows.
const failedImport = "Failed to fetch dynamically imported module: "

// FailedImport returns the address of the module that could not be imported while the page ran, "" for any other message. The text
// is that of the error as [Unnamed] returns it.
func FailedImport(text string) string {
	url, ok := strings.CutPrefix(text, failedImport)
	if !ok {
		return ""
	}
	url, _, _ = strings.Cut(url, "\n")
	return strings.TrimSpace(url)
}

// angularFailure begins the message of Angular's HttpErrorResponse, kyFailure that of ky's HTTPError. Both name the address.
const angularFailure, kyFailure = "Http failure response for ", "Request failed with "

// NamedRequest returns the address of the failed request that an error names: a response or an HttpErrorResponse that was
// thrown or logged, a module that could not be imported, or an error of ofetch or ky. The address may be without an origin. It
// is "" for any other message. The text is that of the error as [Unnamed] returns it.
func NamedRequest(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	if url := FailedImport(first); url != "" {
		return url
	}
	if rest, ok := strings.CutPrefix(first, angularFailure); ok {
		url, _, _ := strings.Cut(rest, ": ")
		return url
	}
	if strings.HasPrefix(first, kyFailure) {
		_, url, _ := strings.Cut(first[strings.LastIndex(first, ": ")+1:], " ")
		if _, url, _ = strings.Cut(url, " "); strings.Contains(url, "://") {
			return url
		}
		return ""
	}
	if has(first, "[") { // [GET] "/api/items": 500
		_, rest, _ := strings.Cut(first, "] \"")
		url, _, ok := strings.Cut(rest, "\": ")
		if !ok {
			return ""
		}
		return url
	}
	class, _, ok := strings.Cut(text[:min(len(text), maxClass)], " {")
	if !ok || !strings.HasSuffix(class, "Response") || strings.ContainsAny(class, " \n") {
		return ""
	}
	preview := text[len(class)+2:]
	_, url, _ := strings.Cut(preview, "url: '")
	url, _, ok = strings.Cut(url, "'")
	if !ok {
		return "" // the preview was cut within it
	}
	return url
}

// Frames returns the lines of a stack in a message, such as that of the components that a warning of React is about.
func Frames(text string) []string {
	lines := strings.Split(text, stackFrame)[1:]
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, "\n")
	}
	return lines
}

// abortedFetch begins what a page's code says of a request that ended because the page was left.
var abortedFetch = []string{"Failed to fetch", "Network Error", "NetworkError", "Load failed", "AbortError", "The user aborted a request", "Request aborted", "canceled", "signal is aborted"}

// SaysAborted reports whether an error is about a request that was given up.
func SaysAborted(e *event.Console) bool {
	return e.Level == event.Error && slices.ContainsFunc(abortedFetch, func(p string) bool { return strings.Contains(e.Text, p) })
}

// FailedModule is the selector of a document's module scripts that did not load.
const FailedModule = "script[type=module]"

// overlays are the selectors of what shows that a page is broken: development servers' error overlays, and scripts.
var overlays = []string{
	FailedModule, viteOverlay, "nextjs-portal", "#webpack-dev-server-client-overlay", "#rspack-dev-server-client-overlay",
	refreshOverlay, "rsbuild-error-overlay", "parcel-error-overlay", "#__parcel__error__overlay__", "nuxt-error-overlay",
}

// IsOverlay reports whether a selector is that of a development server's error overlay, or of a module script that did not load.
func IsOverlay(selector string) bool { return slices.Contains(overlays, selector) }

// refreshOverlay is the overlay that React Refresh shows besides that of the development server.
const refreshOverlay = "#react-refresh-overlay"

// SameOverlay reports whether an overlay shows no more than another one: React Refresh shows what the development server's own
// overlay shows, and Next.js finds the place of an error after it has shown the error.
func SameOverlay(selector, text, other, otherText string) bool {
	if selector == other {
		message, at := CutOverlay(otherText)
		return at.File != "" && message == text
	}
	if selector != refreshOverlay || other == refreshOverlay {
		return false
	}
	if begins(text, []string{"Failed to compile"}) {
		return !begins(otherText, []string{"Uncaught runtime errors"})
	}
	_, said, _ := strings.Cut(text, " ") // after the name of the error
	said, _, _ = strings.Cut(said, " Call Stack")
	return len(said) >= minOverlayText && strings.Contains(otherText, said)
}

// buildLogs begin what the client of a development server logs of a build that failed. It shows an overlay for the same.
var buildLogs = []string{"[webpack-dev-server] ", "[rspack-dev-server] ", "[vite] Internal Server Error", viteReload, "[hmr] Failed to reload ", "🚨 [parcel]: "}

// viteReload begins what Vite's client logs of a module that it could not load again. Up to Vite 4 it begins with "[hmr]".
const viteReload = "[vite] Failed to reload "

// LogsBuild reports whether a message is one of those, and whether it only says that there was another.
func LogsBuild(e *event.Console) (logs, counts bool) {
	if e.Level != event.Error || !begins(e.Text, buildLogs) {
		return false, false
	}
	_, text, _ := strings.Cut(e.Text, "] ")
	return true, begins(text, []string{"bundle has ", "Errors while compiling", "Failed to reload "})
}

// viteOverlay is the overlay of Vite's client, parcelOverlay that of Parcel's.
const (
	viteOverlay   = "vite-error-overlay"
	parcelOverlay = "#__parcel__error__overlay__"
)

// IsBuildOverlay reports whether a selector is that of the overlay of such a client.
func IsBuildOverlay(selector string) bool {
	return selector == viteOverlay || selector == parcelOverlay || strings.HasSuffix(selector, "-dev-server-client-overlay")
}

// buildFailures begin the messages by which Vite and Parcel have their clients show their overlay.
var buildFailures = []string{`{"type":"error","err":{"message":`, `{"type":"error","diagnostics":{"ansi":`}

// TellsBuildFailed reports whether a frame is one of those messages.
func TellsBuildFailed(text string) bool { return begins(text, buildFailures) }

// ShowsModule reports whether an overlay shows why the server could not compile a module of a given address. Vite
// answers the request for such a module with status 500.
func ShowsModule(selector, text string, status int, url string) bool {
	if selector != viteOverlay || status != 500 {
		return false
	}
	path, _, _ := strings.Cut(url, "?")
	file := path[strings.LastIndexByte(path, '/')+1:]
	return file != "" && strings.Contains(text, file)
}

// minOverlayText is how long a message must be to be found in an overlay's text, in bytes; minOverlayWords is that for whole
// words.
const (
	minOverlayText  = 12
	minOverlayWords = 6
)

// IsIn reports whether the text of an error overlay has an error's message.
func IsIn(overlay string, e *event.Console) bool {
	text, _, _ := strings.Cut(e.Text, "\n")
	text = strings.TrimSpace(Bare(text))
	return len(text) >= minOverlayText && strings.Contains(overlay, text) ||
		len(text) >= minOverlayWords && strings.Contains(" "+overlay+" ", " "+text+" ")
}

// IsOwnCode reports whether an error names a place that is not a development server's.
func IsOwnCode(e *event.Console) bool {
	return e.Via != "browser" && e.URL != "" && !OfClient(e.URL) && !strings.Contains(e.URL, "@rsbuild/core/") && !strings.Contains(e.URL, "next/dist")
}
