//go:build !linux

package subprocess

// Process is a running process.
type Process struct {
	PID  int
	Name string
	// Alone says that it leads a session, as what was started with [Alone] does.
	Alone bool `json:"-"`
	// Output is the file of its standard output, "" where that is not known.
	Output string `json:"-"`
}

// Within returns the processes that work in a directory or below it. Known is false where the system does not say that.
func Within(string) (list []Process, known bool) { return nil, false }
