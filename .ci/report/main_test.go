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

// TestTheTotalSaysWhyTestsFailed, without what the programs under test printed meanwhile.
func TestTheTotalSaysWhyTestsFailed(t *testing.T) {
	t.Setenv("REPORT", filepath.Join(t.TempDir(), "report"))
	for test, lines := range map[string][]string{
		"TestPlain":    {"    a_test.go:7: wrong:\n", "        one\n", "time=2 level=INFO msg=noise\n", "        two noise\n", "    a_test.go:9: also wrong\n"},
		"TestProperty": {"    a_test.go:7: [rapid] flaky test, can not reproduce a failure\n", "        s3 is wrong\n", "    a_test.go:7: [rapid] draw noise: 0x1\n"},
		"TestRace":     {"    a_test.go:7: noise\n", "WARNING: DATA RACE\n", "  clock.go:3\n"},
	} {
		var in strings.Builder
		for _, line := range lines {
			fmt.Fprintf(&in, `{"Action":"output","Package":"p","Test":%q,"Output":%q}`+"\n", test, line)
		}
		fmt.Fprintf(&in, `{"Action":"fail","Package":"p","Test":%q,"Elapsed":1}`+"\n", test)
		if err := report(in.String(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	_ = run([]string{"total"}, strings.NewReader(""), &out)
	for _, want := range []string{"p TestPlain\n    a_test.go:7: wrong:\n        one\n    a_test.go:9: also wrong\n", "s3 is wrong", "clock.go:3"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "noise") || !strings.HasSuffix(out.String(), "\n0 passed, 3 failed\n") {
		t.Error(out.String())
	}
}

func TestTheTotalSaysWhyATestProgramEnded(t *testing.T) {
	t.Setenv("REPORT", filepath.Join(t.TempDir(), "report"))
	in := `{"Action":"run","Package":"p","Test":"TestA/b"}
{"Action":"output","Package":"p","Test":"TestA/b","Output":"noise\n"}
{"Action":"output","Package":"p","Test":"TestA/b","Output":"fatal error: checkptr\n"}
{"Action":"output","Package":"p","Test":"TestA/b","Output":"a_test.go:346\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\n"}
{"Action":"fail","Package":"p","Elapsed":1}
`
	if err := report(in, "go"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	_ = run([]string{"total"}, strings.NewReader(""), &out)
	if !strings.Contains(out.String(), "p \nfatal error: checkptr\na_test.go:346\n") || strings.Contains(out.String(), "noise") {
		t.Error(out.String())
	}
}

func report(in string, args ...string) error {
	var out strings.Builder
	return run(args, strings.NewReader(in), &out)
}
