package objects

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/winfile"
	"tidemark.dev/tidemark/installer/safefile"
)

// OpenFile opens a file that may have names in other stores and images, or creates one, by the flags of [os.OpenFile]. It keeps none of them from
// deleting their names.
func OpenFile(path string, flag int) (*os.File, error) { return winfile.OpenFile(path, flag) }

// update is [OpenFile] for a regular file, for reading and writing.
func update(path string) (*os.File, fs.FileInfo, error) {
	checked, info, err := safefile.Update(path)
	if err == nil {
		err = checked.Close()
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := OpenFile(path, os.O_RDWR)
	return f, info, err
}

// links returns how many names a file has.
func links(f *os.File) (uint64, error) {
	var info windows.ByHandleFileInformation
	err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info)
	return uint64(info.NumberOfLinks), err
}
