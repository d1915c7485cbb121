package workspace

import (
	"fmt"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/winfile"
)

// dirIdentity identifies a directory wherever it is moved, "" if it cannot be read.
func dirIdentity(dir string) string {
	h, err := winfile.OpenDir(dir)
	if err != nil {
		return ""
	}
	defer func() { _ = windows.CloseHandle(h) }()
	info, err := winfile.Stat(h)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d on %d", info.Inode, info.Volume)
}
