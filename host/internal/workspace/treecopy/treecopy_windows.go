package treecopy

import (
	"context"
	"errors"
)

// Copy is an error: it is not built for Windows.
func Copy(context.Context, string, string, ...string) error {
	return errors.New("directories are not copied on Windows")
}
