//go:build linux

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// onSmallDisk is a world without a browser whose home is a disk of so many bytes.
func onSmallDisk(t *testing.T, size int) *testbed.World {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk")
	}
	w := e2etest.LoggedWorld(t)
	if err := syscall.Mount("tmpfs", w.Home, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { // before the world is closed
		if r := w.Run("stop"); r.Code != 0 {
			t.Error(r.Err)
		}
		if err := syscall.Unmount(w.Home, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return w
}

// fill takes all that is free on the world's disk.
func fill(t *testing.T, w *testbed.World) (free func()) {
	t.Helper()
	path := filepath.Join(w.Home, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, 4096)
	for {
		if _, err := f.Write(chunk); err != nil {
			break
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFullDiskLosesNothingThatWasAcknowledged: while nothing can be written nothing is acknowledged and
// everything is told; when there is room again, all is written.
func TestAFullDiskLosesNothingThatWasAcknowledged(t *testing.T) {
	w := onSmallDisk(t, 4<<20)
	s := w.NewStream("profile", "life", "stream")
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	number := 0
	push := func(n int) {
		t.Helper()
		for range n {
			number++
			s.Push(testbed.Log("error", fmt.Sprintf("event %d", number)))
		}
		if err := s.Send(); err != nil {
			t.Fatal(err)
		}
	}
	push(10)
	if err := s.WaitForAll(); err != nil {
		t.Fatal(err)
	}
	free := fill(t, w)
	push(3000) // more than the file's own free pages hold
	if err := testbed.Eventually(context.Background(), func() (bool, error) {
		return strings.Contains(e2etest.StatusOf(t, w).Journal.Problem, "no space left"), nil
	}); err != nil {
		t.Fatal(err)
	}
	before := s.Acknowledged()
	if before > int64(number) {
		t.Fatalf("all %d events were acknowledged", number)
	}
	// The agent sees everything all the same, and a checkpoint says that it is not safe yet.
	if r := e2etest.ChangesOf(t, w); r.Console.TotalNewEntries != number {
		t.Errorf("%s", e2etest.Show(r))
	}
	if r := w.Run("checkpoint", "add", "while_full", "--json"); !strings.Contains(r.Out, `"unsaved":"it is in memory only: `) {
		t.Errorf("%s%s", r.Out, r.Err)
	}
	if r := w.Run("status"); !strings.Contains(r.Out, "Cannot save captured data") || !strings.Contains(r.Out, "no space left") {
		t.Errorf("%s%s", r.Out, r.Err)
	}
	free()
	if err := s.WaitForAll(); err != nil {
		t.Fatal(err)
	}
	if p := e2etest.StatusOf(t, w).Journal.Problem; p != "" {
		t.Errorf("the problem stays: %s", p)
	}
	e2etest.KillDaemon(t, w)
	held := heldLines(t, w)
	for n := 1; n <= number; n++ {
		if held[n] != 1 {
			t.Fatalf("event %d is there %d times", n, held[n])
		}
	}
	if r := w.Run("checkpoint", "list"); !strings.Contains(r.Out, "while_full") {
		t.Errorf("%s%s", r.Out, r.Err)
	}
}

// TestADaemonStartsOnAFullDisk and goes on as soon as there is room.
func TestADaemonStartsOnAFullDisk(t *testing.T) {
	w := onSmallDisk(t, 1<<20)
	if r := w.Run("status"); r.Code != 0 { // makes the directories
		t.Fatal(r.Err)
	}
	if r := w.Run("stop"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	if err := os.Remove(filepath.Join(w.Home, "journal.db")); err != nil {
		t.Fatal(err)
	}
	free := fill(t, w)
	s := w.NewStream("profile", "life", "stream")
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	s.Push(testbed.Log("error", "event 1"))
	if err := s.Send(); err != nil {
		t.Fatal(err)
	}
	if err := testbed.Eventually(context.Background(), func() (bool, error) {
		return e2etest.StatusOf(t, w).Journal.Problem != "", nil
	}); err != nil {
		t.Fatal(err)
	}
	if r := e2etest.ChangesOf(t, w); r.Console.TotalNewEntries != 1 {
		t.Errorf("%s", e2etest.Show(r))
	}
	if n := s.Acknowledged(); n != 1 {
		t.Errorf("acknowledged up to %d", n)
	}
	free()
	if err := s.WaitForAll(); err != nil {
		t.Fatal(err)
	}
}

// TestADamagedJournalIsSetAsideWithAWord: the daemon starts, says so, and keeps what comes.
func TestADamagedJournalIsSetAsideWithAWord(t *testing.T) {
	for name, damage := range map[string]func(data []byte) []byte{
		"overwritten": func(data []byte) []byte { return []byte(strings.Repeat("not what it was ", len(data)/16)) },
		"cut off":     func(data []byte) []byte { return data[:len(data)/2] },
		"empty":       func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := e2etest.LoggedWorld(t)
			if r := w.Run("checkpoint", "add", "session_start"); r.Code != 0 {
				t.Fatal(r.Err)
			}
			if r := w.Run("stop"); r.Code != 0 {
				t.Fatal(r.Err)
			}
			path := filepath.Join(w.Home, "journal.db")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			r := w.Run("status")
			aside, err := filepath.Glob(path + ".damaged-*")
			if err != nil {
				t.Fatal(err)
			}
			if name != "empty" && (r.Code != 0 || len(aside) != 1 || !strings.Contains(strings.ReplaceAll(r.Out, "\n", ""), filepath.Base(aside[0]))) {
				t.Errorf("%s%s%v", r.Out, r.Err, aside)
			}
			s := w.NewStream("profile", "life", "stream")
			if err := s.Connect(); err != nil {
				t.Fatal(err)
			}
			defer func() { s.Close() }()
			s.Push(testbed.Log("log", "event 1"))
			if err := s.Send(); err != nil {
				t.Fatal(err)
			}
			if err := s.WaitForAll(); err != nil {
				t.Fatal(err)
			}
			e2etest.KillDaemon(t, w)
			if held := heldLines(t, w); held[1] != 1 {
				t.Errorf("%v", held)
			}
		})
	}
}

// TestAHomeThatCannotBeWrittenTo is told of, with what to do.
func TestAHomeThatCannotBeWrittenTo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk")
	}
	w := e2etest.LoggedWorld(t)
	disk := filepath.Join(w.Home, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_RDONLY, "mode=0700"); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	file := filepath.Join(w.Home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for home, words := range map[string]string{disk: "read-only file system", filepath.Join(disk, "below"): "read-only file system", file: "not a directory"} {
		other := *w
		other.Home = home
		for _, command := range []string{"status", "serve"} {
			r := other.Run(command)
			if r.Code != 3 && command == "status" || r.Code == 0 || !strings.Contains(r.Err, words) || !strings.Contains(r.Err, "TIDEMARK_HOME") {
				t.Errorf("%s in %s: %d %s", command, home, r.Code, r.Err)
			}
		}
	}
}
