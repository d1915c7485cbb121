package main

import (
	"strings"

	"golang.org/x/sys/windows"
)

// linedCommand returns the words of a line, as Windows reads command lines.
func linedCommand(line string) []string {
	argv, err := windows.DecomposeCommandLine(line)
	if err != nil {
		return strings.Fields(line)
	}
	return argv
}
