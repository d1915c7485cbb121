package grants

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// diskFull is the system's error for a disk without room.
const diskFull = windows.ERROR_DISK_FULL

// final returns the path of an existing file without links, junctions and short names, as the system spells it.
func final(path string) (string, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return "", err
	}
	h, err := windows.CreateFile(name, 0, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0) // the flag opens directories
	if err != nil {
		return "", err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	for size := uint32(windows.MAX_PATH); ; {
		buffer := make([]uint16, size)
		n, err := windows.GetFinalPathNameByHandle(h, &buffer[0], size, 0)
		if err != nil {
			return "", err
		}
		if n < size {
			path := windows.UTF16ToString(buffer[:n])
			if share, ok := strings.CutPrefix(path, `\\?\UNC\`); ok {
				return filepath.Clean(`\\` + share), nil
			}
			return filepath.Clean(strings.TrimPrefix(path, `\\?\`)), nil
		}
		size = n + 1
	}
}
