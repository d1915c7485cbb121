//go:build cgo

package imagefs

import (
	"context"
	"errors"
)

// Serve is an error: cgofuse needs WinFsp's headers where it is built with cgo.
func Serve(context.Context, Options) error {
	return errors.New("this program cannot mount snapshots, because it was built with cgo. Build it with CGO_ENABLED=0.")
}
