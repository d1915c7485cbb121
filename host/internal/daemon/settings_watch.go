package daemon

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rjeczalik/notify"
)

// watchedEvents is how many events may wait. What a flood of them pushes out is seen by the next sweep.
const watchedEvents = 256

// watchFile calls changed after a file was created, replaced, written or removed, until ctx ends. It creates the directory
// of the file.
func watchFile(ctx context.Context, path string, changed func()) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	events := make(chan notify.EventInfo, watchedEvents)
	if err := notify.Watch(dir, events, written); err != nil {
		return err
	}
	defer notify.Stop(events)
	changed() // what happened before the watch began
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			if filepath.Base(e.Path()) == filepath.Base(path) {
				changed()
			}
		}
	}
}

// watchGrants closes workspaces at once when the user takes their permission back.
func (d *daemon) watchGrants(ctx context.Context) {
	if err := watchFile(ctx, d.home.Grants(), d.workspaces.Sweep); err != nil {
		d.log.Warn("changes of the user's decisions are noticed within a minute, not at once", "error", err)
	}
}
