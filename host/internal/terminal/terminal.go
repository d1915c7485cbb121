// Package terminal runs a program in a pseudo-terminal, passes everything between it and the user's terminal, and records
// what the user saw.
//
// Guarantees:
//   - The program and the user's terminal exchange the same bytes as without a recorder, in the same order. Recording
//     happens beside that: what cannot be recorded in time, or at all, becomes a gap.
//   - A password that is typed where the terminal does not echo it is not recorded. Secrets that the rules of package redact
//     recognize are replaced, in the recording only, by as many asterisks as they are wide.
//   - Only the shell that the recorder started can report commands: its marks have a number that output cannot know.
//   - Nothing is recorded while the shell is in a directory where the user does not allow it.
package terminal

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/xpty"
	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
)

// Env is the environment variable with the ID of the recording that a program runs in, and KeyEnv the one with a key by which the
// program proves that it does.
const (
	Env    = "TIDEMARK_RECORDING"
	KeyEnv = "TIDEMARK_RECORDING_KEY"
)

const (
	defaultCols, defaultRows = 80, 24
	// commitEvery is how long output may wait until it is on disk.
	commitEvery = 100 * time.Millisecond
	// maxQueued bounds what waits for being recorded, in bytes. What is beyond it is lost for the recording.
	maxQueued = 32 << 20
	// maxKeys bounds, in bytes, what waits for the program to show something, of input that is not recorded: a key costs less so.
	maxKeys = 64 << 10
	// maxKept bounds the memory that is kept for what waits next, in bytes.
	maxKept = 4 << 20
	// batchTime is how long output waits at most for more, once there is much of it.
	batchTime = time.Millisecond
	// endEvery is how often the end of input is typed, if input is a file that ended.
	endEvery = 200 * time.Millisecond
	// keepEvery is how often a screen for readers is saved at most, which takes a few milliseconds for 256 KiB of output.
	keepEvery = 250 * time.Millisecond
	// hangupTime is how long a program may take to end after its terminal was closed, where the options do not say.
	hangupTime = 5 * time.Second
	// drainTime is how long output is still read after the program has ended, if others have its terminal open.
	drainTime = 200 * time.Millisecond
)

// Options configure [Run].
type Options struct {
	// Args are the program and its arguments. Dir is its directory, absolute.
	Args []string
	Dir  string
	// Name is what the user calls the recording, "" for nothing.
	Name  string
	Store recording.Store
	// Redactor masks secrets in the recording.
	Redactor *redact.Redactor
	// Allowed returns an error for a directory in which output must not be recorded, and whether input may be there.
	Allowed func(dir string) (input bool, err error)
	// Input records what the user types, too, as far as that is allowed.
	Input bool
	// Ended is called with each command of the shell that ended. It must not block. A label that it sends is added to the
	// recording, which waits for the channels at its end, for at most a second.
	Ended func(recording.Command) <-chan string
	// Serves reports whether a command line starts a server, and whether the shell goes on meanwhile. Ready is called with such a
	// command once it printed an address on this machine, such as "localhost:5173". It must not block. Both may be nil.
	Serves func(command string) (serves, behind bool)
	Ready  func(c recording.Command, address string) <-chan string
	// In and Out are the user's terminal. In may be something else, which is typed.
	In  io.Reader
	Out io.Writer
	// Started is called with the ID of the recording before the program starts.
	Started func(id string)
	// HangupTime is how long the program may take to end after its terminal was closed, 0 for 5 seconds. Windows ends it at once.
	HangupTime time.Duration
}

// Run runs the program until it ends, and returns its exit status. An error with a status of at least 0 is about the
// recording alone. When ctx ends, the program's terminal is closed.
func Run(ctx context.Context, o Options) (status int, err error) {
	cols, rows := sizeOf(o.Out)
	began := time.Now()
	r := &recorder{o: o, began: began, wake: make(chan struct{}, 1)}
	key := rand.Text()
	h := recording.Header{ID: recording.NewID(began), Name: o.Name, Shell: shellOf(o.Args), Dir: o.Dir, Started: began.UTC(), Cols: cols, Rows: rows, Term: os.Getenv("TERM"), HasInput: o.Input, Proof: recording.ProofOf(key), Clock: recording.Clock()}
	h.Command, _ = o.Redactor.Text(strings.Join(o.Args, " "))
	h.Name, _ = o.Redactor.Text(h.Name)
	args, env, nonce, read := o.Args, []string(nil), "", func() {}
	if h.Shell != "" {
		nonce = rand.Text()
		dir, err := os.MkdirTemp("", "tidemark-shell-")
		if err != nil {
			return -1, fmt.Errorf("cannot write the shell integration: %w", err)
		}
		read = func() { _ = os.RemoveAll(dir) }
		defer read()
		if args, env, err = integrate(h.Shell, args, dir, nonce); err != nil {
			return -1, err
		}
	}
	w, err := o.Store.Create(h)
	if err != nil {
		return -1, err
	}
	if o.Started != nil {
		o.Started(h.ID)
	}
	allowed := func(dir string) (input bool, err error) {
		input, err = o.Allowed(dir)
		return input && o.Input, err
	}
	r.tape = newTape(w, o.Redactor, nonce, allowed, r.ended)
	r.tape.deaf = !o.Input
	if o.Ready != nil {
		r.tape.servers.serves, r.tape.servers.ready = o.Serves, r.ready
	}
	r.tape.dir, r.tape.read, r.tape.mask.batched = o.Dir, read, true
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = o.Dir
	cmd.Env = append(append(os.Environ(), Env+"="+h.ID, KeyEnv+"="+key), env...)
	status, err = r.run(ctx, cmd, cols, rows)
	if status < 0 { // nothing ran
		return status, errors.Join(err, w.Abandon(), o.Store.Remove(h.ID))
	}
	return status, err
}

// recorder records one program. Its queue is shared, and everything else of the tape is the recording goroutine's.
type recorder struct {
	o     Options
	began time.Time
	tape  *tape
	// flooded means that the terminal shows too much at once: screens wait until it ends.
	flooded atomic.Bool
	// labels are what commands will be labelled with.
	labels []<-chan string

	mu     sync.Mutex
	queue  []queued
	data   []byte // what the queue's events hold
	lost   uint64 // output that the queue had no room for
	closed bool
	wake   chan struct{}
}

// queued is what happened in the terminal.
type queued struct {
	at     time.Duration
	code   recording.Code
	data   []byte
	hidden bool // of input: the terminal does not echo it, and reads lines
	cols   int
	rows   int
}

// put adds what happened to the queue. It never waits.
func (r *recorder) put(q queued) {
	q.at = time.Since(r.began)
	r.mu.Lock()
	from := len(r.data)
	if from+len(q.data) > maxQueued {
		r.lost += uint64(len(q.data))
	} else {
		r.data = append(r.data, q.data...)
		q.data = r.data[from:]
		r.queue = append(r.queue, q)
	}
	r.mu.Unlock()
	if q.code != recording.Input || r.o.Input || from > maxKeys {
		r.signal()
	}
}

func (r *recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// batch is what was taken from the queue at once. Its data is valid until it is given back.
type batch struct {
	list   []queued
	data   []byte
	lost   uint64
	closed bool
}

// take takes what is in the queue, and gives back the batch before for what comes next.
func (r *recorder) take(done batch) batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := batch{r.queue, r.data, r.lost, r.closed}
	if cap(done.data) > maxKept {
		done = batch{}
	}
	r.queue, r.data, r.lost = done.list[:0], done.data[:0], 0
	return b
}

// record turns the queue into events, until that is closed and empty.
func (r *recorder) record() {
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	ticks := 0
	var taken time.Duration
	var b batch
	for {
		select {
		case <-r.wake:
		case <-tick.C:
			now := time.Since(r.began)
			r.tape.idle(now)
			r.flooded.Store(r.tape.flood.dropping)
			r.collect(now)
			ticks++
			r.tape.commit(ticks%10 == 0)
			continue
		}
		// In a flood, each read would wake this goroutine, which costs more than what it does then.
		if now := time.Since(r.began); now-taken < batchTime {
			time.Sleep(batchTime)
		}
		b = r.take(b)
		taken = time.Since(r.began)
		for _, q := range b.list {
			switch q.code {
			case recording.Output:
				r.tape.output(q.at, q.data)
			case recording.Input:
				r.tape.input(q.at, q.data, q.hidden)
			case recording.Resize:
				r.tape.resize(q.at, q.cols, q.rows)
			}
		}
		r.tape.mask.settleDue()
		r.tape.gap(time.Since(r.began), b.lost, "the recorder fell behind")
		r.flooded.Store(r.tape.flood.dropping)
		if b.closed {
			return
		}
	}
}

// keep saves screens of the recording until done is closed, so that a reader need not replay everything. What is missing, a
// reader makes.
func (r *recorder) keep(done <-chan struct{}) {
	k, err := recording.Keep(r.tape.w.Path())
	if err != nil {
		return
	}
	defer func() { _ = k.Close() }()
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for err == nil {
		select {
		case <-tick.C:
			if !r.flooded.Load() {
				_, err = k.Step()
			}
		case <-done:
			return
		}
	}
}

// ended passes a command on.
func (r *recorder) ended(c recording.Command) {
	if r.o.Ended == nil {
		return
	}
	if label := r.o.Ended(c); label != nil {
		r.labels = append(r.labels, label)
	}
}

// ready passes on that a server answers.
func (r *recorder) ready(c recording.Command, address string) {
	c.Text, _ = r.o.Redactor.Text(c.Text)
	if label := r.o.Ready(c, address); label != nil {
		r.labels = append(r.labels, label)
	}
}

// collect adds the labels that have arrived.
func (r *recorder) collect(now time.Duration) {
	for len(r.labels) > 0 {
		select {
		case text := <-r.labels[0]:
			if text != "" {
				r.tape.label(now, text)
			}
			r.labels = r.labels[1:]
		default:
			return
		}
	}
}

// run runs the program and records it.
func (r *recorder) run(ctx context.Context, cmd *exec.Cmd, cols, rows int) (int, error) {
	p, err := xpty.NewPty(cols, rows)
	if err != nil {
		return -1, fmt.Errorf("cannot open a terminal: %w", err)
	}
	defer func() { _ = p.Close() }() // a second time, it reports that it is closed
	prepare(cmd)
	if err := p.Start(cmd); err != nil {
		return -1, fmt.Errorf("cannot run %s: %w", filepath.Base(cmd.Path), err)
	}
	program, err := started(p)
	restore := func() {}
	if err == nil {
		defer func() { _ = program.Close() }()
		restore, err = raw(r.o.In)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = xpty.WaitProcess(context.Background(), cmd)
		return -1, fmt.Errorf("cannot set up this terminal: %w", err)
	}
	defer restore()
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		r.record()
	}()
	var screens sync.WaitGroup
	defer screens.Wait()
	screens.Go(func() { r.keep(recorded) })
	stopSizes := r.follow(p, cols, rows)
	go r.typed(p, program) // it ends with the user's terminal, or with this process
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		r.shown(program)
	}()
	hangUp := context.AfterFunc(ctx, func() { hangup(cmd.Process, cmp.Or(r.o.HangupTime, hangupTime)) })
	waitErr := xpty.WaitProcess(context.Background(), cmd)
	hangUp()
	drain(program, shown)
	stopSizes()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.signal()
	<-recorded
	status, err := statusOf(cmd, waitErr)
	return status, errors.Join(err, r.end(status, err == nil && ctx.Err() == nil && cmd.ProcessState.Exited()))
}

// end ends the recording. A program that left by itself had the status of its last command, as after `exec` and `exit`.
func (r *recorder) end(status int, left bool) error {
	now := time.Since(r.began)
	if left {
		r.tape.finish(now, &status, "")
	} else {
		r.tape.finish(now, nil, "")
	}
	patience := time.After(time.Second)
	for _, label := range r.labels {
		select {
		case text := <-label:
			if text != "" {
				r.tape.label(now, text)
			}
		case <-patience:
			patience = closedTime
		}
	}
	if err := r.tape.close(now, status); err != nil {
		return fmt.Errorf("the recording is not complete: %w", err)
	}
	return nil
}

// closedTime has passed.
var closedTime = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// shown copies output to the user's terminal, until the program's terminal is closed.
func (r *recorder) shown(program io.Reader) {
	b := make([]byte, 32<<10)
	for {
		n, err := program.Read(b)
		if n > 0 {
			// Recorded first: an answer to what is shown is recorded after it, and known as one to a password's prompt.
			r.put(queued{code: recording.Output, data: b[:n]})
			_, _ = r.o.Out.Write(b[:n]) // the program must not notice that nobody looks
		}
		if err != nil {
			return
		}
	}
}

// typed copies what the user types to the program.
func (r *recorder) typed(p xpty.Pty, program io.Writer) {
	b := make([]byte, 4<<10)
	for {
		n, err := r.o.In.Read(b)
		if n > 0 {
			r.put(queued{code: recording.Input, data: b[:n], hidden: hidden(p)})
			if _, err := program.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				typeEnd(program)
			}
			return
		}
	}
}

// typeEnd types the end of input, until the program is gone: a file that ended stays so, and a program that is just starting
// another one does not read what was typed before.
func typeEnd(program io.Writer) {
	again := time.NewTicker(endEvery)
	defer again.Stop()
	for {
		if _, err := program.Write([]byte{4}); err != nil {
			return
		}
		<-again.C
	}
}

// sizeOf returns the size of a terminal, and a usual one if it is none.
func sizeOf(out io.Writer) (cols, rows int) {
	if f, ok := out.(*os.File); ok {
		if cols, rows, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 && rows > 0 {
			return cols, rows
		}
	}
	return defaultCols, defaultRows
}

// raw makes a terminal pass on what is typed, unchanged. Something else stays as it is.
func raw(in io.Reader) (restore func(), err error) {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func() {}, nil
	}
	state, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(int(f.Fd()), state) }, nil
}

// statusOf returns the exit status of a program, as shells count it.
func statusOf(cmd *exec.Cmd, err error) (int, error) {
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		return 0, err
	}
	if n, ok := signalled(cmd.ProcessState); ok {
		return 128 + n, nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
