package debugging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestVariablesOfMinifiedCodeHaveTheNamesOfTheProject: they are shown, found and masked by them. Where no map tells the
// names, texts under shortened ones are masked, and that is said.
func TestVariablesOfMinifiedCodeHaveTheNamesOfTheProject(t *testing.T) {
	const secret = "correct horse battery"
	w := e2etest.ConfiguredWorld(t, "[debugger]\nevaluate = true\n")
	source := "export function login(customer: string, password: string): number {\n  const attempts = customer.length;\n" +
		"  const kept = { list: [password] };\n" +
		"  console.debug(customer, attempts, password, kept, kept.list);\n  return attempts + password.length;\n}\n" +
		"Object.assign(window, { go: () => login('ada lovelace', '" + secret + "') + login('b', 'c') });\n"
	for _, c := range []struct{ tool, mode string }{{"esbuild", "url"}, {"webpack", "url"}, {"esbuild", "inline"}, {"esbuild", "hidden"}} {
		t.Run(c.tool+" "+c.mode, func(t *testing.T) {
			dir := e2etest.BundledProject(t)
			if err := os.WriteFile(filepath.Join(dir, "src/index.tsx"), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			e2etest.Bundle(t, c.tool, c.mode, dir)
			data, err := os.ReadFile(filepath.Join(dir, "dist/assets/app.js"))
			if err != nil {
				t.Fatal(err)
			}
			code, _, _ := strings.Cut(string(data), "sourceMappingURL")
			if strings.Contains(code, "password") {
				t.Fatalf("the names are not shortened: %s", code)
			}
			s := e2etest.ServeBundle(t, dir, nil)
			a := w.NewAgent(t, "--origin", s.URL, "--tools", "observe,debug")
			p := w.Open(t, s.URL)
			known := c.mode != "hidden"
			before, _, _ := strings.Cut(code, "console.debug")
			place := map[string]any{"url": s.URL + "/assets/app.js", "line": strings.Count(before, "\n") + 1, "column": len(before) - strings.LastIndex(before, "\n")}
			if known {
				place = map[string]any{"url": "src/index.tsx", "line": 4}
			}
			call, _, _ := strings.Cut(code[len(before):], ")")
			names := strings.Split(call[strings.Index(call, "(")+1:], ",")
			var told strings.Builder
			ask := func(tool string, args map[string]any) string {
				text, err := a.Text(tool, args)
				if err != nil {
					text = err.Error() // a refusal is told too
				}
				told.WriteString(tool + ": " + text + "\n")
				return text
			}
			b := a.Breakpoint(place)
			p.Start("go()")
			a.Paused()
			got := ask("variables_get", nil)
			wants := []string{`"customer":"\"ada lovelace\""`, `"password":"[masked]"`}
			if !known {
				wants = []string{`:"[masked]"`, "has no source map with variable names"}
			}
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("no %s in %s", want, got)
				}
			}
			if known {
				if got := ask("variables_get", map[string]any{"path": "customer"}); !strings.Contains(got, "ada lovelace") {
					t.Error(got)
				}
				ask("variables_get", map[string]any{"path": "password"})
			}
			ask("snapshot_create", map[string]any{"scopes": []string{"local", "argument", "closure", "module", "block"}, "depth": 2})
			for _, name := range append(names, "password") {
				ask("variables_get", map[string]any{"path": name})
				ask("snapshot_create", map[string]any{"expressions": []string{name, name + " + ''", "JSON.parse(" + name + ")"}})
				ask("debugger_evaluate", map[string]any{"expression": name})
				ask("debugger_evaluate", map[string]any{"expression": "`${" + name + "}`"})
			}
			ask("breakpoint_list", nil)
			ask("breakpoint_remove", map[string]any{"id": b.ID})
			ask("debugger_resume", nil)
			for _, name := range append(names, "password") {
				args := map[string]any{"paths": []string{name, name + ".length"}, "limit": 4}
				for k, v := range place {
					args[k] = v
				}
				ask("snapshot_trace", args)
				p.Start("go()")
				p.Start("go()") // by now the page may tell values while it runs
				args["wait_ms"] = 500
				if got := ask("snapshot_trace", args); !strings.Contains(got, `"hits":4`) {
					t.Error(got)
				}
			}
			for _, line := range strings.Split(told.String(), "\n") {
				if strings.Contains(line, secret) || strings.Contains(line, "correct hor") {
					t.Errorf("in clear: %s", line)
				}
			}
		})
	}
}

// TestAVariableHasNotTheNameOfAnotherInAFunctionBeforeIt: a minifier gives parameters of a function the letters that
// variables around it have.
func TestAVariableHasNotTheNameOfAnotherInAFunctionBeforeIt(t *testing.T) {
	w := e2etest.ConfiguredWorld(t, "")
	dir := e2etest.BundledProject(t)
	source := "export function greet(userName: string, city: string, note: string): string {\n  return userName + city + note;\n}\n" +
		"let password = 'correct horse battery';\nlet clientCount = 7;\n" +
		"export function rotate(): void {\n  password = password + '1';\n  clientCount++;\n  console.debug(greet, rotate, greet('a', 'b', 'c'));\n}\n" +
		"Object.assign(window, { greet, rotate, now: () => [password, clientCount] });\n"
	if err := os.WriteFile(filepath.Join(dir, "src/index.tsx"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	e2etest.Bundle(t, "webpack", "url", dir)
	s := e2etest.ServeBundle(t, dir, nil)
	a := w.NewAgent(t, "--origin", s.URL, "--tools", "observe,debug")
	p := w.Open(t, s.URL)
	a.Breakpoint(map[string]any{"url": "src/index.tsx", "line": 8})
	p.Start("rotate()")
	a.Paused()
	got, err := a.Text("variables_get", map[string]any{"scopes": []string{"closure", "module"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"password":"[masked]"`, `"clientCount":"7"`, `"greet":`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	for _, wrong := range []string{`"userName"`, `"city"`, `"note"`, "correct horse"} {
		if strings.Contains(got, wrong) {
			t.Errorf("%s in %s", wrong, got)
		}
	}
	if got, err := a.Text("variables_get", map[string]any{"path": "clientCount"}); err != nil || !strings.Contains(got, "7") {
		t.Error(got, err)
	}
}
