package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheTotalNamesTheSlowestTests feeds two runs into one report.
func TestTheTotalNamesTheSlowestTests(t *testing.T) {
	t.Setenv("REPORT", filepath.Join(t.TempDir(), "report"))
	for run, pkg := range []string{"tidemark.dev/tidemark/host/internal/diff", "tidemark.dev/tidemark/host/e2e"} {
		var in strings.Builder
		for i := range 8 {
			fmt.Fprintf(&in, `{"Action":"pass","Package":%q,"Test":"Test%d/part","Elapsed":100}`+"\n", pkg, i)
			fmt.Fprintf(&in, `{"Action":"pass","Package":%q,"Test":"Test%d","Elapsed":%d}`+"\n", pkg, i, i+run*5)
		}
		fmt.Fprintf(&in, `{"Action":"skip","Package":%q,"Test":"TestLate","Elapsed":300}`+"\n", pkg)
		fmt.Fprintf(&in, `{"Action":"pass","Package":%q,"Elapsed":9}`+"\n", pkg)
		if err := report(in.String(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := run([]string{"total"}, strings.NewReader(""), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 12 || lines[0] != "slowest tests:" || lines[1] != "   12.0 s  e2e Test7" || lines[10] != "    5.0 s  diff Test5" || lines[11] != "16 passed, 0 failed, 2 skipped" {
		t.Errorf("%q", lines)
	}
}

// TestAFailureIsCountedOnceAndEndsTheReportWithAnError: a test that fails because of its part is one failure.
func TestAFailureIsCountedOnceAndEndsTheReportWithAnError(t *testing.T) {
	t.Setenv("REPORT", filepath.Join(t.TempDir(), "report"))
	const in = `{"Action":"output","Package":"p","Test":"TestA/b","Output":"wrong\n"}
{"Action":"fail","Package":"p","Test":"TestA/b","Elapsed":1}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":1}
{"Action":"fail","Package":"p","Elapsed":1}
`
	if err := report(in, "go"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := run([]string{"total"}, strings.NewReader(""), &out)
	if err == nil || !strings.HasSuffix(out.String(), "\n0 passed, 1 failed\n") {
		t.Errorf("%v: %q", err, out.String())
	}
}

// TestWhatAPropertyTestFoundIsSaidLast: after its steps, of which there can be thousands.
func TestWhatAPropertyTestFoundIsSaidLast(t *testing.T) {
	t.Setenv("REPORT", filepath.Join(t.TempDir(), "report"))
	const in = `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: [rapid] flaky test, can not reproduce a failure\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"        Original traceback (s3 is wrong):\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"        Failed test output:\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: [rapid] draw edit: 0x1\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (1.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":1}
{"Action":"fail","Package":"p","Elapsed":1}
`
	var out strings.Builder
	if err := run([]string{"go"}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(out.String(), "--- FAIL")
	if !strings.Contains(last, "s3 is wrong") || strings.Contains(last, "draw") {
		t.Error(out.String())
	}
}

func report(in string, args ...string) error {
	var out strings.Builder
	return run(args, strings.NewReader(in), &out)
}
