// Command bench measures what Tidemark promises, each figure against its target.
//
// It guarantees: what is compared was measured in one run, in turn, and is given as a ratio or a difference; a budget in
// milliseconds is scaled by the calibration right before the part and says by which of its two loops; every miss is listed
// at the end. A part that could not be measured does not keep the others from it. It fails only then: a missed target is
// printed, not an exit code. It uses homes of its own and ends what it starts.
//
//	go run ./host/bench [-only PART,PART…] [-quick] [-json FILE] [-answers FILE] [-match TEXT] [-against REV | -publish]
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// run is one run of the benchmarks.
type run struct {
	binary  string
	quick   bool
	match   string
	results results
	// machine is the calibration before the part that runs.
	machine machine
	part    string
}

// results is what -json writes.
type results struct {
	OS     string   `json:"os"`
	Arch   string   `json:"arch"`
	CPUs   int      `json:"cpus"`
	Quick  bool     `json:"quick,omitempty"`
	Before machine  `json:"machine_before"`
	After  machine  `json:"machine_after"`
	Tables []*table `json:"tables"`
	Missed int      `json:"missed"`
	// Unmeasured are the parts that could not be measured.
	Unmeasured []string  `json:"unmeasured,omitempty"`
	At         time.Time `json:"at"`
}

type table struct {
	Part  string    `json:"part"`
	At    time.Time `json:"at"`
	Title string    `json:"title"`
	Rows  []row     `json:"rows"`
	Notes []string  `json:"notes,omitempty"`
}

type row struct {
	What     string `json:"what"`
	Measured string `json:"measured"`
	Target   string `json:"target,omitempty"`
	Met      bool   `json:"met"` // true where there is no target
}

// part is one of the benchmarks.
type part struct {
	name string
	run  func(*run) error
	// inside is true for what is measured inside this program, not of the program that was built.
	inside bool
	// timeTravel is true for parts about workspaces, sessions, terminals and conversations, false for those about browsers.
	timeTravel bool
	// alone is true for what is in no group, because it needs what the others must not have.
	alone bool
	// untimed is true for parts that have no times among their figures. They may be measured side by side.
	untimed bool
}

// parts are what can be asked for by -only, in the order in which they run.
var parts = []part{
	{name: "latency", run: (*run).latency},
	{name: "budgets", run: (*run).budgets, inside: true},
	{name: "hook", run: (*run).hook},
	{name: "tokens", run: (*run).tokens, untimed: true},
	{name: "signal", run: (*run).signal, untimed: true},
	{name: "sessions", run: (*run).sessions, untimed: true},
	{name: "hunts", run: (*run).hunts, untimed: true},
	{name: "daemon", run: (*run).daemon},
	{name: "flood", run: (*run).flood},
	{name: "capture", run: (*run).capture},
	{name: "noise", run: (*run).noise, inside: true},
	{name: "sourcemap", run: (*run).sourcemap},
	{name: "aria", run: (*run).aria},
	{name: "viewer", run: (*run).viewer},
	{name: "variables", run: (*run).variables},
	{name: "act", run: (*run).act},
	{name: "files", run: (*run).files, inside: true, timeTravel: true},
	{name: "filesystems", run: filesystems, inside: true, timeTravel: true},
	{name: "zfs", run: onZFS, inside: true, timeTravel: true, alone: true},
	{name: "mounts", run: mounted, inside: true, timeTravel: true},
	{name: "timeline", run: (*run).timeline, timeTravel: true},
	{name: "terminal", run: (*run).terminal, inside: true, timeTravel: true},
	{name: "conversation", run: (*run).conversation, timeTravel: true},
}

// The names of all parts about browsers, and of all others.
const (
	groupBrowsers   = "browsers"
	groupTimeTravel = "timetravel"
)

func main() {
	r := &run{}
	var names, usual []string
	for _, p := range parts {
		names = append(names, p.name)
		if !p.alone {
			usual = append(usual, p.name)
		}
	}
	all := strings.Join(usual, ",")
	only := flag.String("only", all, "which parts, or a group of them: "+groupBrowsers+", "+groupTimeTravel)
	flag.BoolVar(&r.quick, "quick", false, "a third of everything")
	flag.StringVar(&r.match, "match", "", "signal, act, hunts: only cases whose name contains this, with their answers")
	file := flag.String("json", "", "also write the figures to this file")
	answersFile := flag.String("answers", "", "also write a sample of the answers to this file: testdata/answers.jsonl is what token counts are fitted to")
	binary := flag.String("binary", "", "measure this program instead of building the checkout's")
	against := flag.String("against", "", "build this commit and run both programs in turn")
	publish := flag.Bool("publish", false, "write the figures to docs/bench.json, and those that README.md quotes into it")
	stub := flag.String("stub", "", "serve the stub tool at this socket (the latency part starts it)")
	bare := flag.String("copy", "", "serve a bare copy at this socket (the daemon part starts it)")
	flag.Parse()
	switch {
	case *stub != "":
		exit(serveStub(*stub))
	case *bare != "":
		exit(serveCopy(*bare))
	}
	var wanted []string
	for name := range strings.SplitSeq(*only, ",") {
		switch {
		case name == groupBrowsers || name == groupTimeTravel:
			for _, p := range parts {
				if p.timeTravel == (name == groupTimeTravel) && !p.alone {
					wanted = append(wanted, p.name)
				}
			}
		case slices.Contains(names, name):
			wanted = append(wanted, name)
		default:
			fmt.Fprintf(os.Stderr, "bench: there is no part %q; there are %s, and the groups %s and %s\n", name, strings.Join(names, ","), groupBrowsers, groupTimeTravel)
			os.Exit(2)
		}
	}
	if *binary != "" {
		path, err := filepath.Abs(*binary) // parts run it from other directories
		if err != nil {
			exit(err)
		}
		r.binary = path
	}
	if *against != "" {
		exit(r.compare(*against, wanted))
	}
	heard := &answers{}
	if *answersFile != "" {
		testbed.Heard = func(tool, text string) {
			if engine.FindTool(tool) != nil { // not a stub
				heard.add(answer{r.part, tool, text})
			}
		}
	}
	err := r.measure(wanted)
	if *answersFile != "" {
		err = errors.Join(err, heard.write(*answersFile))
	}
	if *publish && err == nil {
		err = r.results.publish(!r.quick && r.match == "")
	}
	if *file != "" {
		data, bad := json.MarshalIndent(r.results, "", "  ")
		if bad == nil {
			bad = os.WriteFile(*file, append(data, '\n'), 0o600)
		}
		err = errors.Join(err, bad)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// measure runs the parts. One that could not be measured does not keep the others from it.
func (r *run) measure(wanted []string) (err error) {
	dir, err := os.MkdirTemp("", "tmb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if r.binary == "" {
		fmt.Println("building …")
		if r.binary, err = testbed.Build(dir); err != nil {
			return err
		}
	}
	r.results.OS, r.results.Arch, r.results.CPUs, r.results.Quick, r.results.At = runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.quick, time.Now().UTC()
	r.results.Before = calibrate()
	fmt.Printf("machine: %s/%s, %d CPUs; %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.results.Before)
	list := slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !slices.Contains(wanted, p.name) })
	if testbed.Heard == nil && r.match == "" { // what else is said is said here
		sideBySide(list)
	}
	var took []string
	for _, part := range list {
		began := time.Now()
		r.part, r.machine = part.name, calibrate()
		fmt.Printf("\n[%d/%d] %s, after %s\n", len(took)+1, len(wanted), part.name, time.Since(r.results.At).Round(time.Second))
		if bad := r.guarded(part); bad != nil {
			fmt.Printf("  could not be measured: %v\n", bad)
			r.results.Unmeasured = append(r.results.Unmeasured, part.name)
			err = errors.Join(err, fmt.Errorf("%s could not be measured: %w", part.name, bad))
		}
		took = append(took, fmt.Sprintf("%s %s", part.name, time.Since(began).Round(time.Second)))
	}
	r.results.After = calibrate()
	fmt.Printf("\nmachine, afterwards: %s; %s in all: %s\n", r.results.After, time.Since(r.results.At).Round(time.Second), strings.Join(took, ", "))
	r.results.summary(os.Stdout)
	return err
}

// guarded runs a part. One that panics is one that could not be measured.
func (r *run) guarded(p part) (err error) {
	defer func() {
		if bad := recover(); bad != nil {
			err = fmt.Errorf("%v\n%s", bad, debug.Stack())
		}
	}()
	return p.run(r)
}

// summary lists the targets that were missed.
func (r *results) summary(w io.Writer) {
	if len(r.Unmeasured) > 0 {
		_, _ = fmt.Fprintf(w, "could not be measured: %s\n", strings.Join(r.Unmeasured, ", "))
	}
	if r.Missed == 0 {
		_, _ = fmt.Fprintln(w, "every target that was measured is met")
		return
	}
	_, _ = fmt.Fprintf(w, "%d target(s) MISSED\n", r.Missed)
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			if !row.Met {
				_, _ = fmt.Fprintf(w, "  MISSED %s: %s: %s, wanted %s\n", t.Part, row.What, row.Measured, row.Target)
			}
		}
	}
}

// machine is how fast the machine is, and how busy: what absolute times are to be read beside.
type machine struct {
	// LoopMs is the time of a fixed loop of arithmetic on one CPU, the best of several.
	LoopMs float64 `json:"loop_ms"`
	// WalkMs is the time of a fixed walk on one CPU through more memory than the caches hold, the best of several.
	WalkMs float64 `json:"walk_ms"`
	// Busy is how much longer the loop takes on all CPUs at once, the middle of several: about 1
	// when nobody else is at work.
	Busy float64 `json:"busy"`
}

func (m machine) String() string {
	return fmt.Sprintf("calibration loop %.1f ms, on all CPUs at once %.2f times that; walk %.1f ms", m.LoopMs, m.Busy, m.WalkMs)
}

func calibrate() machine {
	var alone, together, walks []time.Duration
	memory := make([]uint64, walked)
	for i := range memory {
		memory[i] = 1 // a page that was never written is in the caches
	}
	for range 5 {
		alone = append(alone, loops(1))
		together = append(together, loops(runtime.NumCPU()))
		walks = append(walks, walk(memory))
	}
	best := slices.Min(alone)
	return machine{LoopMs: inMs(best), WalkMs: inMs(slices.Min(walks)), Busy: float64(quantile(together, .5)) / float64(best)}
}

// walked is how much memory the calibration walk reads, in words of 8 bytes: 128 MiB. It is a power of two.
const walked = 16 << 20

// walk is how long it takes to read words all over the memory, each at a place that depends on the word before.
func walk(memory []uint64) time.Duration {
	began := time.Now()
	at := uint64(0)
	for range 250_000 {
		at = at*6364136223846793005 + memory[at>>40]
	}
	if at == 0 {
		panic("the walk is at its first place") // so that it is not left out
	}
	return time.Since(began)
}

// loops is how long the calibration loop takes when it runs several times at once.
func loops(n int) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			x := uint64(88172645463325252)
			for range 20_000_000 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
			if x == 0 {
				panic("a shift register is never 0") // so that the loop is not left out
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// sheet is a table of figures.
type sheet struct {
	r *run
	*table
}

func (r *run) sheet(title string) *sheet { return &sheet{r, &table{Part: r.part, Title: title}} }

// row adds a figure and whether its target is met.
func (s *sheet) row(what, measured, target string, met bool) {
	if !met {
		s.r.results.Missed++
	}
	s.Rows = append(s.Rows, row{what, measured, target, met})
}

// figure adds a figure that has no target.
func (s *sheet) figure(what, measured string) { s.row(what, measured, "", true) }

// note adds a line below the table.
func (s *sheet) note(line string) { s.Notes = append(s.Notes, line) }

// print writes the table, and keeps it for -json.
func (s *sheet) print() error {
	s.r.results.Tables = append(s.r.results.Tables, s.table)
	fmt.Printf("\n%s\n", s.Title)
	t := render.Table{Indent: "  "}
	t.Row("what", "measured", "target", "")
	for _, r := range s.Rows {
		verdict := "met"
		switch {
		case r.Target == "":
			verdict = ""
		case !r.Met:
			verdict = "MISSED"
		}
		t.Row(r.What, r.Measured, r.Target, verdict)
	}
	if err := t.Write(os.Stdout); err != nil {
		return err
	}
	for _, n := range s.Notes {
		fmt.Println("  " + n)
	}
	return nil
}

// progressEvery is how often progress is written where there is no terminal.
const progressEvery = 15 * time.Second

var (
	progressed = time.Now()
	showing    sync.Mutex
)

// progress shows how far a part is: in place on a terminal, else as a line now and then.
func progress(format string, args ...any) {
	showing.Lock()
	defer showing.Unlock()
	switch {
	case term.IsTerminal(int(os.Stdout.Fd())):
		fmt.Printf("\r\x1b[K"+format, args...)
	case format != "" && time.Since(progressed) > progressEvery:
		progressed = time.Now()
		fmt.Printf("  "+format+"\n", args...)
	}
}

// third is n, or a third of it in a quick run.
func (r *run) third(n int) int {
	if r.quick {
		return n / 3
	}
	return n
}

// quantile is the value below which a share of the list lies.
func quantile[T interface{ ~int | ~int64 | ~float64 }](list []T, share float64) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond)) }
