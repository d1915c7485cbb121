package provider

import "os"

// owned is true: on Windows a directory inherits the rights of the one that it is in.
func owned(os.FileInfo) bool { return true }
