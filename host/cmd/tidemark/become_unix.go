//go:build !windows

package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// become replaces this process by a program, which keeps its ID and its terminal, and leads a process group of its own.
func become(_ *cobra.Command, line, env []string) error {
	lead(int(os.Stdin.Fd()))
	return fmt.Errorf("%s: %w", line[0], syscall.Exec(line[0], line, env)) //nolint:gosec // the agent that the user chose
}

// lead makes this process the leader of its group, so that the agent and what it starts can be ended as one. A shell that starts a
// command without job control and waits for it, as dash does, keeps the command in its own group. In a terminal, the new group
// becomes the one in the foreground, if the old one was.
func lead(terminal int) {
	group := unix.Getpgrp()
	if group == os.Getpid() {
		return
	}
	front, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	if unix.Setpgid(0, 0) != nil || err != nil || front != group {
		return
	}
	signal.Ignore(unix.SIGTTOU) // which a group in the background gets for this; the agent's is as it was
	_ = unix.IoctlSetPointerInt(terminal, unix.TIOCSPGRP, os.Getpid())
	signal.Reset(unix.SIGTTOU)
}
