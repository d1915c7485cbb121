package workspace

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// filesystemOf returns the name of the filesystem that a directory is on, "" if the system does not say.
func filesystemOf(dir string) string {
	volume, err := windows.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
	if err != nil {
		return ""
	}
	var name [windows.MAX_PATH + 1]uint16
	if windows.GetVolumeInformation(volume, nil, 0, nil, nil, nil, &name[0], uint32(len(name))) != nil {
		return ""
	}
	return strings.ToLower(windows.UTF16ToString(name[:]))
}
