package objects

import (
	"os"

	"golang.org/x/sys/windows"
)

// links returns how many names a file has.
func links(f *os.File) (uint64, error) {
	var info windows.ByHandleFileInformation
	err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info)
	return uint64(info.NumberOfLinks), err
}
