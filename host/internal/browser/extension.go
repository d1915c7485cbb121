package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/extensions"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/installer"
	"tidemark.dev/tidemark/protocol"
)

// checkExtension returns the absolute path of an unpacked extension.
func checkExtension(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot resolve the extension's directory %s: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(abs, "manifest.json")); err != nil {
		return "", fmt.Errorf("%s contains no unpacked extension: %w. Run `make build`.", abs, err)
	}
	return abs, nil
}

// forgetWorker removes the script of the extension's worker from a kept profile. A browser caches the script
// until the extension's version changes, so a rebuilt extension would run with its earlier worker. The
// extension's storage is unaffected.
func forgetWorker(ctx context.Context, tab target.ID) error {
	// The browser's own session refuses the command. A tab's session accepts it for any origin.
	ctx, detach := chromedp.NewContext(ctx, chromedp.WithTargetID(tab), chromedp.WithDetachOnCancel())
	defer detach()
	_, err := chromedp.Call(ctx, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{
		Origin:       strings.TrimSuffix(installer.Origin, "/"),
		StorageTypes: "service_workers",
	})
	if err != nil {
		return fmt.Errorf("cannot clear the extension's earlier worker from the profile: %w", err)
	}
	return nil
}

// loadExtension loads the extension. It returns the extension's ID and its name for the profile, when the service
// worker has started and its capture mode is set.
//
// The command goes through the debugging pipe because branded Chrome ignores --load-extension since version 137.
// The pipe works in Chromium and headless too, so all browsers use the same method.
func loadExtension(ctx context.Context, dir string, needsHost bool, way string) (id, instance string, err error) {
	res, err := chromedp.CallBrowser(ctx, extensions.LoadUnpacked, extensions.LoadUnpackedParams{Path: dir})
	if err != nil {
		return "", "", fmt.Errorf("the browser rejected the extension in %s: %w", dir, err)
	}
	if needsHost && res.ID != protocol.ExtensionID {
		return "", "", fmt.Errorf("the extension in %s has the ID %s, but the native host accepts only %s. Keep the key in its manifest.",
			dir, res.ID, protocol.ExtensionID)
	}
	limited, cancel := context.WithTimeout(ctx, workerTimeout)
	defer cancel()
	worker, err := awaitTarget(limited, func(info *target.Info) bool {
		return isWorker(info, res.ID)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return "", "", fmt.Errorf("the service worker of the extension in %s did not start within %s. See its error in chrome://extensions.",
			dir, workerTimeout)
	}
	if err != nil {
		return "", "", fmt.Errorf("waiting for the extension in %s: %w", dir, err)
	}
	if res.ID != protocol.ExtensionID {
		return res.ID, "", nil // other extensions have no capture modes
	}
	instance, err = setWay(limited, worker.TargetID, way)
	if err != nil {
		return "", "", fmt.Errorf("cannot set the capture mode of the extension in %s: %w", dir, err)
	}
	return res.ID, instance, nil
}

// setWay sets the capture mode of the extension's worker and returns the extension's name for the profile. The
// mode is active when it returns.
func setWay(ctx context.Context, worker target.ID, way string) (instance string, err error) {
	return runInWorker(ctx, worker, fmt.Sprintf(`await globalThis.setWay(%q);
		const kept = await globalThis.chrome?.storage?.local.get('instance');
		return kept?.instance ?? '';`, way))
}

// expectPage has the extension capture a blank tab before it opens a page. If it cannot, capture begins while the page
// loads, as in any other browser. Pages that are not watched are not captured.
func (b *Browser) expectPage(ctx context.Context, tab target.ID, url string) {
	if b.instance == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, expectTimeout)
	defer cancel()
	targets, err := chromedp.CallBrowser(ctx, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return // the page's own call reports it
	}
	for _, info := range targets.TargetInfos {
		if isWorker(info, b.extension) {
			page, _ := json.Marshal(url) // always possible
			_, _ = runInWorker(ctx, info.TargetID, fmt.Sprintf("await globalThis.expectPage(%q, %s)", tab, page))
			return
		}
	}
}

// isWorker reports whether a target is the service worker of an extension.
func isWorker(info *target.Info, extension string) bool {
	return info.Type == "service_worker" && strings.HasPrefix(info.URL, "chrome-extension://"+extension+"/")
}

// runInWorker runs statements of a function in the extension's worker, once its script has run, and returns the text
// that they return.
func runInWorker(ctx context.Context, worker target.ID, statements string) (string, error) {
	ctx, detach := chromedp.NewContext(ctx, chromedp.WithTargetID(worker), chromedp.WithDetachOnCancel())
	defer detach()
	script := fmt.Sprintf(`(async () => {
		if (!globalThis.setWay) return { heard: false };
		const answer = await (async () => { %s })();
		return { heard: true, answer };
	})()`, statements)
	type answer struct {
		Heard  bool   `json:"heard"`
		Answer string `json:"answer"`
	}
	look := time.NewTicker(20 * time.Millisecond) // its script may not have run yet
	defer look.Stop()
	for {
		done, err := chromedp.Run(ctx, chromedp.Evaluate[answer](script, chromedp.EvalAwaitPromise))
		if err == nil && done.Heard {
			return done.Answer, nil
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(err, ctx.Err())
		case <-look.C:
		}
	}
}
