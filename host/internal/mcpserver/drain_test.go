package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/mcpserver"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// duplex is a connection of which one direction can be ended before the other.
type duplex struct {
	*io.PipeReader
	*io.PipeWriter
}

func (d duplex) Close() error {
	_ = d.PipeReader.Close()
	return d.PipeWriter.Close()
}

const (
	initialize = `{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	ready      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	waiting    = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_changes_since","arguments":{"wait":"reload","timeout_ms":60000}}}`
	cancel     = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`
	list       = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
)

// TestWhatWasAskedIsAnsweredBeforeTheEnd: a client that ends its side (printf … | tidemark mcp) gets
// every answer, and the connection ends when the last one has been given.
func TestWhatWasAskedIsAnsweredBeforeTheEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		lines   []string
		answers int
		took    time.Duration
	}{
		{"nothing asked", nil, 0, 0},
		{"a call that waits", []string{initialize, ready, waiting}, 2, time.Minute},
		{"several", []string{initialize, ready, waiting, list}, 3, time.Minute},
		{"a call that is cancelled has no answer", []string{initialize, ready, waiting, list, cancel}, 2, 0},
		{"nor has one that is cancelled before another", []string{initialize, ready, waiting, cancel, list}, 2, 0},
		{"cancelling an answered call changes nothing", []string{initialize, ready, list, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, list}, 3, 0},
		{"an unknown method", []string{initialize, ready, `{"jsonrpc":"2.0","id":9,"method":"no/such"}`}, 2, 0},
		{"an id that cannot be one", []string{initialize, ready, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, list}, 2, 0},
		{"a request whose id is null is a notification", []string{initialize, ready, `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewLive(t, nil)
				theirs, ourOut := io.Pipe()
				ourIn, out := io.Pipe()
				client, leave := w.Engine.Clients.Join("", "test", checkpoint.Scope{})
				defer leave()
				began := time.Now()
				go func() {
					for _, line := range c.lines {
						if _, err := io.WriteString(out, line+"\n"); err != nil {
							t.Error(err)
						}
						synctest.Wait() // answers may otherwise come in any order, and a call after its end be given up
					}
					_ = out.Close()
				}()
				served := make(chan error, 1)
				go func() {
					served <- mcpserver.Serve(context.Background(), w.Engine, client, "0", duplex{ourIn, ourOut})
					_ = ourOut.Close()
				}()
				answers := 0
				for lines := bufio.NewScanner(theirs); lines.Scan(); answers++ {
					var m struct{ ID any }
					if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.ID == nil {
						t.Errorf("%s: %v", lines.Bytes(), err)
					}
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
				if took := time.Since(began); answers != c.answers || took != c.took {
					t.Errorf("%d answers after %s, want %d after %s", answers, took, c.answers, c.took)
				}
			})
		})
	}
}

func TestAClientThatReadsNoMoreIsNotWaitedFor(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	theirs, ourOut := io.Pipe()
	ourIn, out := io.Pipe()
	client, leave := w.Engine.Clients.Join("", "test", checkpoint.Scope{})
	defer leave()
	_ = theirs.Close()
	go func() {
		_, _ = io.WriteString(out, initialize+"\n")
		_ = out.Close()
	}()
	_ = mcpserver.Serve(context.Background(), w.Engine, client, "0", duplex{ourIn, ourOut})
}
