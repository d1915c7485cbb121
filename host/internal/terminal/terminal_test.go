//go:build !windows

package terminal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/xpty"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/terminal"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// patience bounds each wait of a test.
const patience = 20 * time.Second

// user is a person at a terminal in which a program is recorded.
type user struct {
	t     *testing.T
	outer *xpty.UnixPty
	store recording.Store
	// ended are the commands that ended.
	mu    sync.Mutex
	ended []recording.Command
	seen  []byte
	more  chan struct{}
	// status is sent when the program has ended.
	status chan int
	err    error
	stop   context.CancelFunc
}

type setup struct {
	input   bool
	store   string
	allowed func(string) (bool, error)
	dir     string
	hangup  time.Duration
}

// record records a program in a new terminal.
func record(t *testing.T, s setup, args ...string) *user {
	t.Helper()
	outer, err := xpty.NewUnixPty(100, 30)
	if err != nil {
		t.Fatal(err)
	}
	if s.allowed == nil {
		s.allowed = func(string) (bool, error) { return true, nil }
	}
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	if s.store == "" {
		s.store = filepath.Join(t.TempDir(), "r")
	}
	ctx, stop := context.WithCancel(context.Background())
	u := &user{t: t, outer: outer, store: recording.Store{Dir: s.store}, more: make(chan struct{}, 1), status: make(chan int, 1), stop: stop}
	go func() { // it ends when the terminal is closed
		b := make([]byte, 32<<10)
		for {
			n, err := outer.Master().Read(b)
			u.mu.Lock()
			u.seen = append(u.seen, b[:n]...)
			u.mu.Unlock()
			u.wake()
			if err != nil {
				return
			}
		}
	}()
	running := make(chan struct{})
	go func() {
		defer close(running)
		status, err := terminal.Run(ctx, terminal.Options{
			Args: args, Dir: s.dir, Store: u.store, Redactor: redact.Default(), Allowed: s.allowed, Input: s.input, In: outer.Slave(), Out: outer.Slave(), HangupTime: s.hangup,
			Ended: func(c recording.Command) <-chan string {
				u.mu.Lock()
				u.ended = append(u.ended, c)
				u.mu.Unlock()
				u.wake()
				label := make(chan string, 1)
				label <- "m1 " + c.String()
				return label
			},
		})
		u.err = err
		u.status <- status
	}()
	t.Cleanup(func() {
		stop()
		<-running
		_ = outer.Close()
	})
	return u
}

func (u *user) wake() {
	select {
	case u.more <- struct{}{}:
	default:
	}
}

// until waits until something holds.
func (u *user) until(what string, holds func() bool) {
	u.t.Helper()
	deadline := time.After(patience)
	for {
		u.mu.Lock()
		ok := holds()
		u.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-u.more:
		case <-deadline:
			u.mu.Lock()
			defer u.mu.Unlock()
			u.t.Fatalf("%s: not within %s. The terminal has shown\n%q\nand the commands are %+v", what, patience, u.seen, u.ended)
		}
	}
}

// see waits until the terminal shows a text, and forgets everything up to its end.
func (u *user) see(text string) {
	u.t.Helper()
	u.until("see "+text, func() bool {
		_, after, ok := bytes.Cut(u.seen, []byte(text))
		if ok {
			u.seen = after
		}
		return ok
	})
}

func (u *user) typed(text string) {
	u.t.Helper()
	if _, err := u.outer.Master().Write([]byte(text)); err != nil {
		u.t.Fatal(err)
	}
}

// command types a command, and waits until the shell reports its end.
func (u *user) command(text string) recording.Command {
	u.t.Helper()
	u.mu.Lock()
	before := len(u.ended)
	u.mu.Unlock()
	u.typed(text + "\r")
	u.until("the end of "+text, func() bool { return len(u.ended) > before })
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ended[len(u.ended)-1]
}

// exit waits for the end of the program.
func (u *user) exit() int {
	u.t.Helper()
	select {
	case status := <-u.status:
		if u.err != nil {
			u.t.Error(u.err)
		}
		return status
	case <-time.After(patience):
		u.mu.Lock()
		defer u.mu.Unlock()
		u.t.Fatalf("the program does not end. The terminal has shown\n%q", u.seen)
		return -1
	}
}

// eventually waits until something holds that the terminal does not show.
func (u *user) eventually(what string, holds func() bool) {
	u.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			u.t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// file returns the state of the recording's file.
func (u *user) file() os.FileInfo {
	u.t.Helper()
	names, err := filepath.Glob(filepath.Join(u.store.Dir, "*"+recording.Suffix))
	if err != nil || len(names) != 1 {
		u.t.Fatal(names, err)
	}
	info, err := os.Stat(names[0])
	if err != nil {
		u.t.Fatal(err)
	}
	return info
}

// recorded returns the events of the recording, and all their data in a row.
func (u *user) recorded() (events []recording.Event, data string) {
	u.t.Helper()
	r, err := u.store.Open("")
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var all strings.Builder
	for e, err := range r.Events(0) {
		if err != nil {
			u.t.Fatal(err)
		}
		events = append(events, e)
		all.Write(e.Data)
	}
	return events, all.String()
}

// output joins the recorded output.
func output(events []recording.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Code == recording.Output {
			b.Write(e.Data)
		}
	}
	return b.String()
}

func TestAProgramIsPassedThroughAndRecorded(t *testing.T) {
	u := record(t, setup{}, "sh", "-c", `stty size; printf 'name? '; read name; printf 'hello %s\n' "$name"; exit 7`)
	u.see("30 100\r\n")
	u.see("name? ")
	u.typed("wörld\r")
	u.see("hello wörld\r\n")
	if status := u.exit(); status != 7 {
		t.Errorf("exit status %d", status)
	}
	events, data := u.recorded()
	if got := output(events); got != "30 100\r\nname? wörld\r\nhello wörld\r\n" {
		t.Errorf("recorded %q", got)
	}
	if last := events[len(events)-1]; last.Code != recording.Exit || string(last.Data) != "7" || strings.Contains(data, "m1") {
		t.Errorf("%q", data)
	}
}

func TestSignalsAndSizesReachTheProgram(t *testing.T) {
	u := record(t, setup{}, "sh", "-c", `trap 'echo interrupted' INT; trap 'stty size' WINCH; echo ready; while :; do read line && [ "$line" = end ] && kill -TERM $$; done`)
	u.see("ready")
	u.typed("\x03")
	u.see("interrupted")
	if err := u.outer.Resize(61, 17); err != nil {
		t.Fatal(err)
	}
	if p, err := os.FindProcess(os.Getpid()); err != nil || sendResize(p) != nil { // the kernel tells only the leader of the terminal's session
		t.Fatal(err)
	}
	u.see("17 61")
	u.typed("end\r")
	if status := u.exit(); status != 128+15 {
		t.Errorf("exit status %d", status)
	}
	events, _ := u.recorded()
	sizes := ""
	for _, e := range events {
		if e.Code == recording.Resize {
			sizes += string(e.Data)
		}
	}
	if sizes != "61x17" {
		t.Errorf("sizes %q", sizes)
	}
}

func TestTheTerminalIsClosedOnDemand(t *testing.T) {
	// The shell starts no program: dash ignores a signal that arrives while it does (onsig returns while vforked). Nor does it read: a
	// signal that arrives just before does not end that. It has a minute, as a machine may stall for seconds.
	u := record(t, setup{hangup: time.Minute}, "sh", "-c", `trap 'echo closed; exit 3' HUP; echo ready; while :; do :; done`)
	u.see("ready")
	u.stop()
	if status := u.exit(); status != 3 {
		t.Errorf("exit status %d", status)
	}
}

func TestABackgroundProgramDoesNotKeepTheTerminal(t *testing.T) {
	u := record(t, setup{}, "sh", "-c", `trap '' HUP; (sleep 30 & echo $! >pid); echo done`)
	u.see("done")
	if status := u.exit(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	r, err := u.store.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	pid, err := os.ReadFile(filepath.Join(r.Summary().Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("kill", strings.TrimSpace(string(pid))).Run(); err != nil {
		t.Error(err)
	}
}

func TestAMissingProgramLeavesNoRecording(t *testing.T) {
	store := recording.Store{Dir: t.TempDir()}
	status, err := terminal.Run(t.Context(), terminal.Options{
		Args: []string{"no-such-program-of-tidemark"}, Dir: t.TempDir(), Store: store, Redactor: redact.Default(),
		Allowed: func(string) (bool, error) { return true, nil }, In: strings.NewReader(""), Out: &bytes.Buffer{},
	})
	if status != -1 || err == nil || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%d, %v", status, err)
	}
	if list, err := store.List(t.Context()); len(list) > 0 || err != nil {
		t.Error(list, err)
	}
}

func TestTypedPasswordsAreNotRecorded(t *testing.T) {
	u := record(t, setup{input: true}, "sh", "-c", `printf 'Name: '; read name; stty -echo; printf 'Code: '; read one; stty echo; echo
		stty -icanon -echo min 1; printf 'vault token: '; dd bs=1 count=8 2>/dev/null >/dev/null; stty sane; echo; printf 'next: '; read two; echo end`)
	u.see("Name: ")
	u.typed("kim\r")
	u.see("Code: ")
	for _, c := range "hunter2-one" { // in parts, as it is typed
		u.typed(string(c))
	}
	u.typed("\r")
	u.see("vault token: ")
	u.typed("s3cr3t8\r")
	u.see("next: ")
	u.typed("API_TOKEN=abcdefghij0123456789\r")
	u.see("end")
	if status := u.exit(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	events, data := u.recorded()
	for _, secret := range []string{"hunter2", "s3cr3t8", "abcdefghij"} {
		if strings.Contains(data, secret) {
			t.Errorf("%s is recorded: %q", secret, data)
		}
	}
	typed := ""
	for _, e := range events {
		if e.Code == recording.Input {
			typed += string(e.Data)
		}
	}
	if want := "kim\r\r\rAPI_TOKEN=" + strings.Repeat("*", 20) + "\r"; typed != want {
		t.Errorf("typed %q, want %q", typed, want)
	}
	if !strings.Contains(output(events), "API_TOKEN="+strings.Repeat("*", 20)+"\r\n") {
		t.Errorf("output %q", output(events))
	}
}

// writer is a function that writes.
type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// TestAnAnswerComesAfterItsPrompt: a program that answers a prompt in the instant in which it is shown types a password too.
func TestAnAnswerComesAfterItsPrompt(t *testing.T) {
	in, typing := io.Pipe()
	defer func() { _ = typing.Close() }()
	shown := ""
	store := recording.Store{Dir: t.TempDir()}
	status, err := terminal.Run(t.Context(), terminal.Options{
		Args: []string{"sh", "-c", `stty -icanon -echo min 1; printf 'vault token: '; dd bs=1 count=8 2>/dev/null >/dev/null; stty sane; echo end`},
		Dir:  t.TempDir(), Store: store, Redactor: redact.Default(), Allowed: func(string) (bool, error) { return true, nil }, Input: true, In: in,
		Out: writer(func(b []byte) (int, error) {
			before := shown
			shown += string(b)
			if strings.Contains(shown, "token: ") && !strings.Contains(before, "token: ") {
				for _, part := range []string{"s3cr3t", "8\r"} { // once the second part is read, the first one has been recorded
					if _, err := typing.Write([]byte(part)); err != nil {
						t.Error(err)
					}
				}
			}
			return len(b), nil
		}),
	})
	if status != 0 || err != nil {
		t.Error(status, err)
	}
	if _, data := (&user{t: t, store: store}).recorded(); strings.Contains(data, "s3cr3t") || !strings.Contains(data, "vault token: ") {
		t.Errorf("recorded %q", data)
	}
}

func TestNothingIsRecordedWhereItIsNotAllowed(t *testing.T) {
	open, closed := t.TempDir(), t.TempDir()
	u := record(t, setup{dir: open, allowed: func(dir string) (bool, error) {
		if dir == closed {
			return false, errors.New("not allowed")
		}
		return true, nil
	}}, requireShell(t, "bash"))
	u.see("$ ")
	u.command("cd " + closed)
	u.typed("echo pri''vate-text; echo A''B\r")
	u.see("AB\r\n")
	u.typed("cd -\r")
	u.see(open + "\r\n")
	u.see("$ ")
	if c := u.command("echo back''again"); c.Text != "echo back''again" || c.Dir != open {
		t.Errorf("%+v", c)
	}
	u.typed("exit\r")
	u.exit()
	events, data := u.recorded()
	if strings.Contains(data, "private-text") || !strings.Contains(data, "backagain") {
		t.Errorf("recorded %q", data)
	}
	gap := recording.Gap{}
	for _, e := range events {
		if e.Code == recording.Dropped {
			if err := json.Unmarshal(e.Data, &gap); err != nil {
				t.Fatal(err)
			}
		}
	}
	if gap.Bytes == 0 || !strings.Contains(gap.Why, "does not allow") {
		t.Errorf("gap %+v", gap)
	}
}

// TestScreensAreSavedWhileAProgramWrites: also of one that is never quiet, so that its first frame is not the first to be made.
func TestScreensAreSavedWhileAProgramWrites(t *testing.T) {
	u := record(t, setup{}, "sh", "-c", `while head -c 90000 /dev/urandom | base64; do sleep 0.1; done`)
	u.eventually("screens are saved", func() bool {
		names, _ := filepath.Glob(filepath.Join(u.store.Dir, "*.screens"))
		info, err := os.Stat(strings.Join(names, ""))
		return err == nil && info.Size() > 4<<10 // more than one
	})
	u.typed("\x03")
	u.exit()
}

// TestAFullDiskEndsNothing fills the disk while a program is recorded, and frees it again.
func TestAFullDiskEndsNothing(t *testing.T) {
	disk := disktest.Small(t, "8m") // all of the output fits, without the ballast
	u := record(t, setup{store: filepath.Join(disk, "r")}, "sh", "-c", `stty -echo; echo ready; while read n; do sleep 0.2; head -c 300000 /dev/urandom | base64 -w 0; echo " end$n"; done`)
	u.see("ready")
	command := func(n int) {
		u.typed(fmt.Sprintf("%d\r", n))
		u.see(fmt.Sprintf(" end%d\r\n", n))
	}
	n := 0
	command(n)
	recorded := func() bool {
		events, _ := u.recorded()
		return strings.HasSuffix(output(events), fmt.Sprintf(" end%d\r\n", n))
	}
	u.eventually("the first command is recorded", recorded)
	for u.file().Size()%int64(os.Getpagesize()) == 0 { // what the recorder tries then leaves no trace
		n++
		command(n)
		u.eventually("one more command is recorded", recorded)
	}
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	full := u.file().ModTime()
	for range 3 {
		n++
		command(n)
		u.eventually("the recorder tries to write", func() bool { return u.file().ModTime() != full })
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for end := n + 4; n < end; {
		n++
		command(n)
	}
	u.typed("\x04")
	if status := u.exit(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	events, _ := u.recorded()
	lost := 0
	for _, e := range events {
		if e.Code == recording.Dropped {
			var gap recording.Gap
			if err := json.Unmarshal(e.Data, &gap); err != nil || !strings.Contains(gap.Why, "could not be written") {
				t.Fatalf("%s, %v", e.Data, err)
			}
			lost += int(gap.Bytes)
		}
	}
	shown := output(events)
	if !strings.Contains(shown, " end0\r\n") || !strings.HasSuffix(shown, fmt.Sprintf(" end%d\r\n", n)) {
		t.Errorf("%d bytes are recorded", len(shown))
	}
	sent := len("ready\r\n")
	for k := range n + 1 {
		sent += 400_000 + len(fmt.Sprintf(" end%d\r\n", k))
	}
	if lost == 0 || len(shown)+lost != sent {
		t.Errorf("%d bytes were shown, %d are recorded, %d are in gaps", sent, len(shown), lost)
	}
}

// killed is the environment variable by which this test program records a program, to be killed: the directory of the
// recording.
const killed = "TIDEMARK_TEST_RECORD"

func TestMain(m *testing.M) {
	dir := os.Getenv(killed)
	if dir == "" {
		// Where it is ignored, as after nohup, programs could not wait for it either.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		os.Exit(m.Run())
	}
	_, _ = terminal.Run(context.Background(), terminal.Options{
		Args: []string{"sh", "-c", `for i in 1 2 3; do echo "line $i"; read x; done`}, Dir: dir, Store: recording.Store{Dir: dir}, Redactor: redact.Default(),
		Allowed: func(string) (bool, error) { return true, nil }, In: os.Stdin, Out: os.Stdout,
	})
}

func TestWhatWasCommittedSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killed+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	store := recording.Store{Dir: dir}
	shown := func() (text string, s recording.Summary) {
		r, err := store.Open("")
		if err != nil {
			return "", s
		}
		defer func() { _ = r.Close() }()
		for e, err := range r.Events(0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Code == recording.Output {
				text += string(e.Data)
			}
		}
		return text, r.Summary()
	}
	for i, deadline := 1, time.After(patience); i <= 2; {
		text, s := shown()
		if strings.Contains(text, fmt.Sprintf("line %d\r\n", i)) {
			if err := store.Remove(s.ID); usererr.CodeOf(err) != usererr.AlreadyExists {
				t.Fatalf("a recording that is being written is removed: %v", err)
			}
			if _, err := io.WriteString(in, "\n"); err != nil {
				t.Fatal(err)
			}
			i++
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			t.Fatalf("recorded %q", text)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	text, s := shown()
	if !strings.Contains(text, "line 1\r\n") || !strings.Contains(text, "line 2\r\n") || s.Finished {
		t.Errorf("recorded %q, %+v", text, s)
	}
	if err := store.Remove(s.ID); err != nil {
		t.Error(err)
	}
}
