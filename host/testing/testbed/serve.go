package testbed

import (
	"net/http"
	"net/http/httptest"
	"sync"
)

// served are the addresses that [Serve] has used.
var served sync.Map

// Serve starts a server on an origin that no other test of this process has used. Browsers remember an origin's
// state, such as its service worker, and the system reuses ports.
func Serve(handler http.Handler) *httptest.Server {
	var again []*httptest.Server // kept open until an unused one is found
	defer func() {
		for _, s := range again {
			s.Close()
		}
	}()
	for {
		s := httptest.NewServer(handler)
		if _, had := served.LoadOrStore(s.URL, true); !had {
			return s
		}
		again = append(again, s)
	}
}
