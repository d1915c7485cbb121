package testbed

import (
	"net/http"
	"net/http/httptest"
	"sync"
)

// served are the addresses that [Serve] has given out.
var served sync.Map

// Serve starts a server of an origin that no other test of this process had: a browser remembers what an origin
// left behind, its service worker among it, and the system gives ports out again.
func Serve(handler http.Handler) *httptest.Server {
	var again []*httptest.Server // held until a new one is found
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
