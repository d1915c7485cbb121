package e2etest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/testing/testbed"
)

const bundles = "host/testing/e2etest/testdata/bundles"

// BundleScript is the path of the script that bundles and serves the project, in the repository.
const BundleScript = bundles + "/build.mjs"

// BundledProject returns a copy of testdata/bundles, to be bundled there.
func BundledProject(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(Repository("node_modules/webpack")); err != nil {
		t.Skip("the bundlers are not installed; run npm ci")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(Repository(bundles))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Bundle bundles the project in a directory.
func Bundle(t *testing.T, tool, mode, dir string) {
	t.Helper()
	if out, err := exec.Command("node", Repository(BundleScript), tool, mode, dir).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", tool, mode, err, out)
	}
}

// BundlePage is the page of the bundled project.
const BundlePage = `<!doctype html><meta charset="utf-8"><title>shop</title><link rel="icon" href="data:,"><body><script type="module" src="/assets/app.js"></script>`

// ServeBundle serves a bundled project. Where handle returns true, it has answered instead.
func ServeBundle(t *testing.T, dir string, handle func(w http.ResponseWriter, r *http.Request) bool) *httptest.Server {
	t.Helper()
	files := http.FileServer(http.Dir(filepath.Join(dir, "dist")))
	s := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case handle != nil && handle(w, r):
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, BundlePage)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}
