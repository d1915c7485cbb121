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

// web is what the daemon serves over HTTP on a port of the loopback interface: the dashboard and the live API,
// and agents where the settings name a port. It listens when the settings say so, when somebody asks for the
// dashboard, and when a dashboard of the daemon before may still be open.
type web struct {
	d       *daemon
	present *presence
	// configured is the port of the settings, 0 for none.
	configured int
	codes      codes

	mu      sync.Mutex
	ctx     context.Context // nil before begin and after its end
	port    int             // that is listened on, 0 while there is none
	serving sync.WaitGroup
}

// begin listens where it shall; ctx ends what it begins.
func (w *web) begin(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
	if w.configured != 0 {
		if err := w.listenLocked(w.configured); err != nil {
			w.d.log.Error("agents are not served over HTTP", "error", err)
			status := w.status(w.configured)
			status.Problem = err.Error()
			w.d.http.Store(status)
		}
	} else if port := w.d.home.DashboardPort(time.Now()); port != 0 {
		if err := w.listenLocked(port); err != nil {
			w.d.log.Warn("a dashboard that is open cannot be served on", "error", err)
		}
	}
}

// wait returns when ctx has ended and everything is answered or cut off.
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

// listenLocked begins to serve on a port; 0 is any that is free.
func (w *web) listenLocked(port int) error {
	secret, err := w.d.home.Secret()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return fmt.Errorf("%w; free the port, or set another in %s", err, w.d.home.Config)
	}
	w.port = l.Addr().(*net.TCPAddr).Port
	if w.configured == w.port {
		w.d.http.Store(w.status(w.port))
	}
	ctx, handler := w.ctx, w.handler(w.ctx, w.port, secret)
	w.serving.Go(func() {
		if err := serve(ctx, counted{safesocket.OursTCP(l, w.d.log), w.present}, handler); err != nil {
			w.d.log.Error("the dashboard and agents over HTTP are not served any more", "error", err)
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

// open is the address of the dashboard with a code to sign in by, listening for it where nobody does yet.
func (w *web) open() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return "", errors.New("the daemon is ending; ask once more")
	}
	if w.port == 0 {
		// An earlier dashboard goes on where its port is free.
		if err := w.listenLocked(w.d.home.DashboardPort(time.Now())); err != nil {
			if err = w.listenLocked(0); err != nil {
				return "", err
			}
		}
	}
	if err := w.d.home.KeepDashboard(w.port, time.Now().Add(sessionLife)); err != nil {
		w.d.log.Warn("a dashboard will not outlive this daemon", "error", err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d%s#%s", w.port, dashboardPath, w.codes.make(time.Now())), nil
}

// handler serves what there is on a port. There are no CORS headers: a page of another origin never reads an
// answer.
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
	mux.Handle("POST /api/session", rest) // which asks for a code
	mux.Handle(dashboardPath, dashboard())
	mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, dashboardPath, http.StatusSeeOther)
	})
	if w.configured == port {
		mux.Handle("/mcp", authorized(mcpserver.HTTP(ctx, w.d.engine, w.d.version), secret, nil))
	}
	return own(mux, port)
}

// own lets only requests through that name this server as their host (a name that a foreign page made to point
// here does not), and come from no foreign page.
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
			api.Refuse(w, http.StatusForbidden, "this server is called 127.0.0.1 or localhost, nothing else")
		case foreign && (len(origin) != 1 || !own(strings.TrimPrefix(origin[0], "http://"))):
			api.Refuse(w, http.StatusForbidden, "pages of other origins may not ask")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// authorized lets only requests through that show the token of the home, or one that accepts takes as well (nil:
// none).
func authorized(h http.Handler, secret string, accepts func(token string) bool) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		given, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if isBearer && (subtle.ConstantTimeCompare([]byte(given), []byte(secret)) == 1 || accepts != nil && accepts(given)) {
			h.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("WWW-Authenticate", "Bearer")
		api.Refuse(rw, http.StatusUnauthorized, "the token is missing, wrong or has expired: send \"Authorization: Bearer\" with what the file token in Tidemark's home holds; a dashboard is opened anew by `tidemark open`")
	})
}
