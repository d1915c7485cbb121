package daemon

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	dashboardfiles "tidemark.dev/tidemark/extension/dashboard"
	"tidemark.dev/tidemark/host/internal/api"
)

// How a person signs in to the dashboard, and why so, is in docs/THREAT_MODEL.md: `tidemark open` gets a code that
// works once and soon, in the fragment of the address; the page exchanges it for a session, which it keeps in
// sessionStorage.

const (
	// dashboardPath is where the dashboard is. The extension watches no page of it (extension/background).
	dashboardPath = "/tidemark-dashboard/"
	// codeLife is how long a code waits to be used, sessionLife how long a session lasts.
	codeLife    = 2 * time.Minute
	sessionLife = 12 * time.Hour
	// maxCodes bounds the codes that wait.
	maxCodes = 20
)

// codes are the codes that wait to be used. It is safe for concurrent use.
type codes struct {
	mu      sync.Mutex
	waiting []code // oldest first
}

type code struct {
	text  string
	until time.Time
}

func (c *codes) make(now time.Time) string {
	made := code{rand.Text(), now.Add(codeLife)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, made)
	c.waiting = c.waiting[max(0, len(c.waiting)-maxCodes):]
	return made.text
}

// take uses a code up, and says whether it was good.
func (c *codes) take(text string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, known := range c.waiting {
		if subtle.ConstantTimeCompare([]byte(known.text), []byte(text)) == 1 {
			c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
			return now.Before(known.until)
		}
	}
	return false
}

// newSession is a token that is good until a time, for every daemon of the home: it is its end and some
// randomness, signed with the home's secret.
func newSession(secret string, until time.Time) string {
	head := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails (package crypto/rand)
	head = append(head, random...)
	return base64.RawURLEncoding.EncodeToString(append(head, signed(secret, head)...))
}

func signed(secret string, head []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("tidemark dashboard session\n"))
	mac.Write(head)
	return mac.Sum(nil)
}

func checkSession(secret, token string, now time.Time) bool {
	const head = 8 + 16
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(data) != head+sha256.Size || !hmac.Equal(data[head:], signed(secret, data[:head])) {
		return false
	}
	return now.Unix() < int64(binary.BigEndian.Uint64(data))
}

// dashboardPolicy lets the dashboard load its own files and ask its own server, nothing else; what pages wrote
// never becomes a script, even by mistake.
const dashboardPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// dashboard serves the dashboard's files. They are the same for everybody and hold no secret, so that whoever
// has no session sees how to get one.
func dashboard() http.Handler {
	files, err := fs.Sub(dashboardfiles.Dist, "dist")
	if err != nil {
		files = dashboardfiles.Dist // a valid name always has a sub tree
	}
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			api.Refuse(w, http.StatusNotFound, "this program was built without the dashboard; `make build` builds one with it")
		})
	}
	serve := http.StripPrefix(dashboardPath, http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, dashboardPath)
		if name != "" && (strings.HasSuffix(name, "/") || path.Base(name) == ".gitignore") {
			http.NotFound(w, r) // no list of files
			return
		}
		w.Header().Set("Content-Security-Policy", dashboardPolicy)
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		serve.ServeHTTP(w, r)
	})
}
