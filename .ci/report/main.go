// Command report reads the results of test runners. It prints failures, the ten slowest tests, why each failed
// test failed, and as its last line the number of all tests: "412 passed, 0 failed, 3 skipped".
//
//	go test -json ./... | go run ./.ci/report go
//	go run ./.ci/report vitest FILE.json
//	go run ./.ci/report total
//
// Each of the first two adds its counts to the file that REPORT names, which total reads and prints.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// counts are the tests of one runner. Only leaves count: a test with subtests is its subtests.
type counts struct {
	Passed, Failed, Skipped int
	Slowest                 []timed   `json:",omitempty"`
	Failures                []failure `json:",omitempty"`
}

// failure is a test that failed, with the lines that say why.
type failure struct {
	Test string
	Said []string
}

// timed is how long a test took, its subtests included.
type timed struct {
	Test    string
	Seconds float64
}

// maxSlowest is how many of the slowest tests are named.
const maxSlowest = 10

// slowest returns the slowest tests, the slowest first.
func slowest(list []timed) []timed {
	slices.SortStableFunc(list, func(a, b timed) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return list[:min(len(list), maxSlowest)]
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("which: go, vitest FILE, total?")
	}
	var c counts
	var err error
	switch args[0] {
	case "go":
		c, err = readGo(in, out)
	case "vitest":
		c, err = readVitest(args[1], out)
	case "total":
		return total(out)
	default:
		return fmt.Errorf("%q is none of go, vitest, total", args[0])
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv("REPORT"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(c), f.Close())
}

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// readGo counts tests, prints the output of those that failed, of packages that failed without one
// (they did not build, or a race was found), and why tests were skipped.
func readGo(in io.Reader, out io.Writer) (counts, error) {
	var c counts
	output := map[string][]string{}
	parents := map[string]bool{}
	type result struct{ name, action string }
	var results []result
	failedIn := map[string]bool{}
	ended := map[string]string{}
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(out, line) // the go command's own words
				continue
			}
			name := e.Package + " " + e.Test
			switch e.Action {
			case "output", "build-output":
				output[name] = append(output[name], e.Output)
				if fatal(e.Output) { // a program that ends this way leaves its tests without results
					output[e.Package+" "] = append(output[e.Package+" "], e.Output)
					ended[e.Package] = e.Test
				} else if test := ended[e.Package]; test != "" && test == e.Test {
					output[e.Package+" "] = append(output[e.Package+" "], e.Output)
				}
			case "pass", "fail", "skip":
				if e.Test != "" {
					if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
						parents[e.Package+" "+e.Test[:i]] = true
					}
					results = append(results, result{name, e.Action})
					if !strings.Contains(e.Test, "/") && e.Action != "skip" {
						c.Slowest = append(c.Slowest, timed{path.Base(e.Package) + " " + e.Test, e.Elapsed})
					}
					failedIn[e.Package] = failedIn[e.Package] || e.Action == "fail"
				} else if e.Action == "fail" {
					fmt.Fprintf(out, "FAIL  %s  %.1f s\n", e.Package, e.Elapsed)
					if !failedIn[e.Package] {
						c.Failed++
						c.Failures = append(c.Failures, failure{name, said(output[name])})
						fmt.Fprint(out, strings.Join(output[name], ""))
					}
				} else if e.Action == "pass" {
					fmt.Fprintf(out, "ok    %s  %.1f s\n", e.Package, e.Elapsed)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c, err
		}
	}
	c.Slowest = slowest(c.Slowest)
	for _, t := range results {
		if parents[t.name] && t.action != "fail" {
			continue
		}
		switch t.action {
		case "pass":
			c.Passed++
		case "skip":
			c.Skipped++
			fmt.Fprintf(out, "skip  %s: %s\n", t.name, reason(output[t.name]))
		case "fail":
			below := slices.ContainsFunc(results, func(o result) bool { return o.action == "fail" && strings.HasPrefix(o.name, t.name+"/") })
			if !below {
				c.Failed++
				c.Failures = append(c.Failures, failure{t.name, said(output[t.name])})
			}
			fmt.Fprintf(out, "\n%s", strings.Join(output[t.name], ""))
		}
	}
	return c, nil
}

// maxSaid and maxLine bound what is repeated of a failure, in lines and in bytes of one.
const maxSaid, maxLine = 16, 600

// position begins what a test says.
var position = regexp.MustCompile(`^\s+[\w.-]+\.go:\d+: `)

// fatal reports whether a line begins what Go's runtime prints before it ends a program.
func fatal(line string) bool {
	return strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "SIG")
}

// said is what a test says of its failure: the lines from a panic, a race or the first failure of a property test on, else
// what it printed itself. Between them may be thousands of lines of the programs under test.
func said(lines []string) []string {
	from := slices.IndexFunc(lines, func(l string) bool {
		return fatal(l) || strings.Contains(l, "WARNING: DATA RACE") || strings.Contains(l, "[rapid] failed after") || strings.Contains(l, "[rapid] flaky test")
	})
	var list []string
	own := false
	for i, l := range lines {
		switch {
		case from >= 0:
			own = i >= from && !strings.Contains(l, "[rapid] draw")
		case position.MatchString(l):
			own = true
		default: // what a test prints goes on with a deeper indentation
			own = own && strings.HasPrefix(l, "        ")
		}
		if own {
			l = strings.TrimRight(l, "\n")
			list = append(list, l[:min(len(l), maxLine)])
		}
	}
	if from < 0 { // what a test logs before it fails looks the same
		return list[max(0, len(list)-maxSaid):]
	}
	return list[:min(len(list), maxSaid)]
}

// reason is the last line that a skipped test printed before its result.
func reason(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "---") && !strings.HasPrefix(l, "===") {
			return l
		}
	}
	return ""
}

// readVitest counts the tests in the file that vitest's JSON reporter wrote.
func readVitest(file string, out io.Writer) (counts, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return counts{}, err
	}
	var r struct {
		NumPassedTests, NumFailedTests, NumPendingTests, NumTodoTests int
		NumFailedTestSuites                                           int
		TestResults                                                   []struct {
			Name, Status, Message string
			AssertionResults      []struct {
				FullName, Status string
				FailureMessages  []string
			}
		}
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return counts{}, err
	}
	var failures []failure
	for _, file := range r.TestResults {
		for _, t := range file.AssertionResults {
			if t.Status == "failed" {
				failures = append(failures, failure{t.FullName, t.FailureMessages})
				fmt.Fprintf(out, "\nFAIL  %s\n%s\n", t.FullName, strings.Join(t.FailureMessages, "\n"))
			}
		}
		if file.Status == "failed" && len(file.AssertionResults) == 0 { // it could not be read
			failures = append(failures, failure{file.Name, []string{file.Message}})
			fmt.Fprintf(out, "\nFAIL  %s\n%s\n", file.Name, file.Message)
			r.NumFailedTests++
		}
	}
	fmt.Fprintf(out, "ok    extension: %d tests\n", r.NumPassedTests)
	return counts{Passed: r.NumPassedTests, Failed: r.NumFailedTests, Skipped: r.NumPendingTests + r.NumTodoTests, Failures: failures}, nil
}

// total prints the sum, and fails when a test failed or none ran.
func total(out io.Writer) error {
	data, err := os.ReadFile(os.Getenv("REPORT"))
	if err != nil {
		return fmt.Errorf("no tests ran: %w", err)
	}
	var sum counts
	d := json.NewDecoder(strings.NewReader(string(data)))
	for {
		var c counts
		if err := d.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		sum.Passed += c.Passed
		sum.Failed += c.Failed
		sum.Skipped += c.Skipped
		sum.Failures = append(sum.Failures, c.Failures...)
		sum.Slowest = slowest(append(sum.Slowest, c.Slowest...))
	}
	if len(sum.Slowest) > 0 {
		fmt.Fprintln(out, "\nslowest tests:")
		for _, t := range sum.Slowest {
			fmt.Fprintf(out, "%7.1f s  %s\n", t.Seconds, t.Test)
		}
	}
	if len(sum.Failures) > 0 {
		fmt.Fprintln(out, "\nfailed tests:")
		for _, f := range sum.Failures {
			fmt.Fprintf(out, "%s\n%s\n", f.Test, strings.Join(f.Said, "\n"))
		}
	}
	line := fmt.Sprintf("%d passed, %d failed", sum.Passed, sum.Failed)
	if sum.Skipped > 0 {
		line += fmt.Sprintf(", %d skipped", sum.Skipped)
	}
	fmt.Fprintln(out, line)
	if sum.Failed > 0 {
		return errors.New("tests failed; see above")
	}
	if sum.Passed == 0 {
		return errors.New("no tests ran")
	}
	return nil
}
