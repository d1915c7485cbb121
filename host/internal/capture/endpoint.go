package capture

import (
	"net/url"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// EndpointKey identifies an endpoint.
type EndpointKey = event.EndpointKey

// Endpoint is the known state of an endpoint. A value in a [Table] never changes.
type Endpoint struct {
	// Status is the newest one; 0 when the newest request had none.
	Status int
	// Failing says that the newest request failed; Error is why it had no status.
	Failing bool
	Error   string
	// Measured counts requests that did not fail and took as long as the server did; TotalMs is
	// their duration together.
	Measured int
	TotalMs  float64
}

// MeanMs is the mean duration of the measured requests.
func (e Endpoint) MeanMs() float64 {
	if e.Measured == 0 {
		return 0
	}
	return e.TotalMs / float64(e.Measured)
}

// Measures reports whether a request's duration shows how fast its server is.
func Measures(n *event.Network) bool { return n.Answered() && !n.Stream && !n.Cached && !n.Canceled }

// After is the endpoint as it is known after one more request.
func (e Endpoint) After(n *event.Network) Endpoint {
	e.Status, e.Failing, e.Error = n.Status, n.Failed(), n.Error
	if Measures(n) {
		e.Measured++
		e.TotalMs += n.Duration
	}
	return e
}

// Counts says whether a request says something about its endpoint: one that was given up before it
// had a status does not, and neither does the browser's question before a cross-origin request.
func Counts(n *event.Network) bool {
	return (n.Failed() || n.Answered()) && n.Resource != "preflight"
}

// KeyOf names the endpoint of a request.
func KeyOf(n *event.Network) EndpointKey {
	if n.Endpoint != nil {
		return *n.Endpoint
	}
	origin, path := SplitURL(n.URL)
	return EndpointKey{Page: n.Origin(), Origin: origin, Method: n.Method, Path: TemplatePath(path), Operation: n.Operation}
}

// SplitURL splits an address into its origin and path, without query and fragment. An address that
// cannot be split is a path as a whole.
func SplitURL(raw string) (origin, path string) {
	if strings.HasPrefix(raw, "data:") || strings.HasPrefix(raw, "blob:") {
		return "", raw[:5]
	}
	scheme := strings.Index(raw, "://")
	if scheme < 0 {
		if i := strings.IndexAny(raw, "?#"); i >= 0 {
			raw = raw[:i]
		}
		return "", raw
	}
	rest := raw[scheme+3:]
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return raw, "/"
	}
	origin, path = raw[:scheme+3+end], rest[end:]
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if at := strings.LastIndexByte(origin, '@'); at > scheme {
		origin = raw[:scheme+3] + origin[at+1:]
	}
	if path == "" {
		path = "/"
	}
	return origin, path
}

// OriginOf is the origin of a page's address in the form "http://localhost:3000", "" for an address
// that has none (about:blank, data:).
func OriginOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// TemplatePath puts {id} in place of segments that name one thing among many (numbers, UUIDs, long
// hexadecimal or mixed ids), and {hash} in place of the hash in a built file's name.
func TemplatePath(path string) string {
	if !strings.ContainsAny(path, "0123456789") {
		return path
	}
	template := make([]byte, 0, 128)
	for s := range strings.SplitSeq(path, "/") {
		template = append(append(template, templateSegment(s)...), '/')
	}
	if template = template[:len(template)-1]; string(template) == path {
		return path
	}
	return string(template)
}

func templateSegment(s string) string {
	if looksLikeID(s) {
		return "{id}"
	}
	dot := strings.LastIndexByte(s, '.')
	if dot <= 0 {
		if cut := strings.LastIndexAny(s, "-_"); cut > 0 && len(s)-cut > 8 && (looksLikeID(s[cut+1:]) || looksRandom(s[cut+1:])) {
			return s[:cut+1] + "{id}"
		}
		return s
	}
	name, ext := s[:dot], s[dot:]
	if looksLikeUUID(name) {
		return "{id}" + ext
	}
	if cut := strings.LastIndexAny(name, "-._"); cut > 0 && looksLikeHash(name[cut+1:]) {
		return name[:cut+1] + "{hash}" + ext
	}
	// Rollup's and Vite's are eight characters of base64url, in which - and _ are like any other.
	if cut := len(name) - 9; cut > 0 && (name[cut] == '-' || name[cut] == '.') && looksLikeHash(strings.ReplaceAll(name[cut+1:], "-", "_")) {
		return name[:cut+1] + "{hash}" + ext
	}
	if looksLikeID(name) {
		return "{id}" + ext
	}
	return s
}

// looksLikeID: only digits; a UUID; 8 or more hexadecimal digits with a digit among them; 16 or more
// letters and digits, at least 4 of them digits; 16 or more of base64url that look random.
func looksLikeID(s string) bool {
	digits, hex, alnum := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits, hex, alnum = digits+1, hex+1, alnum+1
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			hex, alnum = hex+1, alnum+1
		case c >= 'g' && c <= 'z' || c >= 'G' && c <= 'Z':
			alnum++
		case c == '-' || c == '_':
		default:
			return false
		}
	}
	switch n := len(s); {
	case digits == 0:
		return false
	case digits == n || hex == n && n >= 8 || looksLikeUUID(s):
		return true
	case n < 16:
		return false
	case alnum == n:
		return digits >= 4
	default:
		return looksRandom(s)
	}
}

// looksRandom says whether capital and small letters and digits take turns as in no name: at every
// third place or more often, with two digits among them.
func looksRandom(s string) bool {
	turns, digits, before := 0, 0, 0
	for i := range len(s) {
		class := before
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			class = 3
			digits++
		case c >= 'a' && c <= 'z':
			class = 1
		case c >= 'A' && c <= 'Z':
			class = 2
		}
		if before != 0 && class != before {
			turns++
		}
		before = class
	}
	return len(s) >= 10 && digits >= 2 && turns*3 >= len(s)
}

func looksLikeUUID(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

func looksLikeHash(s string) bool {
	if len(s) < 6 || len(s) > 40 {
		return false
	}
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_':
		default:
			return false
		}
	}
	return digits > 0
}

// files are the browser's types of the files that a page is made of.
var files = []string{"script", "stylesheet", "font", "image", "media", "texttrack", "manifest"}

// IsFile reports whether a request loaded such a file, or the page itself, or its icon, or asked for the icon that browsers
// look for without being told.
func IsFile(n *event.Network) bool {
	_, path := SplitURL(n.URL)
	switch {
	case path == "/favicon.ico" && len(n.Stack) == 0:
		return true
	case n.Failed():
		return false
	case n.Resource == "document":
		return n.Method == "GET" && n.Status < 300
	case n.Resource == "other" && len(n.Stack) == 0 && strings.HasPrefix(n.Mime, "image/"):
		return true
	}
	return slices.Contains(files, n.Resource)
}
