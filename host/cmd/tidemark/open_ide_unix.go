//go:build !windows

package main

// linedCommand returns a command that runs a line as the shell reads it, with one more argument, as Git runs editors.
func linedCommand(line string) []string { return []string{"sh", "-c", line + ` "$@"`, line} }
