//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/xpty"
	"github.com/klauspost/compress/zstd"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/terminal"
)

// Targets of a recorded terminal.
const (
	keyMedian   = 200 * time.Microsecond // more than a bare loop, in the median
	keyWorst    = time.Millisecond       // the same at 99 %
	floodCPU    = 300 * time.Millisecond
	floodRate   = .9
	seekMost    = 30 * time.Millisecond
	recordedMax = .08
	promptMost  = 5 * time.Millisecond // more than without recording, at 95 %
	overWhole   = 1.2
)

// terminal measures what recording a terminal costs beside a loop that only copies, and how long a frame takes.
func (r *run) terminal() (err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := r.sheet("Recorded terminals")
	if err := keys(r, s, dir); err != nil {
		return err
	}
	if err := prompts(r, s, dir); err != nil {
		return err
	}
	if err := flooded(r, s, dir); err != nil {
		return err
	}
	if err := recordedLogs(s, dir); err != nil {
		return err
	}
	for _, mb := range []int{1, r.third(1 << 10)} {
		if err := seeks(r, s, dir, mb); err != nil {
			return err
		}
	}
	return s.print()
}

// bareTerminal runs a program in a terminal and copies what it reads and writes.
func bareTerminal(in io.Reader, out io.Writer, args ...string) error {
	p, err := xpty.NewPty(80, 24)
	if err != nil {
		return err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.Start(cmd); err != nil {
		return err
	}
	go func() { _, _ = io.Copy(p, in) }() // it ends with in
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{p}, make([]byte, 32<<10))
	}()
	err = xpty.WaitProcess(context.Background(), cmd)
	select { // what it has written last
	case <-read:
	case <-time.After(200 * time.Millisecond):
	}
	return errors.Join(err, p.Close())
}

// recordedTerminal does the same, and records it.
func recordedTerminal(store string, in io.Reader, out io.Writer, args ...string) error {
	_, err := terminal.Run(context.Background(), terminal.Options{
		Args: args, Dir: os.TempDir(), Store: recording.Store{Dir: store}, Redactor: redact.Default(),
		Allowed: func(string) (bool, error) { return true, nil }, In: in, Out: out,
	})
	return err
}

// side is one of two terminals that are compared.
type side struct {
	in    *io.PipeWriter
	out   *io.PipeReader
	ended chan error
	took  []time.Duration
}

// besideBare runs a program in a bare terminal and in a recorded one.
func besideBare(dir string, args ...string) [2]*side {
	begin := func(run func(in io.Reader, out io.Writer, args ...string) error) *side {
		inRead, in := io.Pipe()
		out, outWrite := io.Pipe()
		one := &side{in: in, out: out, ended: make(chan error, 1)}
		go func() {
			err := run(inRead, outWrite, args...)
			_ = outWrite.Close()
			one.ended <- err
		}()
		return one
	}
	return [2]*side{begin(bareTerminal), begin(func(in io.Reader, out io.Writer, args ...string) error {
		return recordedTerminal(dir, in, out, args...)
	})}
}

// ask types a text and waits until an answer ends with another.
func (one *side) ask(text, until string) error {
	began := time.Now()
	if _, err := io.WriteString(one.in, text); err != nil {
		return err
	}
	if err := one.await(until); err != nil {
		return err
	}
	one.took = append(one.took, time.Since(began))
	return nil
}

// await reads until a text was shown.
func (one *side) await(until string) error {
	var shown []byte
	b := make([]byte, 4<<10)
	for !strings.Contains(string(shown), until) {
		n, err := one.out.Read(b)
		if err != nil {
			return fmt.Errorf("%q was not shown after %q: %w", until, shown, err)
		}
		shown = append(shown, b[:n]...)
	}
	return nil
}

// end types a last text, and waits for the end of the program.
func (one *side) end(text string) error {
	if _, err := io.WriteString(one.in, text); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, one.out); err != nil {
		return err
	}
	_ = one.in.Close()
	return <-one.ended
}

// keys types single characters, in turn into both terminals, and waits for each to come back.
func keys(r *run, s *sheet, dir string) error {
	n := r.third(5000)
	sides := besideBare(filepath.Join(dir, "keys"), "sh", "-c", "stty raw -echo; printf R; exec dd bs=1 status=none count="+strconv.Itoa(n+1))
	for _, one := range sides {
		if err := one.await("R"); err != nil {
			return err
		}
	}
	for range n {
		for _, one := range sides {
			if err := one.ask("x", "x"); err != nil {
				return err
			}
		}
	}
	for _, one := range sides {
		if err := one.end("x"); err != nil {
			return err
		}
	}
	for _, q := range []struct {
		what  string
		of    float64
		limit time.Duration
	}{{"median", .5, keyMedian}, {"99 %", .99, keyWorst}} {
		bare, mine := quantile(sides[0].took, q.of), quantile(sides[1].took, q.of)
		s.row("a key comes back, "+q.what, fmt.Sprintf("%s (bare loop %s)", mine, bare), "at most +"+q.limit.String(), mine-bare <= q.limit)
	}
	return nil
}

// prompts runs a command that does nothing in the shells that have an integration, in turn with and without it, and waits
// for the next prompt.
func prompts(r *run, s *sheet, dir string) error {
	const prompt = "READY> "
	home := filepath.Join(dir, "home")
	for name, text := range map[string]string{
		".bashrc": "PS1='" + prompt + "'\n", ".zshrc": "PS1='" + prompt + "'\n",
		".config/fish/config.fish": "function fish_prompt; echo -n '" + prompt + "'; end\nset -g fish_greeting\n",
	} {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	before, had := os.LookupEnv("HOME")
	if err := os.Setenv("HOME", home); err != nil {
		return err
	}
	defer func() {
		if had {
			_ = os.Setenv("HOME", before)
		}
	}()
	for _, shell := range terminal.Shells() {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		sides := besideBare(filepath.Join(dir, "prompts"), shell, "-i")
		for _, one := range sides {
			if err := one.await(prompt); err != nil {
				return err
			}
		}
		for range r.third(300) {
			for _, one := range sides {
				if err := one.ask("true\r", prompt); err != nil {
					return err
				}
			}
		}
		for _, one := range sides {
			if err := one.end("exit\r"); err != nil {
				return err
			}
		}
		bare, mine := quantile(sides[0].took, .95), quantile(sides[1].took, .95)
		s.row("the next prompt of "+shell+", 95 %", fmt.Sprintf("%s (without recording %s)", ms(mine), ms(bare)), "at most +"+promptMost.String(), mine-bare <= promptMost)
	}
	return nil
}

func ownTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// flooded shows a large file in both terminals.
func flooded(r *run, s *sheet, dir string) error {
	file := filepath.Join(dir, "large.log")
	if err := os.WriteFile(file, []byte(strings.Repeat("2026-01-02T03:04:05Z info request served path=/api/cart status=200 ms=12\n", 100<<20/73)), 0o600); err != nil {
		return err
	}
	var wall, cpu [2]time.Duration
	for range max(1, r.third(3)) {
		for i, run := range []func() error{
			func() error { return bareTerminal(strings.NewReader(""), io.Discard, "cat", file) },
			func() error {
				in, hold := io.Pipe()
				defer func() { _ = hold.Close() }()
				return recordedTerminal(filepath.Join(dir, "flood"), in, io.Discard, "cat", file)
			},
		} {
			used, began := ownTime(), time.Now()
			if err := run(); err != nil {
				return err
			}
			took, used := time.Since(began), ownTime()-used
			if wall[i] == 0 || took < wall[i] {
				wall[i], cpu[i] = took, used
			}
		}
	}
	s.row("cat of 100 MB, processor time", fmt.Sprintf("%s (bare loop %s)", cpu[1].Round(time.Millisecond), cpu[0].Round(time.Millisecond)), "at most +"+floodCPU.String(), cpu[1]-cpu[0] <= floodCPU)
	rate := float64(wall[0]) / float64(wall[1])
	s.row("cat of 100 MB, throughput", fmt.Sprintf("%.2f of a bare loop", rate), fmt.Sprintf("at least %.1f", floodRate), rate >= floodRate)
	return os.Remove(file)
}

// recordedLogs records the output of builds. How small a log can be depends on what it says, so that one that is full of
// hashes is compared with what a compressor makes of the whole of it.
func recordedLogs(s *sheet, dir string) error {
	repeats, err := logShare(dir, "node_modules/.bin/tsc", "--noEmit", "--traceResolution", "-p", "extension")
	if err != nil {
		return err
	}
	hashes, err := logShare(dir, "go", "build", "-a", "-n", "std")
	if err != nil {
		return err
	}
	s.row("a build log (tsc) on disk, of what was shown", fmt.Sprintf("%.1f %% of %.1f MB", repeats.disk*100, repeats.mb), fmt.Sprintf("at most %.0f %%", recordedMax*100), repeats.disk <= recordedMax)
	times := hashes.disk / hashes.whole
	s.row("one full of hashes (go), of the log compressed as a whole", fmt.Sprintf("%.2f times (%.1f and %.1f %% of %.1f MB)", times, hashes.disk*100, hashes.whole*100, hashes.mb),
		fmt.Sprintf("at most %.1f times", overWhole), times <= overWhole)
	return nil
}

// logSize is the size of a log, and which share of it a recording takes, and the log compressed as a whole.
type logSize struct{ mb, disk, whole float64 }

func logShare(dir, program string, args ...string) (logSize, error) {
	text, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return logSize{}, fmt.Errorf("cannot run %s: %w", program, err)
	}
	path := filepath.Join(dir, "log"+recording.Suffix)
	if err := writeRecording(path, text, len(text)); err != nil {
		return logSize{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return logSize{}, err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return logSize{}, err
	}
	size := float64(len(text))
	return logSize{size / 1e6, float64(info.Size()) / size, float64(len(z.EncodeAll(text, nil))) / size}, os.Remove(path)
}

// writeRecording records a text again and again, 4 KiB each 10 ms, up to a size.
func writeRecording(path string, text []byte, size int) error {
	w, err := recording.Create(path, recording.Header{ID: "t20260102-030405-abcd", Command: "make", Dir: "/", Started: time.Now(), Cols: 120, Rows: 40})
	if err != nil {
		return err
	}
	const each = 4 << 10
	at := time.Duration(0)
	for n := 0; n < size; n += each {
		from := n % len(text)
		at += 10 * time.Millisecond
		if err := w.Append(at, recording.Output, text[from:min(from+each, len(text))]); err != nil {
			return err
		}
		if at%(100*time.Millisecond) == 0 {
			if err := w.Commit(false); err != nil {
				return err
			}
		}
	}
	return w.Finish(0)
}

// seeks asks for frames at random places of a recording. Its screens are made beside it, as the recorder does.
func seeks(r *run, s *sheet, dir string, mb int) error {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "\x1b[3%dm%6d\x1b[0m build/%x/file.go: compiled in %d ms\r\n", i%8, i, rand.Uint64(), rand.IntN(1000))
	}
	path := filepath.Join(dir, "seek"+recording.Suffix)
	if err := writeRecording(path, []byte(text.String()), mb<<20); err != nil {
		return err
	}
	keeping, err := keepScreens(path)
	if err != nil {
		return err
	}
	began := time.Now()
	rec, err := recording.Open(path)
	if err != nil {
		return err
	}
	end := rec.Summary().Duration
	if _, err := rec.Frame(end); err != nil {
		return err
	}
	first := time.Since(began)
	took := make([]time.Duration, 200)
	for i := range took {
		at := time.Duration(rand.Int64N(int64(end)))
		began := time.Now()
		if _, err := rec.Frame(at); err != nil {
			return err
		}
		took[i] = time.Since(began)
	}
	s.within(fmt.Sprintf("a frame of %d MB, 95 %%", mb), quantile(took, .95), seekMost, r.byLoop(), "")
	s.figure(fmt.Sprintf("the first frame of %d MB, at its end", mb), first.Round(time.Millisecond).String())
	s.figure(fmt.Sprintf("its screens, made during the %s that it records", end.Round(time.Second)), keeping.Round(time.Millisecond).String())
	return errors.Join(rec.Close(), os.Remove(path), os.Remove(strings.TrimSuffix(path, recording.Suffix)+".screens"))
}

// keepScreens makes the screens of a recording, and returns how long that took.
func keepScreens(path string) (time.Duration, error) {
	began := time.Now()
	k, err := recording.Keep(path)
	for more := err == nil; more && err == nil; {
		more, err = k.Step()
	}
	if err != nil {
		return 0, err
	}
	return time.Since(began), k.Close()
}
