// Command bench measures what Tidemark promises, each figure against its target, as ratios within one
// run wherever a ratio says it; absolute times stand beside a calibration figure of the machine. It
// fails only when something could not be measured: a missed target is printed, not an exit code.
//
//	go run ./host/bench [-only tokens,latency,signal] [-quick]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/testbed"
)

// run is one run of the benchmarks.
type run struct {
	binary string
	quick  bool
	missed int
}

func main() {
	only := flag.String("only", "latency,tokens,signal", "which parts")
	quick := flag.Bool("quick", false, "a third of everything")
	stub := flag.String("stub", "", "serve the stub tool at this socket (the latency part starts it)")
	flag.Parse()
	var err error
	if *stub != "" {
		err = serveStub(*stub)
	} else {
		err = measure(strings.Split(*only, ","), *quick)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(parts []string, quick bool) (err error) {
	dir, err := os.MkdirTemp("", "tmb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Println("building …")
	binary, err := testbed.Build(dir)
	if err != nil {
		return err
	}
	r := &run{binary: binary, quick: quick}
	fmt.Printf("machine: %s/%s, %d CPUs, calibration loop %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), calibrate().Round(time.Millisecond/10))
	for _, part := range []struct {
		name string
		run  func() error
	}{{"latency", r.latency}, {"tokens", r.tokens}, {"signal", r.signal}} {
		if slices.Contains(parts, part.name) {
			if err := part.run(); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	if r.missed > 0 {
		fmt.Printf("\n%d target(s) missed\n", r.missed)
	} else {
		fmt.Println("\nevery target met")
	}
	return nil
}

// calibrate is the time of a fixed loop of arithmetic: what absolute times are to be read beside.
func calibrate() time.Duration {
	best := time.Hour
	for range 5 {
		began := time.Now()
		x := uint64(88172645463325252)
		for range 20_000_000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		if x == 0 {
			fmt.Println()
		}
		best = min(best, time.Since(began))
	}
	return best
}

// sheet is a table of figures.
type sheet struct {
	r *run
	t render.Table
}

func (r *run) sheet(title string) *sheet {
	fmt.Printf("\n%s\n", title)
	s := &sheet{r: r, t: render.Table{Indent: "  "}}
	s.t.Row("what", "measured", "target", "")
	return s
}

// row adds a figure and whether its target is met; a target of "" is none.
func (s *sheet) row(what, measured, target string, met bool) {
	verdict := ""
	if target != "" {
		verdict = "met"
		if !met {
			verdict = "MISSED"
			s.r.missed++
		}
	}
	s.t.Row(what, measured, target, verdict)
}

func (s *sheet) print() error { return s.t.Write(os.Stdout) }

// progress shows how far a part is, on a terminal only.
func progress(format string, args ...any) {
	if term.IsTerminal(int(os.Stdout.Fd())) {
		fmt.Printf("\r\x1b[K"+format, args...)
	}
}

// quantile is the value below which a share of the list lies.
func quantile[T interface{ ~int | ~int64 | ~float64 }](list []T, share float64) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond)) }
