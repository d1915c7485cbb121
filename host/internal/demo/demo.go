// Package demo is a small shop to break. It is a single page with an API, live stock over a WebSocket, a
// worker, images and a second origin. [Breakages] lists edits that break it.
//
// Guarantees:
//   - The healthy page logs no error and no warning, and none of its requests fails, including the icon.
//   - Each of [Breakages] changes only what the server serves, as an edit would, and can be reverted completely.
//   - The shop listens only on loopback and keeps everything in memory, with one cart for all visitors.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed web
var web embed.FS

// Shop is the demo shop. Its methods may be called from any goroutine. It is an [http.Handler] for
// the page and its API; [Shop.Rates] is the second origin.
type Shop struct {
	mux *http.ServeMux
	// pause waits for d or the end of ctx; tests replace it before the first request.
	pause func(ctx context.Context, d time.Duration)
	feed  feed

	mu sync.Mutex // guards the fields below
	// broken contains the names of active breakages.
	broken map[string]bool
	// rates is the second origin for the page, "" without one.
	rates string
	// cart is the quantity of each product, by ID.
	cart    map[int]int
	orders  int
	servers []*http.Server
	serving sync.WaitGroup
}

// New returns a healthy shop. It serves without being started, for use with [net/http/httptest]. [Shop.Start]
// gives it an address.
func New() *Shop {
	s := &Shop{
		mux:    http.NewServeMux(),
		pause:  pause,
		broken: make(map[string]bool),
		cart:   make(map[int]int),
	}
	s.feed.init()
	s.Routes(s.mux)
	s.mux.HandleFunc("/", notFound)
	return s
}

// ServeHTTP serves the page and its API.
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Start serves the shop, and the second origin, on free loopback ports and returns the page's URL,
// which ends in a slash. [Shop.Close] ends it.
func (s *Shop) Start() (string, error) {
	ratesOrigin, err := s.listen(s.Rates())
	if err != nil {
		return "", err
	}
	s.UseRates(ratesOrigin)
	origin, err := s.listen(s)
	if err != nil {
		return "", errors.Join(err, s.Close())
	}
	return origin + "/", nil
}

func (s *Shop) listen(handler http.Handler) (origin string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot listen on loopback for the demo shop: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	s.mu.Lock()
	s.servers = append(s.servers, server)
	s.mu.Unlock()
	s.serving.Go(func() { _ = server.Serve(listener) }) // Close ends it
	return "http://" + listener.Addr().String(), nil
}

// Close ends the servers and all connections, and returns when everything has stopped.
func (s *Shop) Close() error {
	s.mu.Lock()
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	var errs []error
	for _, server := range servers {
		errs = append(errs, server.Close())
	}
	s.feed.close()
	s.serving.Wait()
	return errors.Join(errs...)
}

// UseRates sets the second origin for the page, such as "http://127.0.0.1:4711". Start calls it, and so do tests
// that serve [Shop.Rates] themselves. Without it the page has prices only in euros.
func (s *Shop) UseRates(origin string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rates = strings.TrimSuffix(origin, "/")
}

// Routes registers the page and its API on mux, so that tests can add their own routes.
func (s *Shop) Routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", s.serveFile("index.html"))
	for _, name := range []string{"style.css", "app.js", "promo.js", "shipping.js", "favicon.svg"} {
		mux.HandleFunc("GET /"+name, s.serveFile(name))
	}
	mux.HandleFunc("GET /favicon.ico", s.serveFile("favicon.svg"))
	mux.HandleFunc("GET /images/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.serveFile(path.Join("images", r.PathValue("name")))(w, r)
	})
	mux.HandleFunc("GET /api/products", s.products)
	mux.HandleFunc("GET /api/products/{id}", s.product)
	mux.HandleFunc("GET /api/search", s.search)
	mux.HandleFunc("GET /api/reviews", s.reviews)
	mux.HandleFunc("GET /api/cart", s.readCart)
	mux.HandleFunc("POST /api/cart", s.changeCart)
	mux.HandleFunc("POST /api/coupon", s.coupon)
	mux.HandleFunc("POST /api/wishlist", s.wishlist)
	mux.HandleFunc("POST /api/checkout", s.checkout)
	mux.HandleFunc("GET /ws/stock", s.stock)
}

// serveFile serves a file of the page with the active edits. It disables caching, so that the next load has the
// next edit.
func (s *Shop) serveFile(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := s.page(name)
		if errors.Is(err, fs.ErrNotExist) {
			notFound(w, r)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(text)) // the browser left
	}
}

// notFound answers 404 without the nosniff header of http.NotFound, which would make browsers report a missing
// script twice.
func notFound(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = fmt.Fprintf(w, "<!doctype html><title>Not found</title><p>There is no %s here.", html.EscapeString(r.URL.Path)) // the browser left
}

// page returns the text of a file of the page.
func (s *Shop) page(name string) (string, error) {
	data, err := web.ReadFile(path.Join("web", name))
	if err != nil {
		return "", err
	}
	text := string(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "index.html" {
		text = strings.Replace(text, `data-rates=""`, `data-rates="`+s.rates+`"`, 1)
	}
	for _, e := range edits {
		if e.file == name && s.broken[e.breakage] {
			text = strings.Replace(text, e.old, e.new, 1)
		}
	}
	return text, nil
}

// is reports whether a breakage is active.
func (s *Shop) is(breakage string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken[breakage]
}

func (s *Shop) set(breakage string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.broken[breakage] = true
	} else {
		delete(s.broken, breakage)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
