// Package e2etest is the harness of the end-to-end tests: worlds with real Chromium (package testbed), sites, tabs and
// agents, whose failures end the test.
//
// Most tests of a package share one browser and one daemon. Each test has a server and therefore its own origin, and
// its agents see that origin only, like two projects on one machine.
package e2etest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// BinaryEnv names the environment variable with the path of the program under test. Without it, each package builds
// the program.
const BinaryEnv = "TIDEMARK_TEST_BINARY"

var binary string

// Binary returns the path of the program under test.
func Binary() string { return binary }

// Main runs the tests of a package and exits. A package's TestMain calls it.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tm")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		binary, err = program(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.close()
	return m.Run()
}

// program returns the program that [BinaryEnv] names, or else builds one in dir.
func program(dir string) (string, error) {
	path := os.Getenv(BinaryEnv)
	if path == "" {
		return testbed.Build(dir)
	}
	_, err := os.Stat(path) // so that results of another program are not taken from go's cache
	return path, err
}

// Repository returns the path of a file of the repository.
func Repository(path string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../../..", path)
}
