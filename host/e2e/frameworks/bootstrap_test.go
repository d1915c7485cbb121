package frameworks

import (
	"net/http"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// adminPages serves the pages of SB Admin 2, made with Bootstrap.
func adminPages(t *testing.T, s *e2etest.Site) {
	t.Helper()
	buildApps(t)
	s.Mux.Handle("/", http.FileServer(http.Dir(filepath.Join("../apps", "node_modules", "startbootstrap-sb-admin-2"))))
}

// TestADialogBehindItsBackdropIsInTheAnswer: Bootstrap shows a dialog only when its backdrop has faded in, and removes the backdrop
// when the dialog has faded out. Until then nothing on the page is another than before.
func TestADialogBehindItsBackdropIsInTheAnswer(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, nil)
	adminPages(t, s)
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL+"/blank.html")
	p.WaitUntil(`window.jQuery && document.readyState === 'complete'`)
	p.JS(`const opener = document.createElement('button'); opener.textContent = 'Leave'; opener.className = 'btn btn-primary'; opener.dataset.toggle = 'modal'; opener.dataset.target = '#logoutModal'; document.querySelector('.container-fluid').prepend(opener)`)
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `button "Leave"`)})
	e2etest.Holds(t, d.Page, `dialog "Ready to Leave?"`, `button "Cancel"`)
	d = a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Whole(), `button "Cancel"`)})
	e2etest.Holds(t, d.Page, "Removed:")
}
