//go:build !windows

package main

import (
	"cmp"
	"os"
)

// defaultShell is the user's shell.
func defaultShell() string { return cmp.Or(os.Getenv("SHELL"), "/bin/sh") }
