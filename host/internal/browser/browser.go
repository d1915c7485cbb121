// Package browser runs a separate browser for Tidemark. It uses its own profile, loads the extension, registers
// the native host for that profile, and opens the page only when the extension is ready.
//
// Guarantees:
//   - The extension's service worker runs, and [Options.Ready] has returned, before the first page begins to load.
//   - Capture of a watched page that this package opens begins before its first request, unless the extension takes
//     more than five seconds to begin.
//   - When [Browser.Close] or [Browser.Wait] returns, the browser and all its processes have exited, and a temporary
//     profile is removed.
//   - When this process dies, by any signal, the browser ends too. The next [Launch] removes a temporary profile that
//     was left behind.
//   - No debugging port is opened. Only this process has the pipe that drives the browser.
//   - Pages see an ordinary browser (navigator.webdriver is false).
package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/installer"
)

// Options selects the browser and its settings. The zero value of every field is usable.
type Options struct {
	// Path is the browser's program. Empty: the result of [installer.FindBrowser].
	Path string
	// UserDataDir is the profile's directory, which is kept with the extension's settings.
	// Empty: a temporary directory, removed at the end.
	UserDataDir string
	// ExtensionDir contains the unpacked extension. Empty: none is loaded.
	ExtensionDir string
	// Way is the capture mode of the extension: "debugger" or "quiet". Empty: debugger. Browsers launched here do
	// not show its bar.
	Way string
	// Binary is the tidemark program that the browser starts as native host. Empty: no native host
	// is registered.
	Binary string
	// URL is opened once the extension is ready. Empty: the browser stays on about:blank.
	URL string
	// Headless hides the window. Without a display the browser is always headless, and a note says so.
	Headless bool
	// Width and Height are the window's size in CSS pixels. Zero: 1280 by 800 when headless, else
	// the browser's choice.
	Width, Height int
	// Env is added to this process's environment, as NAME=value; the native host inherits it.
	Env []string
	// Log receives the output of the browser. Nil: it is dropped, except for the last lines, which errors
	// quote.
	Log io.Writer
	// Notes receives lines for the user (no display, no sandbox, a page that did not open). Nil:
	// standard error.
	Notes io.Writer
	// ExtraArgs are further switches of the browser, as --name or --name=value. Lists of features
	// are joined with Tidemark's own; any other switch replaces Tidemark's.
	ExtraArgs []string
	// Ready is called after the extension's service worker has started and before URL is opened. Instance is the
	// extension's name for this profile. Ready returns when the first page may load, for example when the daemon
	// lists that browser as connected. An error ends the launch.
	Ready func(ctx context.Context, instance string) error
}

const (
	// workerTimeout bounds how long the extension's service worker may take to start.
	workerTimeout = 30 * time.Second
	// expectTimeout bounds how long the extension may take to begin with a tab before its page is opened.
	expectTimeout = 5 * time.Second
	// closeTimeout bounds an orderly exit of the browser, killTimeout the exit after SIGTERM.
	closeTimeout = 5 * time.Second
	killTimeout  = 3 * time.Second
)

// answerTimeout bounds how long opening a page waits for its server. Tests change it.
var answerTimeout = 10 * time.Second

// ErrCrashed reports that the browser exited without being closed.
var ErrCrashed = errors.New("the browser exited unexpectedly")

// Browser is a running browser. Its methods may be called from any goroutine.
type Browser struct {
	// Never changed after Launch.
	path      string
	dir       string
	headless  bool
	extension string
	instance  string
	cmd       *exec.Cmd
	pid       int
	root, tab context.Context
	output    *output

	closing   chan struct{}
	closeOnce sync.Once
	done      chan struct{}
	// err is the result of the browser. It is written before done is closed.
	err error
}

// Launch starts a browser and returns when its tab shows the first page, which may still be loading. When ctx ends, the
// browser is closed. A page that does not open (such as a development server that is not running yet) is a
// note, not an error: the browser stays open and the user can reload.
func Launch(ctx context.Context, opts Options) (*Browser, error) {
	if opts.Notes == nil {
		opts.Notes = os.Stderr
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if opts.Path == "" {
		found, err := installer.FindBrowser()
		if err != nil {
			return nil, err
		}
		opts.Path = found.Path
	}
	if opts.ExtensionDir != "" {
		dir, err := checkExtension(opts.ExtensionDir)
		if err != nil {
			return nil, err
		}
		opts.ExtensionDir = dir
	}
	if !opts.Headless && !hasDisplay() {
		opts.Headless = true
		note(opts.Notes, "no display, so the browser runs headless. Set DISPLAY or WAYLAND_DISPLAY for a window.")
	}
	if noSandbox() {
		note(opts.Notes, "running as root, so the browser runs without its sandbox. Open only pages that you trust.")
	}
	profile, err := openProfile(opts.UserDataDir)
	if err != nil {
		return nil, err
	}
	b := &Browser{
		path:     opts.Path,
		dir:      profile.dir,
		headless: opts.Headless,
		output:   &output{dst: opts.Log},
		closing:  make(chan struct{}),
		done:     make(chan struct{}),
	}
	if opts.Binary != "" {
		env, err := registerHost(installer.KindOf(opts.Path), b.dir, opts.Binary)
		if err != nil {
			return nil, errors.Join(err, profile.close())
		}
		opts.Env = append(env, opts.Env...)
	}
	root, stop, err := b.start(opts)
	if err != nil {
		return nil, errors.Join(err, profile.close())
	}
	go b.own(ctx, root, stop, profile)
	if err := b.prepare(ctx, root, opts); err != nil {
		cause := b.explain(ctx, root, err)
		if cerr := b.Close(); cerr != nil && !errors.Is(cerr, ErrCrashed) {
			cause = errors.Join(cause, cerr)
		}
		return nil, cause
	}
	return b, nil
}

// start runs the program and connects to it. stop ends the connection and returns when the program has
// exited.
func (b *Browser) start(opts Options) (root context.Context, stop func(), err error) {
	flags, err := switches(opts, b.dir)
	if err != nil {
		return nil, nil, err
	}
	allocOpts := append(flags,
		chromedp.ExecPath(opts.Path),
		chromedp.CombinedOutput(b.output),
		chromedp.Env(append(ownEnv(opts.Headless, b.dir), opts.Env...)...),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			isolate(cmd)
			// chromedp ends the command's context as soon as the pipe closes, and a closing browser closes it
			// first. Leave it time to write its profile.
			cmd.Cancel = func() error { return terminate(cmd.Process) }
			cmd.WaitDelay = killTimeout
			b.cmd = cmd
		}),
	)
	// The end of the caller's context closes the browser in order (see own) and does not kill it.
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), allocOpts...)
	silent := func(string, ...any) {}
	root, cancelRoot := chromedp.NewContext(alloc, chromedp.WithLogf(silent), chromedp.WithErrorf(silent))
	stop = func() {
		cancelRoot()
		cancelAlloc()
	}
	// A browser command starts it without attaching to a page, so that the user's tab is not watched
	// twice.
	if _, err := chromedp.CallBrowser(root, target.GetTargets, target.GetTargetsParams{}); err != nil {
		stop()
		if b.cmd != nil && b.cmd.Process != nil {
			reap(b.cmd.Process.Pid, b.dir)
		}
		return nil, nil, fmt.Errorf("cannot start %s: %w%s", opts.Path, err, hint(b.output.tail()))
	}
	b.pid = b.cmd.Process.Pid
	return root, stop, nil
}

// prepare loads the extension, waits for it, and opens the page.
func (b *Browser) prepare(ctx context.Context, root context.Context, opts Options) error {
	// Calls need a chromedp context, which must also end with the caller's context.
	call, cancel := context.WithCancel(root)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()

	first, err := firstPage(call)
	if err != nil {
		return err
	}
	b.root = root
	b.tab, _ = chromedp.NewContext(root, chromedp.WithTargetID(first)) // ends with root
	if opts.ExtensionDir != "" {
		if opts.UserDataDir != "" {
			if err := forgetWorker(call, first); err != nil {
				return err
			}
		}
		if b.extension, b.instance, err = loadExtension(call, opts.ExtensionDir, opts.Binary != "", cmp.Or(opts.Way, "debugger")); err != nil {
			return err
		}
	}
	if opts.Ready != nil {
		if err := opts.Ready(call, b.instance); err != nil {
			return err
		}
	}
	if opts.URL == "" {
		return nil
	}
	return b.open(call, first, opts.URL, opts.Notes)
}

// open opens a page in a blank tab and returns when the tab shows the page or an error page. The extension captures the
// tab before.
func (b *Browser) open(parent context.Context, tab target.ID, url string, notes io.Writer) error {
	b.expectPage(parent, tab, url)
	// Detach at the end, so that no second debugger slows the page.
	ctx, detach := chromedp.NewContext(parent, chromedp.WithTargetID(tab), chromedp.WithDetachOnCancel())
	defer detach()
	shown := chromedp.Events(ctx, page.FrameNavigated)
	defer time.AfterFunc(answerTimeout, detach).Stop()
	res, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: url}) // returns when the server has answered
	switch {
	case ctx.Err() != nil: // too late
	case err != nil:
		return fmt.Errorf("cannot open %s: %w", url, err)
	case res.ErrorText != "":
		note(notes, "cannot open %s: %s. Check the address and the server, then reload the page.", url, res.ErrorText)
		return nil
	case res.LoaderID == "":
		return nil // no new document
	}
	for ev, err := range shown {
		if err != nil {
			break
		}
		if ev.Frame.LoaderID == res.LoaderID {
			return nil
		}
	}
	if err := parent.Err(); err != nil {
		return fmt.Errorf("cannot open %s: %w", url, err)
	}
	note(notes, "%s did not respond within %s. The browser is still waiting for it.", url, answerTimeout)
	return nil
}

// own ends the browser on Close or when ctx ends, and cleans up after the browser has exited. Only this
// goroutine waits for the process and removes files.
func (b *Browser) own(ctx, root context.Context, stop func(), profile *profile) {
	defer close(b.done)
	asked := true
	select {
	case <-ctx.Done():
	case <-b.closing:
	case <-root.Done():
		asked = false
	}
	if asked {
		limited, cancel := context.WithTimeout(root, closeTimeout)
		_ = chromedp.Cancel(limited) // the exit of the process decides, see below
		cancel()
	}
	stop()
	reap(b.pid, b.dir)
	if state := b.cmd.ProcessState; !asked && !state.Success() {
		b.err = fmt.Errorf("%w (%s)%s", ErrCrashed, state, b.output.quote())
	}
	b.err = errors.Join(b.err, profile.close())
}

// explain returns why the browser or the caller ended, in preference to the resulting error.
func (b *Browser) explain(ctx, root context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if root.Err() != nil {
		if werr := b.Wait(); werr != nil {
			return fmt.Errorf("%w%s", werr, hint(b.output.tail()))
		}
		return errors.New("the browser was closed before it was ready")
	}
	return err
}

// Close ends the browser and returns when all its processes have exited and a temporary profile is
// removed. It returns the same error as Wait and may be called more than once.
func (b *Browser) Close() error {
	b.closeOnce.Do(func() { close(b.closing) })
	return b.Wait()
}

// Wait returns when the browser has exited and everything is cleaned up. It returns nil when the browser was
// closed (by Close, by the end of Launch's context, or by the user). Otherwise the error wraps [ErrCrashed] and
// quotes the last lines of output.
func (b *Browser) Wait() error {
	<-b.done
	return b.err
}

// Done is closed when the browser has exited and everything is cleaned up.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Context is the chromedp context of the first tab; it attaches on first use.
// chromedp.NewContext(b.Context(), chromedp.WithNewWindow(false)) opens further tabs, and
// chromedp.CallBrowser reaches the browser itself. It ends with the browser. Do not cancel it:
// that closes the tab.
func (b *Browser) Context() context.Context { return b.tab }

// ExtensionID is the ID of the loaded extension, or "".
func (b *Browser) ExtensionID() string { return b.extension }

// Instance is the extension's name for this profile, by which the daemon knows the browser. It is "" without an
// extension.
func (b *Browser) Instance() string { return b.instance }

// Open opens a page in a new tab and returns when the tab shows the page, which may still be loading, or an error page.
// An empty url opens an empty page.
func (b *Browser) Open(ctx context.Context, url string) error {
	call, cancel := context.WithCancel(b.root)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	tab, err := chromedp.CallBrowser(call, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	if err != nil {
		return fmt.Errorf("cannot open a tab: %w", err)
	}
	if url == "" {
		return nil
	}
	return b.open(call, tab.TargetID, url, io.Discard)
}

// UserDataDir is the profile's directory, absolute.
func (b *Browser) UserDataDir() string { return b.dir }

// Path is the browser's program.
func (b *Browser) Path() string { return b.path }

// Headless reports whether the browser runs without a window.
func (b *Browser) Headless() bool { return b.headless }

// PID is the ID of the browser's main process.
func (b *Browser) PID() int { return b.pid }

// firstPage returns the tab that the browser opened at startup.
func firstPage(ctx context.Context) (target.ID, error) {
	info, err := awaitTarget(ctx, func(info *target.Info) bool { return info.Type == "page" })
	if err != nil {
		return "", fmt.Errorf("the browser opened no window: %w", err)
	}
	return info.TargetID, nil
}

// awaitTarget returns the first target that match accepts, now or later. It turns discovery on for the
// browser's own session and off again, so no other code may do that.
func awaitTarget(ctx context.Context, match func(*target.Info) bool) (*target.Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make(chan *target.Info, 1)
	see := func(info *target.Info) {
		if match(info) {
			select {
			case found <- info:
			default:
			}
		}
	}
	if err := chromedp.ListenBrowser(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *target.EventTargetCreated:
			see(ev.TargetInfo)
		case *target.EventTargetInfoChanged:
			see(ev.TargetInfo)
		}
	}); err != nil {
		return nil, err
	}
	if err := discover(ctx, true); err != nil {
		return nil, err
	}
	select {
	case info := <-found:
		return info, discover(ctx, false)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func discover(ctx context.Context, on bool) error {
	_, err := chromedp.CallBrowser(ctx, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: on})
	return err
}

func note(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "tidemark: "+format+"\n", args...) // a failed write loses only the note
}

// registerHost writes the native-messaging manifest where this browser reads it. It returns the environment
// variables that the browser needs for that.
func registerHost(kind installer.Kind, dir, binary string) ([]string, error) {
	if _, err := installer.InstallProfile(dir, binary); err != nil {
		return nil, err
	}
	if kind != installer.Brave {
		return nil, nil
	}
	return registerBrave(filepath.Join(dir, "config"), binary)
}
