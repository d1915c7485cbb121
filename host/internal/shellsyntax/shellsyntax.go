// Package shellsyntax parses commands of a shell that others wrote.
//
// It guarantees: the stack and the time that a command takes are bounded, whatever it is. A hook parses the commands of agents, and
// one that exhausts its stack ends with a status that blocks the agent.
package shellsyntax

import (
	"errors"
	"io"
	"runtime"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxCommand bounds a command in bytes. Linux starts no program with a longer argument.
	maxCommand = 128 << 10
	// maxFrames bounds how many functions call each other while a command is read: about ten for each of its parts in another.
	maxFrames = 2000
	// step is how much is read of a command, in bytes, between two looks at the stack.
	step = 128
)

// Parse reads a command as bash does. It returns false for one that bash does not take, and for one that is too long or nested too
// deep.
func Parse(command string) (*syntax.File, bool) {
	if len(command) > maxCommand {
		return nil, false
	}
	file, err := syntax.NewParser().Parse(&bounded{rest: command}, "")
	return file, err == nil
}

// bounded reads a text as long as the functions that read it are not nested too deep.
type bounded struct{ rest string }

var errDeep = errors.New("the command is nested too deep")

func (b *bounded) Read(p []byte) (int, error) {
	if b.rest == "" {
		return 0, io.EOF
	}
	if runtime.Callers(maxFrames, make([]uintptr, 1)) > 0 {
		return 0, errDeep
	}
	n := copy(p[:min(len(p), step)], b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
