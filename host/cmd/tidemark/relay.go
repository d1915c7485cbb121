package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/installer"
)

// relay copies frames between the browser that starts it and the daemon, and does nothing else. The
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
	return splice(ctx, conn, os.Stdin, os.Stdout)
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
