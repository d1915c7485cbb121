// Package devserver runs applications in development servers made by others.
//
// The applications are in testdata: a folder for each server, with the versions of its packages, and folders that several of them
// share: shop, what needs no framework, app, its views in React, and vueapp, those in Vue. A server's own files go before shared ones.
package devserver

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/filelock"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/npm"
)

// App is an application in development: a directory, and a server for it.
type App struct {
	testing.TB
	Dir string
	// URL is the server's address, without a slash at its end.
	URL string
	// Stop ends the server.
	Stop func()
}

// Start installs an application of testdata with its packages, adds what is in shared folders, prepares it where prepare is not nil,
// and serves it. Without npm, and with -short, the test is skipped.
func Start(t testing.TB, name string, shared []string, prepare func(*App)) *App {
	t.Helper()
	if testing.Short() {
		t.Skip("packages are installed from npm: not with -short")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip(err)
	}
	a := &App{TB: t, Dir: e2etest.Repository(filepath.Join(".cache/devservers", name))}
	alone(t, a.Dir+".lock")
	from := e2etest.Repository("host/testing/devserver/testdata")
	err := npm.Install(filepath.Join(from, name), a.Dir)
	for _, folder := range append(slices.Clone(shared), name) {
		err = errors.Join(err, npm.Overlay(a.Dir, filepath.Join(from, folder)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(a)
	}
	a.Serve(exec.Command("node", "serve.mjs"))
	return a
}

// alone waits until no test of another process uses the directory of an application, and keeps others waiting.
func alone(t testing.TB, path string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	for err == nil {
		var f *os.File
		if f, err = filelock.Open(path); err == nil {
			t.Cleanup(func() { _ = f.Close() })
			return
		}
		if errors.Is(err, filelock.ErrTaken) {
			select {
			case <-t.Context().Done():
				err = t.Context().Err()
			case <-time.After(100 * time.Millisecond):
				err = nil
			}
		}
	}
	t.Fatal(err)
}

// Serve starts a development server, which prints its address and ends with its standard input, and ends it with the test. The
// application's pages are then the project's.
func (a *App) Serve(cmd *exec.Cmd, env ...string) {
	a.Helper()
	cmd.Dir, cmd.Stderr, cmd.Env = a.Dir, os.Stderr, append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		a.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.Fatal(err)
	}
	at, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(at)
		for lines, told := bufio.NewScanner(out), false; lines.Scan(); {
			if line := strings.TrimSuffix(strings.TrimSpace(lines.Text()), "/"); !told && strings.HasPrefix(line, "http://") {
				at <- line
				told = true
			}
		}
	}()
	a.Stop = sync.OnceFunc(func() {
		_ = in.Close() // it ends with its input
		<-ended
		_ = cmd.Wait()
	})
	a.Cleanup(a.Stop)
	if a.URL = <-at; a.URL == "" {
		a.Fatal("the server did not start")
	}
	a.Write(".tidemark.toml", fmt.Sprintf("origins = [%q]\n", a.URL))
}

// Restart starts the server of [Start] again, at the same address.
func (a *App) Restart() {
	a.Helper()
	a.Stop()
	at, err := url.Parse(a.URL)
	if err != nil {
		a.Fatal(err)
	}
	settings := filepath.Join(a.Dir, ".tidemark.toml")
	was, err := os.Stat(settings)
	if err != nil {
		a.Fatal(err)
	}
	a.Serve(exec.Command("node", "serve.mjs"), "PORT="+at.Port())
	if err := os.Chtimes(settings, was.ModTime(), was.ModTime()); err != nil { // nobody edited it
		a.Fatal(err)
	}
}

// Write replaces a file at once, as agents' tools do: no server reads a half of it.
func (a *App) Write(name, text string) {
	a.Helper()
	written := filepath.Join(a.TempDir(), "written")
	if err := errors.Join(os.WriteFile(written, []byte(text), 0o600), os.Rename(written, filepath.Join(a.Dir, name))); err != nil {
		a.Fatal(err)
	}
}

// Edit replaces a piece of a file that it has once, as an agent would.
func (a *App) Edit(name, from, to string) {
	a.Helper()
	data, err := os.ReadFile(filepath.Join(a.Dir, name))
	if err != nil {
		a.Fatal(err)
	}
	if n := strings.Count(string(data), from); n != 1 {
		a.Fatalf("%s has %q %d times", name, from, n)
	}
	a.Write(name, strings.Replace(string(data), from, to, 1))
}
