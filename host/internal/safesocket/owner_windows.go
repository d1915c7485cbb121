package safesocket

import "io/fs"

// CheckDir has nothing to check: the directories are in the user's own profile.
func CheckDir(string, string) error { return nil }

// Check has nothing to check: the sockets are in the user's own profile.
func Check(string, fs.FileMode) error { return nil }

// CheckFile has nothing to check: the file is in the user's own profile.
func CheckFile(string, fs.FileInfo) error { return nil }

// CheckWriters has nothing to check: the path is in the user's own profile.
func CheckWriters(string, fs.FileInfo) error { return nil }
