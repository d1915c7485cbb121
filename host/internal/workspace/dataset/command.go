package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// atMost bounds one command of ZFS, which waits for the pool to write.
const atMost = time.Minute

// program is where the command is. Users may not have its directory in their path.
func program() (string, error) {
	if path, err := exec.LookPath("zfs"); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, "zfs")); err == nil {
			return path, nil
		}
	}
	return "", errors.New("the command zfs is missing")
}

// run runs the command, and returns its output.
func run(ctx context.Context, args ...string) (string, error) {
	path, err := program()
	if err != nil {
		return "", err
	}
	ctx, end := context.WithTimeout(ctx, atMost)
	defer end()
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // ZFS's own program
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("zfs %s: %w", args[0], ctx.Err())
		}
		return "", explain(args[0], failed.String(), err)
	}
	return out.String(), nil
}

// meanings are what parts of the command's messages mean. Neither OpenZFS nor zfs-fuse tells it by the exit code.
var meanings = []struct {
	text string
	is   error
}{
	{"permission denied", fs.ErrPermission},
	{"may only be mounted by root", fs.ErrPermission},
	{"insufficient privileges", fs.ErrPermission},
	{"does not exist", fs.ErrNotExist},
	{"could not find any snapshots", fs.ErrNotExist},
	{"already exists", fs.ErrExist},
	{"out of space", syscall.ENOSPC},
	{"no space left", syscall.ENOSPC},
	{"quota exceeded", syscall.EDQUOT},
	{"is busy", syscall.EBUSY},
}

// quoted are names and directories in a message.
var quoted = lazyregexp.New(`'[^']*'`)

// explain returns the command's message as an error, on one line.
func explain(what, message string, err error) error {
	lines := strings.FieldsFunc(message, func(r rune) bool { return r == '\n' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	text := strings.Join(lines, "; ")
	if text == "" {
		text = err.Error()
	}
	plain := strings.ToLower(quoted().ReplaceAllString(text, ""))
	for _, m := range meanings {
		if strings.Contains(plain, m.text) {
			return &commandError{what, text, m.is}
		}
	}
	return &commandError{what, text, err}
}

// commandError is a command that failed.
type commandError struct {
	what, text string
	is         error
}

func (e *commandError) Error() string { return fmt.Sprintf("zfs %s: %s", e.what, e.text) }

func (e *commandError) Unwrap() error { return e.is }
