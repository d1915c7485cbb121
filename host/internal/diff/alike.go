package diff

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// One failure is often reported several times: an exception, the line that a framework logs about it, the overlay of a
// development server, the message of the code that made a failed request. The report has one entry for all, the most
// telling one.

// alikeWithin is how far apart two reports of one failure may be, in milliseconds.
const alikeWithin = 2000

// withoutStamps removes the time stamps that a development server adds to the addresses of edited files.
func withoutStamps(text string) string {
	if !strings.Contains(text, "?t=") && !strings.Contains(text, "&t=") {
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

// prefixes of errors that say only how they were reported.
var reportPrefixes = []string{"Uncaught (in promise) ", "Uncaught ", "ERROR ", "Warning: "}

// componentParts begin what React adds about one component to a warning that it logs for each.
var componentParts = []string{"\n    at ", "\n    in ", "Check the render method of ", "Check the top-level render call using ", "Check your code at "}

// sameText is what two messages have in common that are one entry. It is equal for an error and the line that logs it,
// and for a warning of React about several components.
func sameText(e *event.Console) string {
	text := withoutStamps(e.Text)
	for _, p := range reportPrefixes {
		text = strings.TrimPrefix(text, p)
	}
	if react := strings.HasPrefix(e.Text, "Warning: ") || strings.Contains(text, "react.dev/link/") || strings.Contains(text, "reactjs.org/link/"); react {
		for _, part := range componentParts {
			text, _, _ = strings.Cut(text, part)
		}
		text = strings.TrimSpace(text)
	} else if e.Level == event.Error {
		text, _, _ = strings.Cut(text, "\n    at ")
	}
	return Fingerprint(text)
}

// echoes begin the lines that frameworks log about an error that was reported by itself.
var echoes = []string{
	"The above error occurred in ", "An error occurred in the <", "React will try to recreate this component tree",
	"Consider adding an error boundary", "[Vue warn]: Unhandled error during execution of ",
}

// moments are times in milliseconds since the Unix epoch, in order.
type moments []int64

// near reports whether something happened about then.
func (m moments) near(at int64) bool {
	i, _ := slices.BinarySearch(m, at-alikeWithin)
	return i < len(m) && m[i] <= at+alikeWithin
}

func near(a, b int64) bool { return moments{a}.near(b) }

// momentsOf collects the times of some entries by what they have in common.
func momentsOf[K comparable](each func(add func(K, int64))) map[K]moments {
	found := map[K]moments{}
	each(func(k K, at int64) { found[k] = append(found[k], at) })
	for _, m := range found {
		slices.Sort(m)
	}
	return found
}

// echo reports whether a message only says that there was an error: a framework logs it after, or just before, the
// error itself.
func (c *computation) echo(e *event.Console) bool {
	if !slices.ContainsFunc(echoes, func(p string) bool { return strings.HasPrefix(e.Text, p) }) {
		return false
	}
	if c.thrown == nil {
		c.thrown = momentsOf(func(add func(int, int64)) {
			for pos, e := range c.v.Console().Marked(c.from.Pos[capture.Console]) {
				if (e.Via == "exception" || e.Via == "rejection") && c.tells(pos, e) {
					add(e.Tab(), e.At)
				}
			}
		})
	}
	return c.thrown[e.Tab()].near(e.At)
}

// failed is a request as a message of the page's code may speak of it: its tab, and its status; 0 for no answer.
type failed struct{ tab, status int }

// lists records that the report speaks of a failed request.
func (c *computation) lists(n *event.Network) {
	if c.failing == nil {
		c.failing = map[failed]moments{}
	}
	k := failed{n.Tab(), n.Status}
	if n.Error != "" {
		k.status = 0
	}
	c.failing[k] = append(c.failing[k], n.At)
}

// fetchFailures are messages that say that a request failed, and nothing else. Those that end with a space go on with the
// status.
var fetchFailures = []string{
	"Request failed with status code ", "Response not successful: Received status code ", "HTTP error! status: ", "HTTP error ", "HTTP ",
	"Failed to fetch", "Network Error", "NetworkError when attempting to fetch resource.", "Load failed", "fetch failed",
}

// bareErrors are the names of errors that those messages may follow.
var bareErrors = []string{"AxiosError: ", "TypeError: ", "Error: ", "ApolloError: ", "NetworkError: ", "HTTPError: ", "ServerError: "}

// saysFetchFailed reports whether a message says nothing but that a request failed, and with which status; 0 for none.
func saysFetchFailed(text string) (status int, says bool) {
	for _, p := range bareErrors {
		text = strings.TrimPrefix(text, p)
	}
	text, _, _ = strings.Cut(text, "\n")
	for _, p := range fetchFailures {
		rest, ok := strings.CutPrefix(text, p)
		if !ok {
			continue
		}
		n := digitsLen(rest)
		for _, d := range rest[:n] {
			status = status*10 + int(d-'0')
		}
		switch {
		case !strings.HasSuffix(p, " "):
			return 0, strings.TrimRight(rest, ".") == ""
		case n == 3:
			return status, len(rest) == 3 || !isWord(rest[3])
		}
	}
	return 0, false
}

// ofRequest reports whether an error only says again that a request failed of which the report speaks.
func (c *computation) ofRequest(e *event.Console) bool {
	if len(c.failing) == 0 || e.Level != event.Error {
		return false
	}
	text := e.Text
	for _, p := range reportPrefixes {
		text = strings.TrimPrefix(text, p)
	}
	status, says := saysFetchFailed(text)
	return says && c.failing[failed{e.Tab(), status}].near(e.At)
}

// abortedFetch begins what a page's code says of a request that ended because the page was left.
var abortedFetch = []string{"Failed to fetch", "Network Error", "NetworkError", "Load failed", "AbortError", "The user aborted a request", "Request aborted", "canceled", "signal is aborted"}

// leaving reports whether an error is about a request that ended because the page was being left: it is no error of the
// page that follows.
func (c *computation) leaving(e *event.Console) bool {
	if e.Level != event.Error || !slices.ContainsFunc(abortedFetch, func(p string) bool { return strings.Contains(e.Text, p) }) {
		return false
	}
	if c.left == nil {
		c.left = momentsOf(func(add func(int, int64)) {
			for _, u := range c.v.Updates.From(0) {
				if u.How == "load" || u.How == "reload" {
					add(u.Tab(), u.At)
				}
			}
		})
		c.aborted = momentsOf(func(add func(int, int64)) {
			for _, n := range c.v.Network().From(c.from.Pos[capture.Network]) {
				if n.Canceled || n.Error == "net::ERR_ABORTED" {
					add(n.Tab(), n.At)
				}
			}
		})
	}
	i, _ := slices.BinarySearch(c.left[e.Tab()], e.At+1)
	return i < len(c.left[e.Tab()]) && c.left[e.Tab()][i] <= e.At+alikeWithin && c.aborted[e.Tab()].near(e.At)
}

// overlays are the selectors of development servers' error overlays.
var overlays = []string{
	"vite-error-overlay", "nextjs-portal", "#webpack-dev-server-client-overlay", "#rspack-dev-server-client-overlay",
	"rsbuild-error-overlay", "parcel-error-overlay", "#__parcel__error__overlay__", "nuxt-error-overlay",
}

// IsOverlay reports whether a selector is that of a development server's error overlay.
func IsOverlay(selector string) bool { return slices.Contains(overlays, selector) }

// overlay is an error overlay that appeared in the window.
type overlay struct {
	element capture.ElementKey
	at      int64
	// told is true where an error of the console says the same, and where.
	told bool
}

// shownOverlays returns the overlays of the window, if the report has both sections that speak of one.
func (c *computation) shownOverlays() []*overlay {
	var list []*overlay
	if !c.o.includes(capture.DOMSection) {
		return nil
	}
	for pos, e := range c.v.DOM().From(c.from.Pos[capture.DOM]) {
		if e.Op == "appeared" && IsOverlay(e.Element.Selector) && c.o.covers(capture.DOMSection, pos, event.InTab(e.Tab(), e.Element.Origin), e.At) {
			list = append(list, &overlay{element: e.Element, at: e.At})
		}
	}
	return list
}

// minOverlayText is how long a message must be to be found in an overlay's text, in bytes.
const minOverlayText = 12

// quotedBy returns the overlay that shows an error, nil if none does.
func quotedBy(list []*overlay, e *event.Console) *overlay {
	text, _, _ := strings.Cut(e.Text, "\n")
	for _, p := range slices.Concat(reportPrefixes, bareErrors) {
		text = strings.TrimPrefix(text, p)
	}
	if text = strings.TrimSpace(text); len(text) < minOverlayText {
		return nil
	}
	i := slices.IndexFunc(list, func(o *overlay) bool {
		return o.element.Tab == e.Tab() && near(o.at, e.At) && strings.Contains(o.element.Text, text)
	})
	if i < 0 {
		return nil
	}
	return list[i]
}

// clients are parts of the addresses of development servers' own code.
var clients = []string{"/@vite/", "webpack-dev-server", "hot-dev-client", "react-error-overlay", "next-devtools", "next/dist"}

// ownCode reports whether an error names a place that is not a development server's.
func ownCode(e *event.Console) bool {
	return e.Via != "browser" && e.URL != "" && !slices.ContainsFunc(clients, func(part string) bool { return strings.Contains(e.URL, part) })
}
