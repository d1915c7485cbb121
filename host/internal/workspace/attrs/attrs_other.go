//go:build !linux && !windows

package attrs

import (
	"os"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// SetXattrs does nothing: they are not recorded here.
func SetXattrs(*os.File, []tree.Xattr) error { return nil }

// LinkTime does nothing: the time of a link is not set here.
func LinkTime(*os.Root, string, int64) error { return nil }

// MakeLink makes a symbolic link.
func MakeLink(r *os.Root, name, target string) error { return r.Symlink(target, name) }
