package hooks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestErrorsOfSettingsNameNoOtherEdit: a change of the environment or of packages takes effect when the page is loaded or the
// server is started again. Its errors name it or nothing, and never a file that was edited shortly before or after.
func TestErrorsOfSettingsNameNoOtherEdit(t *testing.T) {
	for _, c := range []struct {
		name, server string
		// module is src/api.js of the application, with a request that settings decide.
		module string
		// breaks changes the settings.
		breaks func(*devApp) []string
		// restarts is set where the server has to be started again.
		restarts bool
		// named is the file that errors have to name, "" where they may name nothing: Next.js does not say when it has read the
		// environment.
		named string
	}{
		{"the environment", "vite", "const base = import.meta.env.VITE_API;\n", environment, false, ".env.local"},
		{"the environment", "next", "const base = process.env.NEXT_PUBLIC_API;\n", environment, false, ""},
		{"the environment, with a new server", "vite", "const base = import.meta.env.VITE_API;\n", environment, true, ".env.local"},
		{"packages", "vite", "import { base } from 'where';\n", packages, true, "package.json"},
		{"packages", "webpack", "import { base } from 'where';\n", packages, true, "package.json"},
		{"a package that was changed by hand", "webpack", "import { base } from 'where';\n", oneFile, true, ""},
	} {
		t.Run(c.server+"/"+c.name, func(t *testing.T) {
			needDevServer(t, c.server)
			w := e2etest.SeparateWorld(t) // the directory is that of other tests, whose settings could be the cause too
			app := startDevServer(t, c.server, func(app *devApp) {
				app.Write(".env.local", "VITE_API=/api\nNEXT_PUBLIC_API=/api\n")
				app.Write("src/api.js", c.module+"\nexport async function items() {\n  const answer = await fetch(`${base}/items`);\n  return answer.json();\n}\n")
				app.Write("src/roles.js", "export const roles = ['buyer'];\n") // no page has it
				if err := os.MkdirAll(filepath.Join(app.Dir, "node_modules/where"), 0o700); err != nil {
					t.Fatal(err)
				}
				app.Write("node_modules/where/package.json", `{"name":"where","version":"1.0.0","type":"module","main":"index.js"}`)
				app.Write("node_modules/where/index.js", "export const base = '/api';\n")
			})
			t.Cleanup(func() { _ = os.RemoveAll(filepath.Join(app.Dir, "node_modules/where")) })
			s := &session{t: t, w: w, id: "settings-" + app.URL, dir: app.Dir}
			s.records()
			p := app.opens(s)
			if r := w.RunIn(app.Dir, "timeline", "moment", "add", "--label", "before the edits"); r.Code != 0 { // all files are recorded
				t.Fatal(r.Err)
			}
			since := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
			app.Edit("src/roles.js", "'buyer'", "'buyer', 'seller'")
			s.edited("src/roles.js")
			app.Edit("src/app.css", "body {", "main { margin: 2px; } body {")
			s.edited("src/app.css")
			files := c.breaks(app)
			said := s.edited(files[0])
			if c.restarts { // a developer edits on, and notices later
				app.Edit("src/app.css", "2px", "3px")
				s.edited("src/app.css")
				app.Restart()
			}
			found, broke := app.broke(s, since)
			for range 2 { // a server starts again in its own time
				if !broke {
					app.reload(p)
					found, broke = app.broke(s, since)
				}
			}
			if !broke {
				t.Fatalf("nothing is reported; the hook says %q", said)
			}
			wrong := func(by report.Introduced) bool { return !slices.Contains(files, by.Path) }
			if slices.ContainsFunc(found, wrong) || c.named != "" && !slices.ContainsFunc(found, func(by report.Introduced) bool { return by.Path == c.named }) {
				t.Errorf("%q broke it, and the errors name %+v: %s", files, found, w.RunIn(app.Dir, "changes", "--since", since, "--json").Out)
			}
			if found := w.RunIn(app.Dir, "timeline", "find-regression", since).Out; strings.Contains(found, "roles.js:") || strings.Contains(found, "after src/app.css") {
				t.Errorf("what broke: %s", found)
			}
			app.Edit("src/app.css", "main { margin:", "main { padding:") // what is edited later is no cause either
			s.edited("src/app.css")
			app.reload(p)
			if found, _ := app.broke(s, since); slices.ContainsFunc(found, wrong) {
				t.Errorf("%q broke it, and after another edit the errors name %+v", files, found)
			}
		})
	}
}

func environment(a *devApp) []string {
	a.Write(".env.local", "VITE_API=/apx\nNEXT_PUBLIC_API=/apx\n")
	return []string{".env.local"}
}

// packages changes the files that `npm install` of another version changes.
func packages(a *devApp) []string {
	a.Edit("package.json", "\n}", ",\n  \"description\": \"where 2.0.0\"\n}")
	const installed = "node_modules/.package-lock.json" // Vite bundles packages again when it differs
	was, err := os.ReadFile(filepath.Join(a.Dir, installed))
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { a.Write(installed, string(was)) })
	for _, lock := range []string{"package-lock.json", installed} {
		a.Edit(lock, "\"lockfileVersion\"", "\"where\": \"2.0.0\",\n  \"lockfileVersion\"")
	}
	return append([]string{"package.json", "package-lock.json"}, oneFile(a)...)
}

func oneFile(a *devApp) []string {
	a.Write("node_modules/where/index.js", "export const base = '/apx';\n")
	return []string{"node_modules/where/index.js"}
}
