//go:build !windows

package terminal

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/charmbracelet/x/termios"
	"github.com/charmbracelet/x/xpty"
	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/recording"
)

// prepare makes a program the leader of a session whose terminal is its standard input.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
}

// started returns the file by which a program that has started is read and typed to. It closes this process's end of the
// program's terminal, so that reading ends with the program.
func started(p xpty.Pty) (io.ReadWriteCloser, error) {
	u, ok := p.(*xpty.UnixPty)
	if !ok {
		return p, nil
	}
	_ = u.Slave().Close()
	fd := -1
	var err error
	if controlled := u.Control(func(master uintptr) {
		if fd, err = unix.FcntlInt(master, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			err = unix.SetNonblock(fd, true) // so that reading can be ended
		}
	}); controlled != nil {
		err = controlled
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "pty"), nil
}

// hidden reports whether the program reads a line without showing it, as for a password.
func hidden(p xpty.Pty) (yes bool) {
	u, ok := p.(*xpty.UnixPty)
	if !ok {
		return false
	}
	_ = u.Control(func(fd uintptr) { // reading the terminal's other end gives its modes
		t, err := termios.GetTermios(int(fd))
		yes = err == nil && t.Lflag&unix.ECHO == 0 && t.Lflag&unix.ICANON != 0
	})
	return yes
}

// follow gives the program's terminal each new size of the user's, until the returned function is called.
func (r *recorder) follow(p xpty.Pty, cols, rows int) (stop func()) {
	out, ok := r.o.Out.(*os.File)
	if !ok {
		return func() {}
	}
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if c, n := sizeOf(out); c != cols || n != rows { // it may have changed before the first signal
				cols, rows = c, n
				r.put(queued{code: recording.Resize, cols: cols, rows: rows}) // before the program can draw in it
				_ = p.Resize(cols, rows)
			}
			select {
			case <-changed:
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(done)
		<-ended
	}
}

// hangup tells a program's session that its terminal is closed, and ends what ignores that for a time.
func hangup(p *os.Process, d time.Duration) {
	_ = unix.Kill(-p.Pid, unix.SIGHUP)
	_ = unix.Kill(-p.Pid, unix.SIGCONT)
	time.AfterFunc(d, func() { _ = p.Kill() }) // after its end, it is not found
}

// drain waits until all output was read.
func drain(program io.Closer, shown <-chan struct{}) {
	select {
	case <-shown:
		return
	case <-time.After(drainTime): // a program in the background has the terminal open
	}
	_ = program.Close()
	<-shown
}

// signalled returns the signal that ended a program.
func signalled(s *os.ProcessState) (n int, ok bool) {
	w, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !w.Signaled() {
		return 0, false
	}
	return int(w.Signal()), true
}
