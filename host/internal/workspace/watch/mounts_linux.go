package watch

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mounts notices what is mounted below a directory: a mount hides files and makes no event.
type mounts struct {
	dir string
	fd  int // of the system's table, -1 where there is none. Go's poller would take its changes
	now []string
}

const mountTable = "/proc/self/mountinfo"

func openMounts(dir string) *mounts {
	m := &mounts{dir: dir}
	var err error
	if m.fd, err = unix.Open(mountTable, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		m.fd = -1
	}
	m.now = m.list()
	return m
}

func (m *mounts) close() {
	if m.fd >= 0 {
		_ = unix.Close(m.fd)
	}
}

// changed reports whether something was mounted or unmounted below the directory since the last call.
func (m *mounts) changed() bool {
	if m.fd < 0 {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(m.fd), Events: unix.POLLPRI}} //nolint:gosec // a descriptor
	if n, err := unix.Poll(poll, 0); err == nil && n == 0 {
		return false // no mount of the whole system changed
	}
	before := m.now
	m.now = m.list()
	return !slices.Equal(before, m.now)
}

// list returns the lines of the mounts below the directory.
func (m *mounts) list() []string {
	data, err := os.ReadFile(mountTable) //nolint:forbidigo // it is the kernel's
	if err != nil {
		return nil
	}
	below := escape.Replace(strings.TrimSuffix(m.dir, "/")) + "/"
	var list []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], below) {
			list = append(list, line)
		}
	}
	return list
}

// escape writes a path as the kernel does in its table.
var escape = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)
