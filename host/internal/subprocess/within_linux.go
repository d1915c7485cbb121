package subprocess

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/installer/safefile"
)

// Process is a running process.
type Process struct {
	PID  int
	Name string
}

// Within returns the processes that work in a directory or below it. Known is false where the system does not say that.
func Within(dir string) (list []Process, known bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		at, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if err != nil || at != dir && !strings.HasPrefix(at, dir+"/") {
			continue // it has ended, or is another user's
		}
		name, _ := safefile.Read(filepath.Join("/proc", e.Name(), "comm"), 100)
		list = append(list, Process{pid, strings.TrimSpace(string(name))})
	}
	return list, true
}
