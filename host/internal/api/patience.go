package api

import (
	"io"
	"net/http"
	"time"
)

// written bounds what is written before a client must have read, in bytes.
const written = 64 << 10

// Patience cuts off clients that read nothing for ten seconds while they are answered, so that no answer, however long, keeps a
// connection and what it reads from for ever.
func Patience(h http.Handler) http.Handler { return patience(h, defaultStall) }

func patience(h http.Handler, stall time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &patient{w, http.NewResponseController(w), stall}
		_ = p.control.SetWriteDeadline(time.Time{}) // that of the answer before, on the same connection
		h.ServeHTTP(p, r)
	})
}

// patient is an answer whose every part must be read in time.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *patient) Write(data []byte) (n int, err error) {
	for len(data) > 0 {
		_ = p.control.SetWriteDeadline(time.Now().Add(p.stall)) // a test's recorder has none
		done, err := p.ResponseWriter.Write(data[:min(len(data), written)])
		if n += done; err != nil {
			return n, err
		}
		data = data[done:]
	}
	return n, nil
}

// ReadFrom copies a file in parts, too.
func (p *patient) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{p}, from)
}

// Flush is for those who cannot be told of errors.
func (p *patient) Flush() { _ = p.FlushError() }

func (p *patient) FlushError() error {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.stall))
	return p.control.Flush()
}
