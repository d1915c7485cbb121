package browser

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// tailSize is how many bytes of the browser's last output are kept for errors.
const tailSize = 4 << 10

// output forwards the browser's output and remembers its end.
type output struct {
	mu  sync.Mutex
	dst io.Writer // nil without a listener, or after the listener failed
	end []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end = append(o.end, p...)
	if extra := len(o.end) - tailSize; extra > 0 {
		o.end = append(o.end[:0], o.end[extra:]...)
	}
	if o.dst != nil {
		if _, err := o.dst.Write(p); err != nil {
			o.dst = nil
		}
	}
	return len(p), nil
}

func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(bytes.ToValidUTF8(o.end, []byte("�")))
}

// quote returns the last three lines as a suffix for an error, "" without output.
func (o *output) quote() string {
	lines := strings.Split(strings.TrimSpace(o.tail()), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	return ". Its last output:\n" + strings.Join(lines, "\n")
}

// hint returns advice for known messages of a browser that did not start.
func hint(printed string) string {
	switch {
	case strings.Contains(printed, "No usable sandbox"), strings.Contains(printed, "Failed to move to new namespace"):
		return "\nhint: browsers cannot use a sandbox on this system. Allow unprivileged user namespaces, or pass --no-sandbox for trusted pages."
	case strings.Contains(printed, "Opening in existing browser session"), strings.Contains(printed, "profile appears to be in use"):
		return "\nhint: another browser uses this profile. Close it or choose another user data directory."
	case strings.Contains(printed, "Missing X server"), strings.Contains(printed, "cannot open display"):
		return "\nhint: cannot open the display. Run headless or fix DISPLAY."
	}
	return ""
}
