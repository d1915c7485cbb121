// Package killtest kills processes at random instants, for tests of what must survive that.
//
// A victim is the test itself in a process of its own. It reports each step before it begins, and waits until the test has
// taken note. So the test knows what was acknowledged, and in which step the process ended.
package killtest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	// victimEnv names the directory in which a victim works.
	victimEnv = "TIDEMARK_TEST_VICTIM"
	// killsEnv is how often a process is killed within each step.
	killsEnv = "TIDEMARK_KILLS"
)

// Process is a victim. It has what [testing.T] has to end a test, and ends the process.
type Process struct{ noted <-chan struct{} }

// Helper does nothing.
func (Process) Helper() {}

// Fatal ends the process and fails the test that started it.
func (Process) Fatal(args ...any) {
	_, _ = fmt.Fprintln(os.Stdout, append([]any{"failed"}, args...)...)
	os.Exit(1)
}

// Fatalf is Fatal with a format.
func (p Process) Fatalf(format string, args ...any) { p.Fatal(fmt.Sprintf(format, args...)) }

// Must ends the process if there is an error.
func (p Process) Must(errs ...error) {
	for _, err := range errs {
		if err != nil {
			p.Fatal(err)
		}
	}
}

// Say reports a step, and returns when the test has taken note of it.
func (p Process) Say(step string, rest ...any) {
	_, _ = fmt.Fprintln(os.Stdout, append([]any{step}, rest...)...)
	<-p.noted
}

// IsVictim reports whether this process was started to be killed. What it mounts would stay.
func IsVictim() bool { return os.Getenv(victimEnv) != "" }

// Victim works in a directory until it is killed, if this process was started for that. Call it first in the test. Work
// ends each step by saying the next one.
func Victim(work func(p Process, dir string)) {
	dir := os.Getenv(victimEnv)
	if dir == "" {
		return
	}
	noted := make(chan struct{})
	go func() {
		for b := make([]byte, 1); ; noted <- struct{}{} {
			if n, _ := os.Stdin.Read(b); n == 0 {
				os.Exit(0) // the test has ended, whatever this process waits for
			}
		}
	}()
	work(Process{noted}, dir)
}

// Hunt kills the victims of a test.
type Hunt struct {
	// Dir is where the victims work.
	Dir string
	// Steps are those in which victims are killed, all equally often. In steps of Also, which may not come, they are killed
	// where these come.
	Steps, Also []string
	// Said is called with each step that a victim says.
	Said func(step, rest string)
	// Survived is called after each kill, with the step that was said last.
	Survived func(step string)
	// Short and Usual are how often a victim is killed in each step ([Count]).
	Short, Usual int

	killed map[string]int
	// spans are how long steps take.
	spans map[string]time.Duration
}

// Count returns how often a test kills something: usual times, short times under -short, or as TIDEMARK_KILLS says.
func Count(short, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		return n
	}
	if testing.Short() {
		return short
	}
	return usual
}

// Run kills victims until there were enough kills within each step.
func (h *Hunt) Run(t *testing.T) {
	t.Helper()
	kills := Count(h.Short, h.Usual)
	h.killed, h.spans = map[string]int{}, map[string]time.Duration{}
	began, victims := time.Now(), 0
	for wanted := slices.Clone(h.Steps); len(wanted) > 0; victims++ {
		step := h.kill(t, slices.Concat(wanted, h.Also))
		h.killed[step]++
		h.Survived(step)
		wanted = slices.DeleteFunc(wanted, func(step string) bool { return h.killed[step] >= kills })
	}
	spans := map[string]time.Duration{}
	for _, step := range h.Steps {
		spans[step] = h.spans[step].Round(10 * time.Microsecond)
	}
	t.Logf("%d kills in %v, by step: %v; a step takes %v", victims, time.Since(began).Round(time.Second), h.killed, spans)
}

const (
	// maxPassed bounds the steps that a victim does before it is killed.
	maxPassed = 12
	// maxUnwanted bounds those among which no wanted one is: then it is killed in any.
	maxUnwanted = 30
	// patience is how long a step may take at most.
	patience = time.Minute
	// span is how long a step may take of which none has ended yet.
	span = 10 * time.Millisecond
)

// kill runs a victim, kills it at a random instant of one of the wanted steps, and returns the step that was said last.
func (h *Hunt) kill(t *testing.T, wanted []string) (last string) {
	t.Helper()
	var names []string
	for name := range strings.SplitSeq(t.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", strings.Join(names, "/")) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), victimEnv+"="+h.Dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = cmd.Process.Kill() }
	defer func() { kill(); _ = cmd.Wait() }() // for a test that fails
	var stuck atomic.Bool
	watch := time.AfterFunc(patience, func() {
		stuck.Store(true)
		_ = cmd.Process.Signal(syscall.SIGQUIT) // it prints what it waits for
		time.AfterFunc(time.Second, kill)
	})
	defer watch.Stop()
	pass := 0
	if rand.IntN(2) == 0 { //nolint:gosec // in its first steps, or later
		pass = rand.IntN(maxPassed) //nolint:gosec // how many steps to wait
	}
	var aimed *time.Timer
	var began time.Time
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); n++ {
		watch.Reset(patience)
		if aimed != nil {
			aimed.Stop() // the step ended before; the next one is as good
		}
		if took := time.Since(began); h.spans[last] == 0 {
			h.spans[last] = took
		} else {
			h.spans[last] = (3*h.spans[last] + took) / 4
		}
		step, rest, _ := strings.Cut(lines.Text(), " ")
		if step == "failed" {
			t.Fatalf("the victim failed after %q: %s", last, rest)
		}
		h.Said(step, rest)
		if last = step; n >= pass && slices.Contains(wanted, step) || n >= pass+maxUnwanted {
			within := h.spans[step]
			if within == 0 {
				within = span
			}
			aimed = time.AfterFunc(rand.N(within*5/4), kill) //nolint:gosec // at any instant of it, a long one included
		}
		began = time.Now()
		_, _ = in.Write([]byte{'\n'})
	}
	_ = cmd.Wait()
	if stuck.Load() {
		t.Fatalf("a victim never ended the step %q:\n%s", last, trace.String())
	}
	return last
}
