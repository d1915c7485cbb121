package workspace_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProgramsOfDevelopersWorkInABranch: they rename directories, map files, lock them and watch them.
func TestProgramsOfDevelopersWorkInABranch(t *testing.T) {
	onBothForms(t, testProgramsOfDevelopers)
}

func testProgramsOfDevelopers(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	buildProject(t, m)
	dir := m.branch(m.take())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := func(t *testing.T, script string, needs ...string) {
		t.Helper()
		for _, program := range append(needs, "sh") {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%s is missing", program)
			}
		}
		cmd := exec.CommandContext(ctx, "sh", "-e", "-c", script) //nolint:gosec // a test's
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "VITE="+vite(), "GOFLAGS=-buildvcs=false", "npm_config_cache="+filepath.Join(m.top, "npm"), "npm_config_update_notifier=false",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	t.Run("git", func(t *testing.T) {
		run(t, `git init -q . && git add -A && git commit -qm one
			git checkout -qb side && git mv web site && echo side >> site/main.js && git commit -qam two
			git checkout -q - && echo "// main" >> app/app.go && git commit -qam three
			git rebase -q side && test ! -e web && tail -1 site/main.js | grep -q side
			echo stashed >> go.mod && git stash -q && git stash pop -q && git checkout -q go.mod
			git gc -q --prune=now && git fsck --strict && git worktree add -q wt side && git worktree remove wt
			git mv site web && git commit -qm four && test -z "$(git status --porcelain)"`, "git")
	})
	t.Run("npm ci", func(t *testing.T) {
		run(t, `for p in a b; do (cd packages/$p && npm pack --silent >/dev/null); done
			npm install --offline --silent --no-audit --no-fund ./packages/a/a-1.0.0.tgz ./packages/b/b-1.0.0.tgz
			npm ci --offline --silent --no-audit --no-fund
			test "$(ls node_modules/a/lib | wc -l)" = 200 && ./node_modules/.bin/a | grep -q "hello from b"
			npm ci --offline --silent --no-audit --no-fund && mv node_modules modules && mv modules node_modules
			./node_modules/.bin/a | grep -q "hello from b"`, "npm", "node")
	})
	t.Run("vite build", func(t *testing.T) {
		if vite() == "" {
			t.Skip("vite is not installed; run npm ci")
		}
		run(t, `cd web && node "$VITE" build --logLevel error && grep -rq "shown on the page" dist && node "$VITE" build --logLevel error --emptyOutDir`, "node")
	})
	t.Run("go", func(t *testing.T) {
		run(t, `go vet ./... && go test ./... >/dev/null && go build -o out ./app && ./out | grep -q hello && go mod tidy`, "go")
	})
	t.Run("sqlite", func(t *testing.T) {
		run(t, `for mode in delete wal; do
				sqlite3 $mode.db "pragma journal_mode=$mode; pragma mmap_size=1000000; create table t(a, b);" >/dev/null
				for i in 1 2 3 4; do sqlite3 $mode.db ".timeout 60000" "insert into t select value, hex(randomblob(100)) from generate_series(1, 5000);" & done; wait
				test "$(sqlite3 $mode.db "select count(*) from t")" = 20000 && sqlite3 $mode.db "delete from t where a % 3 = 0; vacuum"
				test "$(sqlite3 $mode.db "pragma integrity_check")" = ok
			done`, "sqlite3")
	})
	t.Run("a watcher", func(t *testing.T) {
		if vite() == "" {
			t.Skip("vite is not installed; run npm ci")
		}
		watches(ctx, t, filepath.Join(dir, "web"))
	})
	if _, err := os.Stat(filepath.Join(m.dir, "node_modules")); err == nil {
		t.Error("the original has what was installed in the branch")
	}
}

// vite is the program of vite that this repository has, "" without it.
func vite() string {
	path, err := filepath.Abs("../../../node_modules/vite/bin/vite.js")
	if _, missing := os.Stat(path); err != nil || missing != nil {
		return ""
	}
	return path
}

// buildProject makes a project with a module of Go, two packages of npm, and a page.
func buildProject(t *testing.T, m *mountWorld) {
	t.Helper()
	for path, content := range map[string]string{
		"go.mod":                  "module example.test/a\n\ngo 1.26\n",
		"app/app.go":              "package main\n\nimport \"example.test/a/say\"\n\nfunc main() { println(say.Hello()); print() }\n\nfunc print() { _, _ = out.WriteString(say.Hello()) }\n",
		"app/out.go":              "package main\n\nimport \"os\"\n\nvar out = os.Stdout\n",
		"say/say.go":              "package say\n\nfunc Hello() string { return \"hello\" }\n",
		"say/say_test.go":         "package say\n\nimport \"testing\"\n\nfunc TestHello(t *testing.T) {\n\tif Hello() != \"hello\" {\n\t\tt.Fatal()\n\t}\n}\n",
		"package.json":            `{"name": "shop", "version": "1.0.0", "private": true}`,
		"packages/a/package.json": `{"name": "a", "version": "1.0.0", "bin": "a.js"}`,
		"packages/a/a.js":         "#!/usr/bin/env node\nconsole.log(require('b'))\n",
		"packages/b/package.json": `{"name": "b", "version": "1.0.0", "main": "b.js"}`,
		"packages/b/b.js":         "module.exports = 'hello from b'\n",
		"web/index.html":          `<!doctype html><div id="app"></div><script type="module" src="/main.js"></script>`,
		"web/main.js":             "import { text } from './text.js'\ndocument.querySelector('#app').textContent = text\n",
		"web/text.js":             "export const text = 'shown on the page'\n",
		".gitignore":              "node_modules\ndist\nout\n*.db*\n",
	} {
		m.write(filepath.Join(m.dir, path), content)
	}
	for i := range 200 {
		m.write(filepath.Join(m.dir, "packages", "a", "lib", fmt.Sprint("file", i, ".js")), fmt.Sprint("module.exports = ", i))
	}
}

// watches starts vite, which builds again when a file is edited: in place, by a renamed file, and in a renamed directory.
func watches(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", vite(), "build", "--watch", "--outDir", "watched") //nolint:gosec // a test's
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	var said []string
	built := func(text string) {
		t.Helper()
		for lines.Scan() {
			said = append(said, lines.Text())
			if !strings.Contains(lines.Text(), "built in") {
				continue
			}
			found, _ := filepath.Glob(filepath.Join(dir, "watched", "assets", "*.js"))
			for _, path := range found {
				if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), text) {
					return
				}
			}
		}
		t.Fatalf("vite did not build %q:\n%s", text, strings.Join(said, "\n"))
	}
	text := filepath.Join(dir, "text.js")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("export const text = '"+content+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	built("shown on the page")
	write(text, "edited in place")
	built("edited in place")
	write(text+".new", "renamed over it")
	if err := os.Rename(text+".new", text); err != nil {
		t.Fatal(err)
	}
	built("renamed over it")
	write(text, "edited again")
	built("edited again")
}
