// Command bench measures what Tidemark promises, each figure against its target.
//
// It guarantees: what is compared was measured in one run, in turn, and is given as a ratio or a
// difference; absolute times stand beside a calibration figure of the machine, and beside how busy
// the machine was; every miss is told by name. It fails only when something could not be measured: a
// missed target is printed, not an exit code. It uses homes of its own and ends what it starts.
//
//	go run ./host/bench [-only PART,PART…] [-quick] [-json FILE] [-match TEXT]
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/testbed"
)

// run is one run of the benchmarks.
type run struct {
	binary string
	quick  bool
	match  string
	report report
}

// report is what -json writes.
type report struct {
	OS     string    `json:"os"`
	Arch   string    `json:"arch"`
	CPUs   int       `json:"cpus"`
	Quick  bool      `json:"quick,omitempty"`
	Before machine   `json:"machine_before"`
	After  machine   `json:"machine_after"`
	Tables []*table  `json:"tables"`
	Missed int       `json:"missed"`
	At     time.Time `json:"at"`
}

type table struct {
	Title string   `json:"title"`
	Rows  []row    `json:"rows"`
	Notes []string `json:"notes,omitempty"`
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
}

// parts are what can be asked for by -only, in the order in which they run.
var parts = []part{
	{"latency", (*run).latency},
	{"hook", (*run).hook},
	{"tokens", (*run).tokens},
	{"signal", (*run).signal},
	{"daemon", (*run).daemon},
	{"flood", (*run).flood},
	{"capture", (*run).capture},
	{"noise", (*run).noise},
	{"sourcemap", (*run).sourcemap},
	{"aria", (*run).aria},
	{"viewer", (*run).viewer},
	{"variables", (*run).variables},
	{"act", (*run).act},
	{"sessions", (*run).sessions},
}

func main() {
	r := &run{}
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	all := strings.Join(names, ",")
	only := flag.String("only", all, "which parts")
	flag.BoolVar(&r.quick, "quick", false, "a third of everything")
	flag.StringVar(&r.match, "match", "", "signal, act: only cases whose name contains this, with their answers")
	file := flag.String("json", "", "also write the figures to this file")
	binary := flag.String("binary", "", "measure this program instead of building the checkout's")
	stub := flag.String("stub", "", "serve the stub tool at this socket (the latency part starts it)")
	flag.Parse()
	if *stub != "" {
		exit(serveStub(*stub))
	}
	wanted := strings.Split(*only, ",")
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			fmt.Fprintf(os.Stderr, "bench: there is no part %q; there are %s\n", name, all)
			os.Exit(2)
		}
	}
	r.binary = *binary
	err := r.measure(wanted)
	if *file != "" {
		data, bad := json.MarshalIndent(r.report, "", "  ")
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
	r.report.OS, r.report.Arch, r.report.CPUs, r.report.Quick, r.report.At = runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.quick, time.Now().UTC()
	r.report.Before = calibrate()
	fmt.Printf("machine: %s/%s, %d CPUs; %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.report.Before)
	for _, part := range parts {
		if slices.Contains(wanted, part.name) {
			if bad := part.run(r); bad != nil {
				err = errors.Join(err, fmt.Errorf("%s could not be measured: %w", part.name, bad))
			}
		}
	}
	r.report.After = calibrate()
	fmt.Printf("\nmachine, afterwards: %s\n", r.report.After)
	switch {
	case r.report.Missed > 0:
		fmt.Printf("%d target(s) missed\n", r.report.Missed)
	case err == nil:
		fmt.Println("every target met")
	}
	return err
}

// machine is how fast the machine is, and how busy: what absolute times are to be read beside.
type machine struct {
	// LoopMs is the time of a fixed loop of arithmetic on one CPU, the best of several.
	LoopMs float64 `json:"loop_ms"`
	// Busy is how much longer the same loop takes on all CPUs at once, the middle of several: about 1
	// when nobody else is at work.
	Busy float64 `json:"busy"`
}

func (m machine) String() string {
	return fmt.Sprintf("calibration loop %.1f ms, on all CPUs at once %.2f times that", m.LoopMs, m.Busy)
}

func calibrate() machine {
	var alone, together []time.Duration
	for range 5 {
		alone = append(alone, loops(1))
		together = append(together, loops(runtime.NumCPU()))
	}
	best := slices.Min(alone)
	return machine{float64(best) / float64(time.Millisecond), float64(quantile(together, .5)) / float64(best)}
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

func (r *run) sheet(title string) *sheet { return &sheet{r, &table{Title: title}} }

// row adds a figure and whether its target is met.
func (s *sheet) row(what, measured, target string, met bool) {
	if !met {
		s.r.report.Missed++
	}
	s.Rows = append(s.Rows, row{what, measured, target, met})
}

// figure adds a figure that has no target.
func (s *sheet) figure(what, measured string) { s.row(what, measured, "", true) }

// note adds a line below the table.
func (s *sheet) note(line string) { s.Notes = append(s.Notes, line) }

// print writes the table, and keeps it for -json.
func (s *sheet) print() error {
	s.r.report.Tables = append(s.r.report.Tables, s.table)
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

// progress shows how far a part is, on a terminal only.
func progress(format string, args ...any) {
	if term.IsTerminal(int(os.Stdout.Fd())) {
		fmt.Printf("\r\x1b[K"+format, args...)
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
