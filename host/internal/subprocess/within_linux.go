package subprocess

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/installer/safefile"
)

// Process is a running process.
type Process struct {
	PID  int
	Name string
	// Alone says that it leads a session, as what was started with [Alone] does.
	Alone bool `json:"-"`
	// Output is the file of its standard output, "" where that is not known.
	Output string `json:"-"`
}

// Within returns the processes that work in a directory or below it, at whatever path they see it. Known is false where the system
// does not say that.
func Within(dir string) (list []Process, known bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	own, _ := os.Readlink("/proc/self/ns/mnt")
	place, placed := mounts.Place("self", dir)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		at, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if err != nil {
			continue // it has ended, or is another user's
		}
		in := below(at, dir)
		if ns, err := os.Readlink(filepath.Join("/proc", e.Name(), "ns", "mnt")); err == nil && ns != own && placed == nil { // the path is its own one
			its, err := mounts.Place(e.Name(), at)
			in = err == nil && below(its, place)
		}
		if !in {
			continue
		}
		name, _ := safefile.Read(filepath.Join("/proc", e.Name(), "comm"), 100)
		leads, _ := unix.Getsid(pid)
		output, _ := os.Readlink(filepath.Join("/proc", e.Name(), "fd", "1"))
		list = append(list, Process{pid, strings.TrimSpace(string(name)), leads == pid, output})
	}
	return list, true
}

func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
