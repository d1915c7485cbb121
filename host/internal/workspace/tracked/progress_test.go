package tracked_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// TestASnapshotThatIsBeingTakenKeepsNobodyWaiting: the earlier ones are listed meanwhile, and how far it is.
func TestASnapshotThatIsBeingTakenKeepsNobodyWaiting(t *testing.T) {
	workspace := t.TempDir()
	for i := range 20 {
		path := filepath.Join(workspace, fmt.Sprint("d", i%3), fmt.Sprint(i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(fmt.Sprint(i)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var begun sync.Once
	compared, goOn := make(chan struct{}), make(chan struct{})
	p, err := tracked.Open(tracked.Options{
		Workspace: workspace, Store: t.TempDir(), Clock: time.Now,
		Skip: func(path string) bool {
			if path == "d1/1" {
				begun.Do(func() { close(compared); <-goOn })
			}
			return false
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if tracked.Taking(p) != nil {
		t.Error("a snapshot is being taken before one was asked for")
	}
	taken := make(chan error)
	go func() {
		_, _, err := p.Take(context.Background(), "")
		taken <- err
	}()
	<-compared
	if list, size := p.List(), p.Size(); len(list) != 0 || size == 0 {
		t.Errorf("%d snapshots in %d bytes", len(list), size)
	}
	progress := tracked.Taking(p)
	if progress == nil {
		t.Fatal("no snapshot is being taken")
	}
	if found, _, to := progress.Now(); found == 0 || to != 0 {
		t.Errorf("while paths are compared, it has compared %d and is to read %d", found, to)
	}
	close(goOn)
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if found, read, to := progress.Now(); found != 23 || read != 24 || to != 24 {
		t.Errorf("it compared %d, and read %d of %d", found, read, to)
	}
	if len(p.List()) != 1 || tracked.Taking(p) != nil {
		t.Errorf("after that, %d snapshots", len(p.List()))
	}
}
