package objects_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
)

// TestAPackThatAnotherProgramReadsForAMomentIsRemoved: a virus scanner, say, or a branch that has the same file and is being
// opened.
func TestAPackThatAnotherProgramReadsForAMomentIsRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	if _, err := s.Put(bytes.Repeat([]byte("x"), 100)); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(dir, "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	mark := packs[0] + ".cut" // it is removed just before
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	collected := make(chan error)
	go func() {
		_, err := s.Collect(context.Background(), objects.None, func(objects.ID) bool { return false })
		collected <- err
	}()
	for err == nil {
		_, err = os.Stat(mark)
		runtime.Gosched()
	}
	for range 100 { // it is being tried
		runtime.Gosched()
		if _, err := os.Stat(packs[0]); err != nil {
			t.Fatal("the pack is removed while another program has it")
		}
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-collected; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(packs[0]); !os.IsNotExist(err) {
		t.Error("the pack is still there", err)
	}
}
