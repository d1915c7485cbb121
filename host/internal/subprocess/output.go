package subprocess

import (
	"errors"
	"os/exec"
)

// Tail keeps the end of what is written to it: at least Most bytes, and at most twice that.
type Tail struct {
	Most int
	text []byte
}

func (t *Tail) Write(b []byte) (int, error) {
	switch n := len(t.text); {
	case len(b) >= t.Most:
		t.text = append(t.text[:0], b[len(b)-t.Most:]...)
		return len(b), nil
	case n+len(b) > 2*t.Most:
		t.text = append(t.text[:0], t.text[n-t.Most:]...)
	}
	t.text = append(t.text, b...)
	return len(b), nil
}

func (t *Tail) String() string { return string(t.text) }

// Run runs a command, and returns an error where that failed. A command that succeeded and left a program running which has its output
// open did not fail, after its WaitDelay.
func Run(cmd *exec.Cmd) error {
	if err := cmd.Run(); !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	return nil
}

// EndRest ends what a command that has ended left running. The command was Whole.
func EndRest(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Cancel() // nothing may be left
	}
}
