package overlay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// patience is how long a process may take to serve a snapshot.
const patience = 20 * time.Second

// mounting is held while something is mounted or unmounted.
var mounting sync.Mutex

var errServer = errors.New("no program is known that serves snapshots")

// occupied is the error of a branch that is not mounted, and in whose directory something is.
func occupied(dir string) error {
	return fmt.Errorf("the branch in %s is not mounted, and something was written into its empty directory. Move that away and try again.", dir)
}

// busy is the error of a mount that a program uses.
func busy(dir string) error {
	return fmt.Errorf("%s was not unmounted, because a program uses it. Close the programs that work in it and try again: %w", dir, error(syscall.EBUSY))
}

// serve starts the process that serves a directory, and waits until it does.
func serve(ctx context.Context, server []string, dir string) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(server[0], append(server[1:len(server):len(server)], dir)...) //nolint:gosec // it is Tidemark itself
	cmd.Stdout, cmd.Stderr, cmd.Dir = in, in, top
	cmd.SysProcAttr = detached // it outlives the daemon
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return err
	}
	go func() { _ = cmd.Wait() }()
	said := make(chan string, 1)
	go func() { // it ends when the process has said something or was killed
		line, _ := bufio.NewReader(out).ReadString('\n')
		_ = out.Close()
		said <- line
	}()
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	line := ""
	select {
	case line = <-said:
	case <-limit.Done():
	}
	if line == Ready+"\n" {
		return nil
	}
	_ = cmd.Process.Kill()
	if said := strings.TrimPrefix(strings.TrimSpace(line), "tidemark: "); said != "" {
		return errors.New(said)
	}
	return errors.Join(errors.New("the process that serves a snapshot did not begin"), limit.Err())
}

// How often, and how long after each other, it is looked whether a process has ended that serves nothing any more.
const (
	endingTries = 400
	endingEvery = 5 * time.Millisecond
)

// ended waits until the process of a lock has ended, so that it has no file open. One that does not end keeps its files until it
// does.
func ended(lock string) {
	for i := 0; serving(lock) && i < endingTries; i++ {
		time.Sleep(endingEvery)
	}
}

// removeLayers removes layers that are not mounted. The kernel makes a directory in work that nobody may read.
func removeLayers(path string) error {
	if err := mounts.RemoveAll(path); err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(at string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(at, 0o700) //nolint:gosec // a directory needs its x
		}
		return nil
	})
	return mounts.RemoveAll(path)
}
