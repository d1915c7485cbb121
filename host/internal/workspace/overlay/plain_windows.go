package overlay

import (
	"context"
	"errors"
)

// Plain is an error for a branch that is mounted: it is not built for Windows.
func Plain(_ context.Context, _ []string, dir string, _ func(ctx context.Context, from, to string) error) error {
	if !Is(dir) {
		return nil
	}
	return errors.New("on Windows, a mounted branch does not become plain files. Copy its directory.")
}
