//go:build !windows

package main

import (
	"fmt"
	"syscall"

	"github.com/spf13/cobra"
)

// become replaces this process by a program, which keeps its ID and its terminal.
func become(_ *cobra.Command, line, env []string) error {
	return fmt.Errorf("%s: %w", line[0], syscall.Exec(line[0], line, env)) //nolint:gosec // the agent that the user chose
}
