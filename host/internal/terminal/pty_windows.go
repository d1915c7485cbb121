package terminal

import (
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/charmbracelet/x/xpty"

	"tidemark.dev/tidemark/host/internal/recording"
)

// sizeEvery is how often the size of the user's terminal is read: Windows does not signal that it changed.
const sizeEvery = 250 * time.Millisecond

func prepare(*exec.Cmd) {}

// started returns what a program that has started is read and typed to by.
func started(p xpty.Pty) (io.ReadWriteCloser, error) { return p, nil }

// hidden is not known on Windows: only the text of the prompt tells that a password is typed.
func hidden(xpty.Pty) bool { return false }

// follow gives the program's terminal each new size of the user's, until the returned function is called.
func (r *recorder) follow(p xpty.Pty, cols, rows int) (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(sizeEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-done:
				return
			}
			if c, n := sizeOf(r.o.Out); c != cols || n != rows {
				cols, rows = c, n
				r.put(queued{code: recording.Resize, cols: cols, rows: rows}) // before the program can draw in it
				_ = p.Resize(cols, rows)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// hangup ends a program whose terminal is closed.
func hangup(p *os.Process, _ time.Duration) { _ = p.Kill() }

// drain waits until all output was read.
func drain(program io.Closer, shown <-chan struct{}) {
	select {
	case <-shown:
		return
	case <-time.After(drainTime): // the console stays open after its program
	}
	_ = program.Close()
	<-shown
}

func signalled(*os.ProcessState) (n int, ok bool) { return 0, false }
