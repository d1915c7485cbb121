package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
)

// enterBranch is the hidden command that becomes a program in a branch.
const enterBranch = "enter-branch"

func newBranchRun() *cobra.Command {
	return &cobra.Command{
		Use: "run NAME -- COMMAND [ARG]...", Short: "Run a command in a branch, under the path of the original",
		Long: `Run a command in a branch. For the command, the files of the branch are at the path of the original, so that absolute paths in
settings and caches are right. The exit status is that of COMMAND. Linux only. See docs/BRANCHES.md.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return usageError{errors.New("name a branch, and behind -- the command: `tidemark branch run other-way -- make test`")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := whereIs(cmd, "")
			if err != nil {
				return err
			}
			c, err := clientFor("branch_run")
			if err != nil {
				return err
			}
			var a branches.RunIn
			if err := c.Tool(cmd.Context(), "branch_run", branches.RunParams{OneParams: branches.OneParams{Where: where, Name: args[0], Env: os.Environ()}, Program: args[1]}, &a); err != nil {
				return err
			}
			return runInside(cmd, a.Binds, a.At, args[1:], a.Env)
		},
	}
}

// runInside runs a program that sees directories at other paths, in one of these paths. This process waits in the directory of the
// branch, so that it is known to be in use.
func runInside(cmd *cobra.Command, binds []ownpath.Bind, in string, line, env []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{enterBranch, "--in", in}
	for _, b := range binds {
		args = append(args, b.Dir, b.At)
	}
	dir := ownpath.Outside(binds, in)
	runtime.LockOSThread() // the program ends with the thread that started it
	defer runtime.UnlockOSThread()
	p := exec.Command(self, append(append(args, "--"), line...)...)
	p.Dir, p.Env, p.Stdin, p.Stdout, p.Stderr = dir, env, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := ownpath.Prepare(p); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM, syscall.SIGHUP) // what a user types to interrupt reaches the program itself
	defer signal.Stop(ending)
	if err := p.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-ending:
				_ = p.Process.Signal(s) // it may have ended
			case <-ended:
				return
			}
		}
	}()
	err = p.Wait()
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return err
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return programEnded(128 + int(s.Signal())) // as shells have it
	}
	return programEnded(exit.ExitCode())
}

// newInBranch runs an agent in a branch. Tidemark starts it, in a terminal or without one. Its arguments are those of
// [newEnterBranch].
func newInBranch() *cobra.Command {
	var in string
	cmd := &cobra.Command{
		Use: branches.InBranch + " DIR AT [DIR AT]... --in AT -- COMMAND [ARG]...", Short: "Run a command that sees directories at other paths", Hidden: true,
		Args: bindArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			binds, line := bindsOf(cmd, args)
			return runInside(cmd, binds, in, line, os.Environ())
		},
	}
	cmd.Flags().StringVar(&in, "in", "", "working directory, as the command sees it")
	return cmd
}

// newEnterBranch becomes a command in a branch. See [ownpath.Enter].
func newEnterBranch() *cobra.Command {
	var in string
	cmd := &cobra.Command{
		Use: enterBranch + " DIR AT [DIR AT]... --in AT [-- COMMAND [ARG]...]", Short: "Become a command that sees directories at other paths", Hidden: true,
		Args: bindArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			binds, line := bindsOf(cmd, args)
			return ownpath.Enter(binds, in, line, os.Environ())
		},
	}
	cmd.Flags().StringVar(&in, "in", "", "working directory, as the command sees it")
	return cmd
}

func bindArgs(cmd *cobra.Command, args []string) error {
	n := cmd.ArgsLenAtDash()
	if n < 0 {
		n = len(args)
	}
	if n == 0 || n%2 != 0 {
		return usageError{fmt.Errorf("%s takes pairs of directories. Tidemark itself runs it.", cmd.Name())}
	}
	return nil
}

// bindsOf returns the directories and the command of an argument list that [bindArgs] accepts.
func bindsOf(cmd *cobra.Command, args []string) (binds []ownpath.Bind, line []string) {
	n := cmd.ArgsLenAtDash()
	if n < 0 {
		n = len(args)
	}
	for i := 0; i < n; i += 2 {
		binds = append(binds, ownpath.Bind{Dir: args[i], At: args[i+1]})
	}
	return binds, args[n:]
}

// outside returns the path that the daemon has for what this process sees at a path. They differ in a branch that is seen at the
// path of its original.
func outside(path string) string { return ownpath.Outside(ownpath.Here(), path) }

// goOutside makes the working directory the one that the daemon knows.
func goOutside() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	if out := outside(dir); out != dir && os.Chdir(out) == nil {
		_ = os.Setenv("PWD", out) // it has no character that is refused
	}
}
