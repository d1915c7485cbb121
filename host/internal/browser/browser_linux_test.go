package browser

// These tests look at processes in /proc, so that they are for Linux only.

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"tidemark.dev/tidemark/installer"
)

// Environment variables that turn the test binary into another program.
const (
	// hostEnv makes it a native host that copies the messages it gets to this socket, a line each.
	hostEnv = "TIDEMARK_TEST_HOST_SOCKET"
	// ownerEnv makes it a process that launches a browser and waits to be killed.
	ownerEnv = "TIDEMARK_TEST_OWNER"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(hostEnv) != "" && len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "chrome-extension://"):
		if err := runHost(os.Getenv(hostEnv), os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case os.Getenv(ownerEnv) != "":
		b, err := Launch(context.Background(), Options{Headless: true, Notes: io.Discard})
		if err != nil {
			fmt.Fprintln(os.Stdout, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stdout, b.PID(), b.UserDataDir())
		select {}
	}
	goleak.VerifyTestMain(m)
}

// runHost reads native-messaging frames and writes their payload to the socket.
func runHost(socket string, in io.Reader) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for {
		var size uint32
		if err := binary.Read(in, binary.NativeEndian, &size); err != nil {
			return nil // the browser is gone
		}
		buf := make([]byte, size)
		if _, err := io.ReadFull(in, buf); err != nil {
			return err
		}
		if _, err := conn.Write(append(buf, '\n')); err != nil {
			return err
		}
	}
}

// needBrowser skips the test without a browser, and gives it its own temporary directory, which must be empty
// at the end.
func needBrowser(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("launches a browser")
	}
	if _, err := installer.FindBrowser(); err != nil {
		t.Skip(err)
	}
	tmp, err := os.MkdirTemp("", "tm") // short, because it contains sockets
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", tmp)
	t.Cleanup(func() {
		empty(t, tmp)
		empty(t, home)
		if err := os.RemoveAll(tmp); err != nil {
			t.Error(err)
		}
	})
}

func TestFirstPageLoadsOnlyWhenTheExtensionIsReady(t *testing.T) {
	needBrowser(t)
	var ready atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ready.Load() {
			t.Errorf("%s was requested before Ready returned", r.URL)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>First</title><link rel=icon href=data:,>")
	}))
	defer srv.Close()

	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var messages *bufio.Scanner
	var notes strings.Builder
	b, err := Launch(ctx, Options{
		ExtensionDir: filepath.Join("testdata", "stub"),
		Binary:       self,
		Headless:     true,
		URL:          srv.URL + "/",
		Width:        900,
		Height:       700,
		Env:          []string{hostEnv + "=" + listener.Addr().String()},
		Notes:        &notes,
		Ready: func(ctx context.Context, _ string) error {
			defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
			conn, err := listener.Accept()
			if err != nil {
				return err
			}
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				return err
			}
			messages = bufio.NewScanner(conn)
			t.Cleanup(func() { _ = conn.Close() })
			if got := nextMessage(t, messages); got["type"] != "hello" {
				return fmt.Errorf("first message = %v", got)
			}
			ready.Store(true)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := nextMessage(t, messages)
	if got["url"] == "about:blank" { // the initial page, which an extension that starts early sees
		got = nextMessage(t, messages)
	}
	if got["type"] != "navigation" || got["url"] != srv.URL+"/" {
		t.Errorf("the extension saw %v first", got)
	}
	says, err := chromedp.Run(b.Context(), chromedp.Evaluate[string](`document.readyState === 'complete' ? report() : new Promise(
		done => addEventListener('load', () => done(report())));
		function report() { return [document.title, navigator.webdriver, outerWidth, location.pathname].join() }`,
		chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	if says != "First,false,900,/" {
		t.Errorf("page says %s", says)
	}
	if noSandbox() != strings.Contains(notes.String(), "running as root") {
		t.Errorf("notes = %q", notes.String())
	}
	// Other tabs have their own contexts.
	tab, closeTab := chromedp.NewContext(b.Context(), chromedp.WithNewWindow(false))
	if err := chromedp.Do(tab, chromedp.Navigate(srv.URL+"/second")); err != nil {
		t.Error(err)
	}
	closeTab()

	dirUsed, pid := b.UserDataDir(), b.PID()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	gone(t, pid, dirUsed)
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestCrashIsReportedAndCleanedUp(t *testing.T) {
	needBrowser(t)
	b, err := Launch(t.Context(), Options{Headless: true, Notes: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(b.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err = b.Wait()
	if !errors.Is(err, ErrCrashed) || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("err = %v", err)
	}
	gone(t, b.PID(), b.UserDataDir())
	if err := b.Close(); !errors.Is(err, ErrCrashed) {
		t.Errorf("Close after the crash: %v", err)
	}
}

func TestEndOfTheContextClosesTheBrowser(t *testing.T) {
	needBrowser(t)
	ctx, cancel := context.WithCancel(t.Context())
	b, err := Launch(ctx, Options{Headless: true, Notes: io.Discard, UserDataDir: filepath.Join(t.TempDir(), "kept")})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := b.Wait(); err != nil {
		t.Error(err)
	}
	gone(t, b.PID(), b.UserDataDir())
	if _, err := os.Stat(b.UserDataDir()); err != nil {
		t.Errorf("the named profile: %v", err)
	}
}

func TestFailedReadyEndsTheBrowser(t *testing.T) {
	needBrowser(t)
	boom := errors.New("the daemon does not answer")
	_, err := Launch(t.Context(), Options{Headless: true, Notes: io.Discard, Ready: func(context.Context, string) error { return boom }})
	if !errors.Is(err, boom) {
		t.Errorf("err = %v", err)
	}
}

func TestKeptProfileRunsTheRebuiltWorker(t *testing.T) {
	needBrowser(t)
	profile := filepath.Join(t.TempDir(), "kept")
	manifest, err := os.ReadFile(filepath.Join("testdata", "stub", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range []string{"first", "second"} {
		extension := filepath.Join(t.TempDir(), build)
		if err := errors.Join(
			os.Mkdir(extension, 0o755),
			os.WriteFile(filepath.Join(extension, "manifest.json"), manifest, 0o644),
			os.WriteFile(filepath.Join(extension, "worker.js"), []byte("self.build = '"+build+"'; self.setWay = async () => undefined"), 0o644),
		); err != nil {
			t.Fatal(err)
		}
		b, err := Launch(t.Context(), Options{Headless: true, Notes: io.Discard, UserDataDir: profile, ExtensionDir: extension})
		if err != nil {
			t.Fatal(err)
		}
		targets, err := chromedp.Targets(b.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range targets {
			if info.Type != "service_worker" {
				continue
			}
			worker, detach := chromedp.NewContext(b.Context(), chromedp.WithTargetID(info.TargetID), chromedp.WithDetachOnCancel())
			if got, err := chromedp.Run(worker, chromedp.Evaluate[string](
				`new Promise((done) => { const look = () => self.build ? done(self.build) : setTimeout(look); look(); })`,
				chromedp.EvalAwaitPromise)); err != nil || got != build {
				t.Errorf("the worker is of the %s build, want the %s one: %v", got, build, err)
			}
			detach()
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestASecondBrowserWithTheSameProfileIsRefused: it would take the first one's place, and end it.
func TestASecondBrowserWithTheSameProfileIsRefused(t *testing.T) {
	needBrowser(t)
	dir := t.TempDir()
	first, err := Launch(t.Context(), Options{Headless: true, UserDataDir: dir, Notes: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Launch(t.Context(), Options{Headless: true, UserDataDir: dir, Notes: io.Discard}); err == nil || !strings.Contains(err.Error(), "is using the profile") {
		t.Errorf("a second one: %v", err)
	}
	select {
	case <-first.Done():
		t.Error("the first one has ended")
	default:
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	again, err := Launch(t.Context(), Options{Headless: true, UserDataDir: dir, Notes: io.Discard})
	if err != nil {
		t.Fatal("when the first one has ended: ", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestPageThatDoesNotOpenIsANote(t *testing.T) {
	needBrowser(t)
	srv := httptest.NewServer(nil)
	srv.Close() // its port refuses connections now
	var notes strings.Builder
	b, err := Launch(t.Context(), Options{Headless: true, Notes: &notes, URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(notes.String(), srv.URL+": net::ERR_CONNECTION_REFUSED") {
		t.Errorf("notes = %q", notes.String())
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestPageWhoseServerDoesNotRespondIsANote: the browser goes on waiting for it.
func TestPageWhoseServerDoesNotRespondIsANote(t *testing.T) {
	needBrowser(t)
	defer func(d time.Duration) { answerTimeout = d }(answerTimeout)
	answerTimeout = 100 * time.Millisecond
	responds, shown := make(chan struct{}), make(chan struct{}, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/shown" {
			shown <- struct{}{}
			return
		}
		<-responds
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>Late</title><link rel=icon href=data:,><script src=/shown></script>")
	}))
	defer srv.Close()
	respond := sync.OnceFunc(func() { close(responds) })
	defer respond()
	var notes strings.Builder
	b, err := Launch(t.Context(), Options{Headless: true, Notes: &notes, URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(notes.String(), srv.URL+" did not respond within 100ms") {
		t.Errorf("notes = %q", notes.String())
	}
	if err := b.Open(t.Context(), srv.URL); err != nil {
		t.Error(err)
	}
	respond()
	<-shown
	<-shown
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestBrowserDiesWithItsOwner(t *testing.T) {
	needBrowser(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.CommandContext(t.Context(), self)
	owner.Env = append(os.Environ(), ownerEnv+"=1")
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir string
	if _, err := fmt.Fscanln(out, &pid, &dir); err != nil {
		t.Fatal(err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // killed
	reap(pid, dir)
	gone(t, pid, "")
	// What it could not remove, the next launch does.
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("the dead owner's profile: %v", err)
	}
	sweep(os.TempDir())
	// A browser that is killed between the creation of a temporary file and its removal leaves it, and nothing says
	// whose it was. The test's own directory has no other browser's.
	left, err := filepath.Glob(filepath.Join(os.TempDir(), ".org.chromium.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if err := os.RemoveAll(name); err != nil {
			t.Error(err)
		}
	}
}

func TestLaunchRefusesWhatCannotWork(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "fails")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho profile appears to be in use >&2\nexit 21\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		opts Options
		want string
	}{
		"absent program":      {Options{Path: filepath.Join(dir, "absent")}, "absent"},
		"program that fails":  {Options{Path: program}, "another browser uses this profile"},
		"no extension":        {Options{Path: program, ExtensionDir: dir}, "make build"},
		"absent native host":  {Options{Path: program, Binary: filepath.Join(dir, "absent")}, "make build"},
		"switch of our own":   {Options{Path: program, ExtraArgs: []string{"--remote-debugging-port=1"}}, "Remove it"},
		"argument, no switch": {Options{Path: program, ExtraArgs: []string{"page"}}, "not a browser switch"},
	} {
		c.opts.Headless, c.opts.Notes = true, io.Discard
		_, err := Launch(t.Context(), c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	empty(t, filepath.Join(dir, "tmp"))
}

// nextMessage reads one line that the native host passed on.
func nextMessage(t *testing.T, lines *bufio.Scanner) map[string]any {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("the native host's connection ended: %v", lines.Err())
	}
	var m map[string]any
	if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// gone checks that no process of the browser and no temporary profile is left.
func gone(t *testing.T, pid int, dir string) {
	t.Helper()
	if dir != "" && strings.Contains(filepath.Base(dir), tempPrefix) {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("the profile %s is still there", dir)
		}
	}
	if dir == "" {
		dir = "/nonexistent"
	}
	if left := survivors(pid, dir); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// TestSweepWaitsForABrowserThatIsEnding: an exiting browser that still writes does not recreate its profile.
func TestSweepWaitsForABrowserThatIsEnding(t *testing.T) {
	tmp := t.TempDir()
	dir := filepath.Join(tmp, tempPrefix+"dead")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+lockSuffix, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ending := exec.Command("sh", "-c", "sleep 0.3; mkdir -p "+dir+"/late", "browser", "--user-data-dir="+dir)
	if err := ending.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- ending.Wait() }()
	sweep(tmp)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	empty(t, tmp)
}
