package viewclient_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/viewclient"
)

// TestAnInterruptedCallSaysSo: the daemon is not at fault.
func TestAnInterruptedCallSaysSo(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	go func() { // it reads the request and does not answer
		_, _ = theirs.Read(make([]byte, 1))
		interrupt(errors.New("interrupt signal"))
	}()
	c := &viewclient.Client{Dial: func(context.Context, string) (net.Conn, error) { return ours, nil }}
	err := c.Tool(ctx, "branch_list", nil, nil)
	if !errors.Is(err, viewclient.ErrInterrupted) || !errors.Is(err, context.Canceled) || errors.Is(err, home.ErrUnreachable) || err.Error() != "interrupted before the daemon answered" {
		t.Errorf("the error is %v", err)
	}
}
