package daemon

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/mcpserver"
	"tidemark.dev/tidemark/host/internal/safesocket"
	"tidemark.dev/tidemark/host/internal/viewer"
)

// web serves HTTP on a loopback port: the dashboard and the live API, and agents if the settings name a port. It
// listens when the settings name a port, when a user opens the dashboard, and when a dashboard of the previous daemon
// may still be open.
type web struct {
	d       *daemon
	present *presence
	// configured is the port in the settings, 0 without one.
	configured int
	codes      codes

	mu      sync.Mutex
	ctx     context.Context // nil before begin and after wait
	port    int             // the listening port, 0 without one
	serving sync.WaitGroup
}

// begin starts the listener if one is needed. It stops with ctx.
func (w *web) begin(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
	if w.configured != 0 {
		if err := w.listenLocked(w.configured); err != nil {
			w.d.log.Error("cannot serve agents over HTTP", "error", err)
			status := w.status(w.configured)
			status.Problem = err.Error()
			w.d.http.Store(status)
		}
	} else if port := w.d.home.DashboardPort(time.Now()); port != 0 {
		if err := w.listenLocked(port); err != nil {
			w.d.log.Warn("cannot continue to serve an open dashboard", "error", err)
		}
	}
}

// wait returns when ctx has ended and every request is answered or cut off.
func (w *web) wait(ctx context.Context) {
	<-ctx.Done()
	w.mu.Lock()
	w.ctx = nil
	w.mu.Unlock()
	w.serving.Wait()
}

func (w *web) status(port int) *viewer.HTTPStatus {
	return &viewer.HTTPStatus{URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port), TokenFile: w.d.home.Token()}
}

// listenLocked starts to serve on a port. 0 means any free port.
func (w *web) listenLocked(port int) error {
	secret, err := w.d.home.Secret()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return fmt.Errorf("%w. Free the port or set another one in %s.", err, w.d.home.Config)
	}
	w.port = l.Addr().(*net.TCPAddr).Port
	if w.configured == w.port {
		w.d.http.Store(w.status(w.port))
	}
	ctx, handler := w.ctx, w.handler(w.ctx, w.port, secret)
	w.serving.Go(func() {
		if err := serve(ctx, counted{safesocket.OursTCP(l, w.d.log), w.present}, handler); err != nil {
			w.d.log.Error("stopped serving the dashboard and agents over HTTP", "error", err)
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.configured == w.port {
				failed := w.status(w.port)
				failed.Problem = err.Error()
				w.d.http.Store(failed)
			}
			w.port = 0
		}
	})
	return nil
}

// open returns the URL of the dashboard with a sign-in code. It starts the listener if there is none.
func (w *web) open() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return "", errors.New("the daemon is stopping. Try again.")
	}
	if w.port == 0 {
		// Reuse the port of an earlier dashboard if it is free, so that the dashboard continues.
		if err := w.listenLocked(w.d.home.DashboardPort(time.Now())); err != nil {
			if err = w.listenLocked(0); err != nil {
				return "", err
			}
		}
	}
	if err := w.d.home.KeepDashboard(w.port, time.Now().Add(sessionLife)); err != nil {
		w.d.log.Warn("an open dashboard will not survive this daemon", "error", err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d%s#%s", w.port, dashboardPath, w.codes.make(time.Now())), nil
}

// handler serves all paths of a port. It sends no CORS headers, so that pages of other origins cannot read
// answers.
func (w *web) handler(ctx context.Context, port int, secret string) http.Handler {
	session := func(token string) bool { return checkSession(secret, token, time.Now()) }
	rest := api.REST(api.RESTOptions{Engine: w.d.engine, Version: w.d.version, SignIn: func(code string) (string, time.Time, bool) {
		now := time.Now()
		if !w.codes.take(code, now) {
			return "", time.Time{}, false
		}
		until := now.Add(sessionLife)
		return newSession(secret, until), until, true
	}})
	mux := http.NewServeMux()
	mux.Handle("/api/", authorized(rest, secret, session))
	mux.Handle("POST /api/session", rest) // needs a code instead of a token
	mux.Handle(dashboardPath, dashboard())
	mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, dashboardPath, http.StatusSeeOther)
	})
	if w.configured == port {
		mux.Handle("/mcp", authorized(mcpserver.HTTP(ctx, w.d.engine, w.d.version), secret, nil))
	}
	return own(mux, port)
}

// own passes only requests that name this server as their host and do not come from a page of another origin. The host
// check stops DNS rebinding.
func own(h http.Handler, port int) http.Handler {
	hosts := []string{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("localhost:%d", port)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := func(host string) bool { return host == hosts[0] || host == hosts[1] }
		origin, foreign := r.Header["Origin"]
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Cache-Control", "no-store")
		switch {
		case !own(r.Host):
			api.Refuse(w, http.StatusForbidden, "this server accepts only the hosts 127.0.0.1 and localhost")
		case foreign && (len(origin) != 1 || !own(strings.TrimPrefix(origin[0], "http://"))):
			api.Refuse(w, http.StatusForbidden, "this server refuses requests from pages of other origins")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// authorized passes only requests with the token of the home, or with a token for which accepts returns true. Accepts
// may be nil.
func authorized(h http.Handler, secret string, accepts func(token string) bool) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		given, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if isBearer && (subtle.ConstantTimeCompare([]byte(given), []byte(secret)) == 1 || accepts != nil && accepts(given)) {
			h.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("WWW-Authenticate", "Bearer")
		api.Refuse(rw, http.StatusUnauthorized, "the token is missing, wrong or expired. Send \"Authorization: Bearer\" with the content of the file token in Tidemark's home. To sign in to the dashboard, run `tidemark open`.")
	})
}
