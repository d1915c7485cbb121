package e2etest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// BlankPage is an empty page without a request for an icon.
const BlankPage = `<!doctype html><title>page</title><link rel=icon href=data:,><body>`

// Site is a server with its own origin.
type Site struct {
	*httptest.Server
	Mux *http.ServeMux
}

// NewSite serves pages: paths with their HTML, or with what the path's ending names.
func NewSite(t *testing.T, pages map[string]string) *Site {
	t.Helper()
	mux := http.NewServeMux()
	for path, body := range pages {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			kind := "text/html; charset=utf-8"
			switch filepath.Ext(path) {
			case ".css":
				kind = "text/css"
			case ".js":
				kind = "text/javascript"
			case ".json":
				kind = "application/json"
			}
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		})
	}
	s := &Site{testbed.Serve(mux), mux}
	t.Cleanup(s.Close)
	return s
}

// Answer serves a status at a path.
func (s *Site) Answer(path string, code int) {
	s.Mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}
