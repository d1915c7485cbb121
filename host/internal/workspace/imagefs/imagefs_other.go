//go:build !linux

package imagefs

import "context"

// Serve is [ErrUnsupported].
func Serve(context.Context, Options) error { return ErrUnsupported }
