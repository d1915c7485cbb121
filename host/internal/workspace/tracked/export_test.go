package tracked

// Cloned has a function called between cloning a file of the workspace and looking at its stat again.
func Cloned(f func(path string)) { cloned = f }
