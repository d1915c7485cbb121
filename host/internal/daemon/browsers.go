package daemon

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/launch"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/installer"
	"tidemark.dev/tidemark/installer/unpack"
)

// connectTimeout is how long an extension may take to reach the daemon after its worker has started.
const connectTimeout = 15 * time.Second

// Launch opens a browser with the embedded extension. Its first page begins to load when connected reports that
// the browser instance has reached the daemon. The home must exist.
func Launch(ctx context.Context, h home.Home, o browser.Options, connected func(ctx context.Context, instance string) bool) (*browser.Browser, error) {
	var err error
	if o.Binary, err = os.Executable(); err != nil {
		return nil, err
	}
	if o.ExtensionDir, err = unpack.Extension(h.Extensions()); err != nil {
		return nil, err
	}
	o.Ready = func(ctx context.Context, instance string) error {
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		for !connected(ctx, instance) {
			select {
			case <-ctx.Done():
				return errors.New("the extension did not reach the daemon. See " + h.Log())
			case <-look.C:
			}
		}
		return nil
	}
	return browser.Launch(ctx, o)
}

// launcher starts browsers for agents. They end with the daemon.
type launcher struct{ *daemon }

// Launch implements launch.Launcher.
func (l launcher) Launch(ctx context.Context, r launch.LaunchRequest) (launch.OwnBrowser, error) {
	var notes strings.Builder
	o := browser.Options{Headless: r.Headless, URL: r.URL, Notes: &notes}
	if r.Kept {
		o.UserDataDir = l.home.Profile()
		if browser.InUse(ctx, o.UserDataDir) {
			return nil, usererr.New(usererr.NoBrowser, "the kept profile is in use by another browser (`tidemark browser`?). Use its tabs (browser_tabs) or profile fresh.")
		}
	}
	if r.Browser != "" {
		path, err := findKind(r.Browser)
		if err != nil {
			return nil, err
		}
		o.Path = path
	}
	l.lives.Lock()
	defer l.lives.Unlock() // one at a time, because launching is expensive
	if err := l.life.Err(); err != nil {
		return nil, err
	}
	ended, end := context.WithCancel(l.life)
	stop := context.AfterFunc(ctx, end)
	b, err := Launch(ended, l.home, o, func(_ context.Context, instance string) bool {
		for _, known := range l.engine.Store().View(time.Now()).Browsers {
			if known.Instance == instance {
				return known.Connected
			}
		}
		return false
	})
	if !stop() && err == nil { // the caller has left
		err = errors.Join(ctx.Err(), b.Close())
	}
	if err != nil {
		end()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, usererr.New(usererr.NoBrowser, "cannot open a browser: %s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	l.own.Go(func() {
		defer end()
		if err := b.Wait(); err != nil {
			l.log.Warn("a browser that an agent opened has exited", "error", err)
		}
	})
	return &ownBrowser{b, ownNotes(notes.String())}, nil
}

// waitForBrowsers returns when all browsers of agents have exited. Call it after the daemon's life has ended, which
// cancels pending launches.
func (d *daemon) waitForBrowsers() {
	d.lives.Lock()
	defer d.lives.Unlock()
	d.own.Wait()
}

// ownNotes splits the output of a launch into notes, one per line.
func ownNotes(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		list = append(list, strings.TrimSpace(strings.TrimPrefix(line, "tidemark: ")))
	}
	return list
}

type ownBrowser struct {
	*browser.Browser
	notes []string
}

// Notes implements launch.OwnBrowser.
func (b *ownBrowser) Notes() []string { return b.notes }

// findKind returns the program of a browser family, such as chromium. Agents cannot pass paths, because a path could
// start any program.
func findKind(kind string) (string, error) {
	var names []string
	for _, b := range installer.FindBrowsers() {
		if strings.EqualFold(string(b.Kind), kind) {
			return b.Path, nil
		}
		names = append(names, strings.ToLower(string(b.Kind)))
	}
	if len(names) == 0 {
		return "", usererr.New(usererr.NoBrowser, "%s", installer.ErrNoBrowser.Error())
	}
	return "", usererr.New(usererr.NotFound, "there is no browser %q here. Available: %s", kind, strings.Join(names, ", "))
}
