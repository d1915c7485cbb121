package workspace

import "io/fs"

// allocated returns the size of a file: Windows does not list what it takes on disk.
func allocated(info fs.FileInfo) int64 { return info.Size() }
