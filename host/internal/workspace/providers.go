package workspace

import (
	"context"
	"fmt"
	"time"
)

// Matrix is which ways there are to take snapshots of a workspace.
type Matrix struct {
	Workspace string `json:"workspace"`
	// Filesystem is the workspace's, "" where the system does not name it.
	Filesystem string `json:"filesystem,omitempty"`
	// Providers are in the order of preference. The first one that is available is used.
	Providers []Choice `json:"providers"`
}

// Choice is a way to take snapshots.
type Choice struct {
	Name      string `json:"name"`
	Available bool   `json:"available"`
	// Why says why it is not available, or what it does.
	Why string `json:"why"`
	// SnapshotMs is how long a snapshot took just now in which nothing had changed, in milliseconds. Files is how many files
	// and directories it has. Both are 0 for what is not available.
	SnapshotMs float64 `json:"snapshotMs,omitempty"`
	Files      int     `json:"files,omitempty"`
	// Seek and Branch say how a view and a branch get their files.
	Seek   string `json:"seek,omitempty"`
	Branch string `json:"branch,omitempty"`
}

// native are the filesystems whose own snapshots are preferred, in this order.
var native = []struct{ name, title string }{{"zfs", "ZFS"}, {"btrfs", "Btrfs"}, {"nilfs2", "NILFS2"}}

// Providers returns the ways to take snapshots of a workspace. To measure, it takes a snapshot of what changed, and then one
// more.
func (w *Workspace) Providers(ctx context.Context) (*Matrix, error) {
	m := &Matrix{Workspace: w.Dir, Filesystem: filesystemOf(w.Dir)}
	for _, n := range native {
		c := Choice{Name: n.name, Why: "the project is not on " + n.title}
		switch m.Filesystem {
		case n.name:
			c.Why = "this version of Tidemark does not use the snapshots of " + n.title
		case "":
			c.Why = "the system does not say which filesystem the project is on"
		}
		m.Providers = append(m.Providers, c)
	}
	if _, _, err := w.Take(ctx, "before a measurement", "", false); err != nil {
		return nil, err
	}
	began := time.Now()
	s, _, err := w.Take(ctx, "measured", "", false)
	if err != nil {
		return nil, err
	}
	c := Choice{Name: Provider, Available: true, Why: "works on every filesystem, without privileges", SnapshotMs: float64(time.Since(began).Microseconds()) / 1000, Files: s.Files}
	if why, unsupported := w.watching.limited(); why != "" || unsupported {
		c.Why += fmt.Sprintf("; each snapshot compares all files (%s)", why)
	}
	c.Seek, c.Branch = "read-only; "+w.place.Why, "writable; "+w.place.Why
	m.Providers = append(m.Providers, c)
	return m, nil
}
