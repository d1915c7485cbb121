package mounts

import (
	"fmt"
	"os"
	"strings"
)

// allOf is [all] as a process sees it.
func allOf(process string) ([]Mount, error) {
	table := "/proc/" + process + "/mountinfo"
	data, err := os.ReadFile(table) //nolint:forbidigo // it is the kernel's
	if err != nil {
		return nil, err
	}
	var list []Mount
	for line := range strings.Lines(string(data)) {
		place, what, ok := strings.Cut(line, " - ")
		at, of := strings.Fields(place), strings.Fields(what)
		if !ok || len(at) < 6 || len(of) < 2 {
			return nil, fmt.Errorf("%s has a line that is not understood: %q", table, line)
		}
		list = append(list, Mount{
			Device: at[2],
			At:     unescape.Replace(at[4]), Root: unescape.Replace(at[3]), Type: of[0], Source: unescape.Replace(of[1]), Flags: at[5], Options: of[len(of)-1],
			Private: !strings.Contains(place, " shared:") && !strings.Contains(place, " master:"),
		})
	}
	return list, nil
}

// Elsewhere returns the mounts of a filesystem that other processes see, and this one does not: they have namespaces of their own.
func Elsewhere(device string) (list []Mount, err error) {
	const namespace = "/ns/mnt"
	own, err := os.Readlink("/proc/self" + namespace)
	if err != nil {
		return nil, err
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{own: true}
	for _, p := range processes {
		if strings.Trim(p.Name(), "0123456789") != "" {
			continue
		}
		of, err := os.Readlink("/proc/" + p.Name() + namespace)
		if err != nil || seen[of] { // it has ended, or is the kernel's
			continue
		}
		all, err := allOf(p.Name())
		if err != nil {
			continue // it ended just now
		}
		seen[of] = true
		for _, m := range all {
			if m.Device == device {
				list = append(list, m)
			}
		}
	}
	return list, nil
}

// unescape reads a path as the kernel writes it in its table.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)
