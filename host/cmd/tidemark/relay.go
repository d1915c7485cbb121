package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/installer"
	"tidemark.dev/tidemark/protocol"
)

// relay copies frames between the browser that starts it and the daemon. After the user has stopped the daemon, it waits. The
// browser may kill it at any moment. No data is lost, because the extension keeps every frame until it is
// acknowledged.
func relay(ctx context.Context, origin string) error {
	if origin != installer.Origin {
		return fmt.Errorf("only Tidemark's own extension (%s) can connect, not %q", installer.Origin, origin)
	}
	h, err := home.Find(version)
	if err != nil {
		return err
	}
	conn, err := h.Dial(ctx, home.RelaySocket)
	if err != nil {
		return err
	}
	if err := splice(ctx, conn, os.Stdin, os.Stdout); err != nil || !home.Stopped(h) {
		return err
	}
	return wait(ctx, h, os.Stdin, os.Stdout)
}

// lookAgain is how often a relay that waits looks for a daemon.
const lookAgain = 100 * time.Millisecond

// wait keeps the connection of the extension, which would start a daemon otherwise, until a user does or the browser closes it.
func wait(ctx context.Context, h home.Home, in io.Reader, out io.Writer) error {
	stopped, err := json.Marshal(protocol.ErrorMessage{Type: protocol.TypeError, Error: protocol.Error{Code: protocol.CodeStopped, Message: "the user stopped the daemon"}})
	if err != nil {
		return err
	}
	if err := wire.NewWriter(out, protocol.MaxToExtension).Write(stopped); err != nil {
		return err
	}
	closed := make(chan struct{})
	go func() { // ends with the browser's connection or with this process
		defer close(closed)
		_, _ = io.Copy(io.Discard, in) // the extension sends what is not acknowledged again
	}()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for home.Stopped(h) {
		select {
		case <-ctx.Done():
			return nil
		case <-closed:
			return nil
		case <-look.C:
		}
	}
	return nil
}

// splice copies both ways until either side ends.
func splice(ctx context.Context, conn net.Conn, in io.Reader, out io.Writer) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	ended := make(chan error, 1)
	go func() {
		// This goroutine may outlive splice: only the end of the process, which follows, can end its
		// read of standard input.
		_, err := io.Copy(conn, in)
		if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil {
			err = half.CloseWrite() // data in flight still arrives
		}
		ended <- err
	}()
	_, err := io.Copy(out, conn)
	_ = conn.Close()
	select {
	case copyErr := <-ended:
		err = errors.Join(err, copyErr)
	default:
	}
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
