package viewclient_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"tidemark.dev/tidemark/host/internal/viewclient"
)

// The connection to a daemon that was killed breaks, and so does the next one while it ends. The daemon after it gets the request with the same ID.
func TestARequestReachesTheDaemonAfterOneThatEnds(t *testing.T) {
	ids := make([]string, 0, 3)
	c := &viewclient.Client{Dial: func(context.Context, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		answer := ""
		if len(ids) == 2 {
			answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
		}
		ids = append(ids, "")
		id := &ids[len(ids)-1]
		go func() {
			if r, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
				*id = r.URL.Query().Get("call")
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(theirs, answer)
			_ = theirs.Close()
		}()
		return ours, nil
	}}
	var out struct{}
	if err := c.Tool(t.Context(), "x", nil, &out); err != nil {
		t.Fatal(err)
	}
	if len(ids) != 3 || ids[2] == "" {
		t.Errorf("the requests have the IDs %q", ids)
	}
}
