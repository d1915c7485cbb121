package workspace

import (
	"context"
	"fmt"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
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
	// SnapshotMs is how long a snapshot took just now, in milliseconds: of the filesystem, or of "tracked" when nothing had
	// changed. Files is how many files and directories it has. Both are 0 for what is not available.
	SnapshotMs float64 `json:"snapshotMs,omitempty"`
	Files      int     `json:"files,omitempty"`
	// Seek and Branch say how a view and a branch get their files.
	Seek   string `json:"seek,omitempty"`
	Branch string `json:"branch,omitempty"`
}

// Providers returns the ways to take snapshots of a workspace. To measure, it takes a snapshot of what changed, and then one
// more of each kind.
func (w *Workspace) Providers(ctx context.Context) (*Matrix, error) {
	m := &Matrix{Workspace: w.Dir, Filesystem: filesystemOf(w.Dir)}
	if _, _, err := w.Take(ctx, "before a measurement", "", false); err != nil {
		return nil, err
	}
	began := time.Now()
	s, _, err := w.Take(ctx, "measured", "", false)
	if err != nil {
		return nil, err
	}
	recorded := time.Since(began)
	for _, n := range natives {
		m.Providers = append(m.Providers, byFilesystem(ctx, w, n.driver))
	}
	m.Providers = append(m.Providers, byRecord(ctx, w, s.Number))
	for i := range m.Providers {
		c := &m.Providers[i]
		if c.Available {
			c.Files = s.Files
		}
		if c.Name == Provider {
			c.SnapshotMs = milliseconds(recorded)
		}
	}
	return m, nil
}

func byFilesystem(ctx context.Context, w *Workspace, driver provider.Driver) Choice {
	c := Choice{Name: driver.Name()}
	if why := w.unfit[c.Name]; why != nil {
		c.Why = why.Error()
		return c
	}
	support, err := driver.Probe(ctx, w.Dir)
	took := time.Duration(0)
	if err == nil {
		took, err = measure(ctx, w)
	}
	if err != nil {
		c.Why = err.Error()
		return c
	}
	c.Available, c.Why, c.SnapshotMs = true, support.Why, milliseconds(took)
	if why := w.native.Serves(); why != nil {
		c.Seek, c.Branch = "read-only; "+w.place.Why, "writable; "+w.place.Why
		c.Why += ", from whose snapshots the record is read. They serve no view and no branch: " + why.Error()
		return c
	}
	if w.native.Views() {
		c.Seek = "read-only, for root too; a mount of the newest states, which takes the same time for any number of files"
		c.Branch = "writable; " + w.place.Why
		return c
	}
	c.Seek = "read-only, for root too; a snapshot of the newest states, which takes the same time for any number of files"
	c.Branch = "writable; a snapshot of the newest states, which takes the same time for any number of files"
	return c
}

// measure takes a snapshot of the filesystem while no other is taken.
func measure(ctx context.Context, w *Workspace) (time.Duration, error) {
	held, err := w.provider.Hold(ctx)
	if err != nil {
		return 0, err
	}
	defer held.Release()
	return w.native.Measure(ctx)
}

func byRecord(ctx context.Context, w *Workspace, number uint64) Choice {
	c := Choice{Name: Provider, Available: true, Why: "works on every filesystem, without privileges"}
	if w.native != nil {
		c.Why = "keeps the record of what changed, for every provider, and serves older states"
	}
	if why, unsupported := w.watching.limited(); why != "" || unsupported {
		c.Why += fmt.Sprintf("; each snapshot compares all files (%s)", why)
	}
	c.Seek = "read-only; " + tried(ctx, w, number, false, "a FUSE mount of the snapshot")
	c.Branch = "writable; " + tried(ctx, w, number, true, "an overlay of the kernel above a FUSE mount of the snapshot")
	return c
}

// tried says how a view or a branch gets its files, after it has mounted one.
func tried(ctx context.Context, w *Workspace, number uint64, branch bool, how string) string {
	took, err := tryOut(ctx, w, number, branch)
	if err != nil {
		return fmt.Sprintf("%s; not mounted: %v", w.place.Why, err)
	}
	return fmt.Sprintf("%s, made in %.0f ms just now. Below %d files and %d MiB, files are copied instead: %s", how, milliseconds(took), w.o.mountFiles(), mountBytes>>20, w.place.Why)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
