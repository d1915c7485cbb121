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

	"tidemark.dev/tidemark/host/internal/api"
	dashboardfiles "tidemark.dev/tidemark/web/dashboard"
)

// docs/THREAT_MODEL.md explains the sign-in to the dashboard. `tidemark open` gets a short-lived single-use code in the
// fragment of the URL. The page exchanges the code for a session, which it keeps in sessionStorage.

const (
	// dashboardPath is the path of the dashboard. The extension never watches its pages (extension/background).
	dashboardPath = "/tidemark-dashboard/"
	// codeLife is how long a code is valid, sessionLife how long a sign-in lasts.
	codeLife    = 2 * time.Minute
	sessionLife = 12 * time.Hour
	// maxCodes limits the unused codes.
	maxCodes = 20
)

// codes holds unused codes. It is safe for concurrent use.
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

// take consumes a code and reports whether it was valid.
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

// newSession returns a sign-in token that every daemon of the home accepts until a time. It consists of that time and
// random bytes, signed with the home's secret.
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

// dashboardPolicy lets the dashboard load only its own files and call only its own server. It also keeps captured page
// content from ever running as a script.
const dashboardPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// dashboard serves the dashboard's files. They contain no secrets and need no sign-in, so that users without one see
// how to get it.
func dashboard() http.Handler {
	files, err := fs.Sub(dashboardfiles.Dist, "dist")
	if err != nil {
		files = dashboardfiles.Dist // fs.Sub fails only for invalid names
	}
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			api.Refuse(w, http.StatusNotFound, "this program was built without the dashboard. Run `make build` to include it.")
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
