package launch

import (
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
)

// emptyPatience is how long a browser stays after its last tab was closed. A page may be opened in it meanwhile.
const emptyPatience = 2 * time.Second

// endWhenEmpty ends a browser some time after its last tab was closed. It returns when the browser has exited.
func (e *Opener) endWhenEmpty(b *ownBrowser) {
	had := false
	for {
		changed := e.store.Changed()
		switch tabs, connected := tabsOf(e.store.View(e.clock()), b.Instance()); {
		case tabs > 0:
			had = true
		case had && connected && e.own.stillEmpty(b, e):
			_ = b.Close() // the log has the outcome
		}
		select {
		case <-b.Done():
			return
		case <-changed:
		}
	}
}

// tabsOf counts the tabs of a browser, and reports whether it is connected.
func tabsOf(v *capture.View, instance string) (tabs int, connected bool) {
	for _, t := range v.Tabs {
		if t.Instance == instance {
			tabs++
		}
	}
	return tabs, slices.ContainsFunc(v.Browsers, func(b capture.Browser) bool { return b.Instance == instance && b.Connected })
}

// stillEmpty reports whether a browser has no tabs after emptyPatience either, and nobody opens one. It is then no
// longer one of the running browsers.
func (o *ownBrowsers) stillEmpty(b *ownBrowser, e *Opener) bool {
	select {
	case <-b.Done():
		return false
	case <-time.After(emptyPatience):
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if tabs, connected := tabsOf(e.store.View(e.clock()), b.Instance()); tabs > 0 || !connected || b.opening > 0 {
		return false
	}
	o.list = slices.DeleteFunc(o.list, func(other *ownBrowser) bool { return other == b })
	return true
}

// opens records that a page is opened in a browser, until the returned function is called.
func (o *ownBrowsers) opens(b *ownBrowser) (opened func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b.opening++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		b.opening--
	}
}
