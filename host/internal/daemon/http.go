package daemon

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"

	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/mcpserver"
)

// serveHTTP serves agents over streamable HTTP on a port of the loopback interface. A port that cannot be
// had is told of in the status, and stops nothing else.
func (d *daemon) serveHTTP(ctx context.Context, port int, present *presence) {
	if port == 0 {
		return
	}
	address := net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
	status := &engine.HTTPStatus{URL: "http://" + address + "/mcp", TokenFile: d.home.Token()}
	defer func() { d.http.Store(status) }()
	fail := func(err error) {
		d.log.Error("agents are not served over HTTP", "error", err)
		failed := *status
		failed.Problem = err.Error()
		status = &failed
		d.http.Store(status)
	}
	token, err := d.home.readToken()
	if err != nil {
		fail(err)
		return
	}
	l, err := net.Listen("tcp4", address)
	if err != nil {
		fail(fmt.Errorf("%w; free the port, or set another in %s", err, d.home.Config))
		return
	}
	d.http.Store(status)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcpserver.HTTP(ctx, d.engine, d.version))
	if err := serve(ctx, counted{l, present}, guarded(mux, port, token)); err != nil {
		fail(err)
	}
}

// guarded lets only requests through that show the token, name this server as their host (a name that a
// foreign page made to point here does not), and come from no foreign page. There are no CORS headers:
// a page of another origin never reads an answer.
func guarded(h http.Handler, port int, token string) http.Handler {
	hosts := []string{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("localhost:%d", port)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := func(host string) bool { return host == hosts[0] || host == hosts[1] }
		refuse := func(code int, message string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, "{\"message\":%q}", message) // whoever is refused need not read it
		}
		origin, foreign := r.Header["Origin"]
		given, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case !own(r.Host):
			refuse(http.StatusForbidden, "this server is called 127.0.0.1 or localhost, nothing else")
		case foreign && (len(origin) != 1 || !own(strings.TrimPrefix(origin[0], "http://"))):
			refuse(http.StatusForbidden, "pages of other origins may not ask")
		case !isBearer || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1:
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(http.StatusUnauthorized, "the token is missing or wrong: send \"Authorization: Bearer\" with what the file token in Tidemark's home holds")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// readToken is the secret of HTTP clients, made when there is none. A file that others can read, or that
// is another user's, is not used.
func (h Home) readToken() (string, error) {
	path := h.Token()
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails (package crypto/rand)
		token := base64.RawURLEncoding.EncodeToString(secret)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = f.WriteString(token + "\n")
		return token, errors.Join(err, f.Close())
	}
	if err != nil {
		return "", err
	}
	if err := checkSecretFile(path, info); err != nil {
		return "", fmt.Errorf("%w; delete it, and a new one is made", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 32 {
		return "", fmt.Errorf("the token in %s is too short; delete it, and a new one is made", path)
	}
	return token, nil
}
