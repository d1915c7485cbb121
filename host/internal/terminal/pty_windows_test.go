package terminal_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/terminal"
)

// inConsole is the environment variable by which this test program is what is recorded.
const inConsole = "TIDEMARK_TEST_CONSOLE"

func TestMain(m *testing.M) {
	if os.Getenv(inConsole) == "" {
		os.Exit(m.Run())
	}
	os.Exit(console())
}

// console asks for a name and for a password. It opens the console by its names: Wine gives a program no standard handles there.
func console() int {
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return 100
	}
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return 101
	}
	line := func(prompt string) string {
		_, _ = fmt.Fprint(out, prompt)
		b := make([]byte, 100)
		n, _ := in.Read(b)
		return strings.TrimSpace(string(b[:n]))
	}
	name := line("name? ")
	var mode uint32
	if windows.GetConsoleMode(windows.Handle(in.Fd()), &mode) != nil || windows.SetConsoleMode(windows.Handle(in.Fd()), mode&^windows.ENABLE_ECHO_INPUT) != nil {
		return 102
	}
	secret := line("Password: ")
	_, _ = fmt.Fprintf(out, "\r\nhello %s, \x1b[31m%d\x1b[0m letters, token=ghp_%s\r\n", name, len(secret), strings.Repeat("a1B2", 9))
	line("more? ")
	return 7
}

// consoleUser is a person at a recorded console.
type consoleUser struct {
	t     *testing.T
	store recording.Store
	in    *io.PipeWriter
	mu    sync.Mutex
	shown bytes.Buffer
	more  chan struct{}
	done  chan int
}

func (u *consoleUser) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case u.more <- struct{}{}:
	default:
	}
	return u.shown.Write(b)
}

// see waits until the console has shown a text.
func (u *consoleUser) see(text string) {
	u.t.Helper()
	for deadline := time.After(time.Minute); ; { // of which Wine takes 10 s for the first key
		u.mu.Lock()
		shown := u.shown.String()
		u.mu.Unlock()
		if strings.Contains(shown, text) {
			return
		}
		select {
		case <-u.more:
		case <-deadline:
			u.t.Fatalf("%q is not shown: %q", text, shown)
		}
	}
}

func (u *consoleUser) typed(text string) {
	if _, err := io.WriteString(u.in, text); err != nil {
		u.t.Fatal(err)
	}
}

func atConsole(t *testing.T) (u *consoleUser, stop context.CancelFunc) {
	t.Setenv(inConsole, "1")
	in, typed := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	u = &consoleUser{t: t, store: recording.Store{Dir: filepath.Join(t.TempDir(), "r")}, in: typed, more: make(chan struct{}, 1), done: make(chan int, 1)}
	go func() {
		status, err := terminal.Run(ctx, terminal.Options{
			Args: []string{os.Args[0]}, Dir: filepath.Dir(os.Args[0]), Store: u.store, Redactor: redact.Default(), Input: true,
			Allowed: func(string) (bool, error) { return true, nil }, In: in, Out: u,
		})
		if err != nil {
			t.Error(err)
		}
		u.done <- status
	}()
	return u, stop
}

// TestAConsoleIsRecorded: a program in a pseudo-console of Windows, by ConPTY.
func TestAConsoleIsRecorded(t *testing.T) {
	u, stop := atConsole(t)
	defer stop()
	u.see("name?")
	u.typed("Ada\r")
	u.see("Password:")
	u.typed("hunter2horse\r")
	u.see("more?")
	u.typed("yes\r")
	if status := <-u.done; status != 7 {
		t.Errorf("exit status %d", status)
	}
	if shown := u.shown.String(); !strings.Contains(shown, "ghp_a1B2") {
		t.Errorf("the user is not shown what the program wrote: %q", shown)
	}
	r, err := u.store.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var typed strings.Builder
	for e, err := range r.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Code == recording.Input {
			typed.Write(e.Data)
		}
	}
	if typed.String() != "Ada\r\ryes\r" {
		t.Errorf("recorded input %q", typed.String())
	}
	frame, err := r.Frame(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := "name? Ada\nPassword:\nhello Ada, 12 letters, token=" + strings.Repeat("*", 40) + "\nmore?"
	if got := strings.TrimSpace(strings.Join(frame.Text(), "\n")); got != want {
		t.Errorf("recorded\n%s\nnot\n%s", got, want)
	}
	if s := r.Summary(); !s.Finished || s.Status != 7 {
		t.Errorf("%+v", s)
	}
}

func TestAConsoleIsClosedOnDemand(t *testing.T) {
	u, stop := atConsole(t)
	u.see("name?")
	stop()
	<-u.done
}
