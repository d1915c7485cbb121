package main

import "github.com/spf13/cobra"

// become runs a program in this terminal, until it ends.
func become(cmd *cobra.Command, line, env []string) error { return inTerminal(cmd, "", env, line...) }
