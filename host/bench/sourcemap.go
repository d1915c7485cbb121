package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/sourcemap/maptest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// Targets of a position that is mapped through a map of mapSize bytes.
const (
	mapSize  = 10 << 20
	mapFirst = 300 * time.Millisecond
	mapNext  = time.Millisecond
	// mapSlowdown is what an answer may take longer while a map is on its way: it waits for the map on purpose.
	mapSlowdown = observe.PlacesWait + 50*time.Millisecond
)

// sourcemap measures original places: what the first and the next position of a large map cost the host, and
// the whole way in Chromium, answers meanwhile included.
func (r *run) sourcemap() error {
	data, segments := maptest.Bundle(mapSize)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(data); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	s := r.sheet(fmt.Sprintf("Original places through a source map of %.1f MB, %d segments in one line", float64(len(data))/1e6, segments))
	var first []time.Duration
	var m *sourcemap.Map
	for range max(5, r.third(15)) {
		began := time.Now()
		z, err := gzip.NewReader(bytes.NewReader(packed.Bytes()))
		if err != nil {
			return err
		}
		text, err := io.ReadAll(z)
		if err != nil {
			return err
		}
		if m, err = sourcemap.Parse("http://localhost/app.js.map", text); err != nil {
			return err
		}
		if err := lookUp(m, rand.IntN(segments)); err != nil {
			return err
		}
		first = append(first, time.Since(began))
	}
	s.within("first position, unpacking and reading the map, worst", quantile(first, 1), mapFirst, r.byWalk(), "")
	next := make([]time.Duration, 20_000)
	for i := range next {
		began := time.Now()
		if err := lookUp(m, rand.IntN(segments)); err != nil {
			return err
		}
		next[i] = time.Since(began)
	}
	s.within("next position, 99 %", quantile(next, .99), mapNext, r.byLoop(), "")
	s.figure("memory that the map takes", fmt.Sprintf("%.1f MB", float64(m.Size())/1e6))
	if err := r.mappedInChromium(s, data); err != nil {
		return err
	}
	return s.print()
}

// lookUp finds the nth segment's original and makes sure of it.
func lookUp(m *sourcemap.Map, n int) error {
	if p, ok := m.Find(1, 1+10*n+5); !ok || p.Line != 1+n%5000 || !strings.HasSuffix(p.Source, fmt.Sprintf("/File%d.tsx", n/5000)) {
		return fmt.Errorf("segment %d is said to be %+v", n, p)
	}
	return nil
}

// mappedInChromium measures from an error to the first answer that has its original place, and what answers
// take meanwhile.
func (r *run) mappedInChromium(s *sheet, data []byte) (err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>mapped</title><link rel=icon href=data:,>ready")
	})
	mux.HandleFunc("GET /app.js", func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = fmt.Fprintf(w, "console.error('boom %s')\n//# sourceMappingURL=app.js.map\n", req.URL.Query().Get("v"))
	})
	mux.HandleFunc("GET /app.js.map", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
	site := httptest.NewServer(mux)
	defer site.Close()
	w, err := testbed.Start(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	a, err := w.Agent("--origin", site.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	p, err := w.Open(site.URL)
	if err != nil {
		return err
	}
	defer p.Close()
	// logs is the newest entry, and how long the answer took.
	logs := func() (string, time.Duration, error) {
		began := time.Now()
		text, err := a.Text("get_browser_logs", testbed.Raw(map[string]any{"limit": 1}))
		return text, time.Since(began), err
	}
	var whole, during, alone []time.Duration
	for i := range max(3, r.third(9)) {
		progress("original places in Chromium, %d", i+1)
		// A script of its own each time: its map is not known.
		script := fmt.Sprintf("/app.js?v=%d", i)
		began := time.Now()
		if err := p.JS(fmt.Sprintf("await new Promise((done) => { const s = document.createElement('script'); s.onload = done; s.src = %q; document.body.append(s) })", script)); err != nil {
			return err
		}
		for mapped := false; !mapped; {
			text, took, err := logs()
			if err != nil {
				return err
			}
			if mapped = strings.Contains(text, fmt.Sprintf(`"boom %d"`, i)) && strings.Contains(text, "File0.tsx:1:"); !mapped && time.Since(began) > testbed.Patience {
				return fmt.Errorf("the place was not mapped: %s", text)
			}
			during = append(during, took)
		}
		whole = append(whole, time.Since(began))
		for range 100 {
			_, took, err := logs()
			if err != nil {
				return err
			}
			alone = append(alone, took)
		}
	}
	progress("")
	s.figure("in Chromium, from the error to an answer with the original place, middle (worst)", fmt.Sprintf("%s (%s)", ms(quantile(whole, .5)), ms(quantile(whole, 1))))
	usual, slowest := quantile(alone, .5), quantile(during, .99)
	s.within("an answer while a map is on its way, 99 %, more than one when none is, middle", slowest-usual, mapSlowdown, r.byLoop(), fmt.Sprintf("%s (%s, %s)", ms(slowest-usual), ms(slowest), ms(usual)))
	return nil
}
