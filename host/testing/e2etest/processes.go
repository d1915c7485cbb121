package e2etest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// StatusOf returns what `tidemark status` prints.
func StatusOf(t *testing.T, w *testbed.World) viewer.Status {
	t.Helper()
	var s viewer.Status
	r := w.Run("status", "--json")
	if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
		t.Fatalf("%s%s: %v", r.Out, r.Err, err)
	}
	return s
}

// DaemonPID returns the daemon's process.
func DaemonPID(t *testing.T, w *testbed.World) int {
	t.Helper()
	return StatusOf(t, w).PID
}

// KillDaemon kills the daemon, as the system may when memory is short, and returns when it has ended. Its first thread
// is a zombie before the others have ended. Until then its sockets accept connections, which break at once.
func KillDaemon(t *testing.T, w *testbed.World) {
	t.Helper()
	pid := DaemonPID(t, w)
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := testbed.Eventually(context.Background(), func() (bool, error) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return true, nil
		}
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		return err != nil || len(threads) == 1 && strings.Contains(string(stat), ") Z "), nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Running returns the processes that have a variable (NAME=VALUE) in their environment.
func Running(t *testing.T, variable string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(variable+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ChangesOf returns what `tidemark changes` prints.
func ChangesOf(t *testing.T, w *testbed.World, args ...string) *report.Report {
	t.Helper()
	ran := w.Run(append([]string{"changes", "--json"}, args...)...)
	var r report.Report
	if err := json.Unmarshal([]byte(ran.Out), &r); err != nil {
		t.Fatalf("%s%s: %v", ran.Out, ran.Err, err)
	}
	return &r
}
