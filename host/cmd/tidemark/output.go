package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// errUnwritten ends a command that the user interrupted while it wrote.
var errUnwritten = errors.New("interrupted before all of the output was written")

// writeOutput has write fill the file that --output names, or standard output. A new file belongs to the user alone. A pipe
// whose other end nobody reads does not keep the user from interrupting the command.
func writeOutput(cmd *cobra.Command, to string, write func(io.Writer) error) error {
	done := make(chan error, 1)
	go func() {
		if to == "" || to == "-" {
			done <- write(cmd.OutOrStdout())
			return
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err == nil {
			err = errors.Join(write(f), f.Close())
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-cmd.Context().Done():
		return errUnwritten
	}
}
