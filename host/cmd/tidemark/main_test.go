package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tidemark": main})
}

// TestScripts runs the command line as a user would, without a browser. Package e2e has the tests with one. Each
// script has its own home, and its daemon ends with it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exitcode": exitCodeIs},
		Setup: func(env *testscript.Env) error {
			home, err := os.MkdirTemp("", "tmh") // short: a socket's path has a limit
			if err != nil {
				return err
			}
			env.Setenv("TIDEMARK_HOME", filepath.Join(home, "home"))
			env.Setenv("NO_COLOR", "1")
			bin, _, _ := strings.Cut(env.Getenv("PATH"), string(os.PathListSeparator))
			env.Setenv("BIN", bin) // where testscript has put the program
			env.Defer(func() {
				stop := exec.Command(filepath.Join(bin, "tidemark"), "stop")
				stop.Env = env.Vars
				if out, err := stop.CombinedOutput(); err != nil {
					t.Errorf("the daemon of a script does not end: %v\n%s", err, out)
				}
				_ = os.RemoveAll(home)
			})
			return nil
		},
	})
}

// exitCodeIs runs a program and compares its exit code: exitcode 2 tidemark frobnicate.
func exitCodeIs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N program args")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exited *exec.ExitError
	code := 0
	if errors.As(err, &exited) {
		code = exited.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}
