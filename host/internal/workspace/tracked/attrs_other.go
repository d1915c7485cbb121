//go:build !linux && !windows

package tracked

import (
	"os"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

func setXattrs(*os.File, []tree.Xattr) error { return nil }

func linkTime(*os.Root, string, int64) error { return nil }

func makeLink(r *os.Root, name, target string) error { return r.Symlink(target, name) }
