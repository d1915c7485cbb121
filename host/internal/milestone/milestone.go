// Package milestone recognizes commands: those whose end is a milestone of a run (tests, installations, awaited servers), and
// those that start a development server.
//
// It guarantees:
//   - A command of which it is not known that its end is that of the program has no milestone: `npm test | tail`, `npm test &`.
//   - A program that the shell did not find or could not run reached none.
//
// Commands are read as bash's. What [shellsyntax.Parse] does not take has no milestone.
package milestone

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tidemark.dev/tidemark/host/internal/shellsyntax"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// The exit statuses of shells for programs that did not run (POSIX.1-2024, Shell Command Language, 2.8.2).
const (
	notExecutable = 126
	notFound      = 127
)

// A recognition is a command whose end is a milestone: words in their order, the first one a program, flags anywhere.
type recognition struct{ command, source string }

// matches reports whether the words of a call are those of the command.
func (r recognition) matches(argv []string) bool {
	words := strings.Fields(r.command)
	if base(argv[0]) != words[0] || slices.ContainsFunc(argv, func(arg string) bool { return slices.Contains(without, arg) }) {
		return false
	}
	rest := argv[1:]
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") {
			if !slices.Contains(argv, word) {
				return false
			}
			continue
		}
		for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
			skip := 1
			if slices.Contains(valued, rest[0]) {
				skip = 2
			}
			rest = rest[min(skip, len(rest)):]
		}
		// npm's scripts may be parts, as in test:unit.
		if len(rest) == 0 || rest[0] != word && !strings.HasPrefix(rest[0], word+":") {
			return false
		}
		rest = rest[1:]
	}
	if r.command == "go test" && (slices.Contains(rest, "-c") || slices.Contains(rest, "-list")) {
		return false // it compiles or lists them
	}
	return !slices.Contains(bare, r.command) || !slices.ContainsFunc(rest, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
}

// bare are commands that take only flags: with a name, `npm install` adds a dependency.
var bare = []string{"npm ci", "npm install", "npm i", "pnpm install", "pnpm i", "yarn install", "yarn", "bun install", "go mod download", "cargo fetch", "uv sync", "poetry install", "bundle install", "composer install", "mix deps.get", "dotnet restore"}

// recognized are the commands whose end is a milestone.
var recognized = []recognition{
	{"npm test", records.FromTestsPassed},
	{"npm t", records.FromTestsPassed},
	{"npm run test", records.FromTestsPassed},
	{"pnpm test", records.FromTestsPassed},
	{"pnpm run test", records.FromTestsPassed},
	{"yarn test", records.FromTestsPassed},
	{"yarn run test", records.FromTestsPassed},
	{"bun test", records.FromTestsPassed},
	{"bun run test", records.FromTestsPassed},
	{"deno test", records.FromTestsPassed},
	{"node --test", records.FromTestsPassed},
	{"vitest run", records.FromTestsPassed},
	{"vitest --run", records.FromTestsPassed},
	{"jest", records.FromTestsPassed},
	{"mocha", records.FromTestsPassed},
	{"ava", records.FromTestsPassed},
	{"playwright test", records.FromTestsPassed},
	{"cypress run", records.FromTestsPassed},
	{"go test", records.FromTestsPassed},
	{"gotestsum", records.FromTestsPassed},
	{"cargo test", records.FromTestsPassed},
	{"cargo nextest run", records.FromTestsPassed},
	{"pytest", records.FromTestsPassed},
	{"unittest", records.FromTestsPassed},
	{"tox", records.FromTestsPassed},
	{"nox", records.FromTestsPassed},
	{"rspec", records.FromTestsPassed},
	{"rake test", records.FromTestsPassed},
	{"rails test", records.FromTestsPassed},
	{"phpunit", records.FromTestsPassed},
	{"composer test", records.FromTestsPassed},
	{"mvn test", records.FromTestsPassed},
	{"mvn verify", records.FromTestsPassed},
	{"gradle test", records.FromTestsPassed},
	{"gradlew test", records.FromTestsPassed},
	{"dotnet test", records.FromTestsPassed},
	{"mix test", records.FromTestsPassed},
	{"swift test", records.FromTestsPassed},
	{"flutter test", records.FromTestsPassed},
	{"dart test", records.FromTestsPassed},
	{"ctest", records.FromTestsPassed},
	{"make test", records.FromTestsPassed},
	{"make check", records.FromTestsPassed},
	{"bazel test", records.FromTestsPassed},

	{"npm ci", records.FromProvisioned},
	{"npm install", records.FromProvisioned},
	{"npm i", records.FromProvisioned},
	{"pnpm install", records.FromProvisioned},
	{"pnpm i", records.FromProvisioned},
	{"yarn install", records.FromProvisioned},
	{"yarn", records.FromProvisioned},
	{"bun install", records.FromProvisioned},
	{"go mod download", records.FromProvisioned},
	{"cargo fetch", records.FromProvisioned},
	{"uv sync", records.FromProvisioned},
	{"pip install -r", records.FromProvisioned},
	{"pip3 install -r", records.FromProvisioned},
	{"poetry install", records.FromProvisioned},
	{"bundle install", records.FromProvisioned},
	{"composer install", records.FromProvisioned},
	{"mix deps.get", records.FromProvisioned},
	{"dotnet restore", records.FromProvisioned},

	{"wait-on", records.FromServer},
	{"docker compose up --wait", records.FromServer},
}

// wrappers run the command that follows their words. The words of some end with a value.
var wrappers = [][]string{
	{"env"},
	{"command"},
	{"exec"},
	{"nice"},
	{"sudo"},
	{"time"},
	{"timeout", "*"},
	{"npx"},
	{"bunx"},
	{"pnpm", "exec"},
	{"pnpm", "dlx"},
	{"yarn", "exec"},
	{"yarn", "dlx"},
	{"npm", "exec", "--"},
	{"bundle", "exec"},
	{"uv", "run"},
	{"poetry", "run"},
	{"python", "-m"},
	{"python3", "-m"},
	{"xvfb-run"},
}

// valued are flags before a subcommand whose value follows. without are flags with which a command tests nothing.
var (
	valued  = []string{"-C", "--prefix", "-w", "--workspace", "--filter", "-F", "--dir", "--cwd", "-f", "--file", "-p", "--project-name"}
	without = []string{"--help", "-h", "--version", "--list", "--listTests", "--collect-only", "--watch", "--watchAll", "--dry-run"}
)

// Of returns the milestone that a command reached, a source of moments, with a label; "" for none. Only the last statement of
// a command has its exit status, which is nil where it is not known.
func Of(command string, succeeded bool, status *int) (source, label string) {
	if status != nil && (*status == notExecutable || *status == notFound) {
		return "", ""
	}
	file, ok := shellsyntax.Parse(command)
	if !ok || len(file.Stmts) == 0 {
		return "", ""
	}
	calls, ok := callsOf(file.Stmts[len(file.Stmts)-1])
	if !ok {
		return "", ""
	}
	calls = slices.DeleteFunc(calls, func(argv []string) bool { return argv[0] == "cd" })
	if !succeeded && len(calls) > 1 {
		return "", "" // it is not known which one failed
	}
	for _, argv := range calls {
		argv = unwrapped(argv)
		for _, r := range recognized {
			if !r.matches(argv) {
				continue
			}
			if source == records.FromTestsPassed && r.source != source {
				continue // tests say more than what they needed
			}
			source, label = r.source, r.command
		}
	}
	switch {
	case source == records.FromTestsPassed && succeeded:
		label += " passed"
	case source == records.FromTestsPassed:
		source, label = records.FromTestsFailed, label+" failed"
	case !succeeded:
		return "", ""
	}
	return source, label
}

// callsOf returns the words of the calls that all succeed where a statement does. ok is false where its status is that of
// something else.
func callsOf(s *syntax.Stmt) (calls [][]string, ok bool) {
	if s.Negated || s.Background || s.Coprocess {
		return nil, false
	}
	switch c := s.Cmd.(type) {
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return nil, false
		}
		return callsOf(c.Stmt)
	case *syntax.BinaryCmd:
		if c.Op != syntax.AndStmt {
			return nil, false
		}
		first, ok := callsOf(c.X)
		second, also := callsOf(c.Y)
		return append(first, second...), ok && also
	case *syntax.CallExpr:
		var argv []string
		for _, w := range c.Args {
			argv = append(argv, w.Lit()) // "" for one that is not literal
		}
		if len(argv) == 0 {
			return nil, true // an assignment
		}
		return [][]string{argv}, true
	case *syntax.DeclClause: // export
		return nil, true
	}
	return nil, false
}

// unwrapped returns the words of the program that runs in the end.
func unwrapped(argv []string) []string {
	for {
		n := 0
		for _, w := range wrappers {
			if n = wraps(w, argv); n > 0 {
				break
			}
		}
		if n == 0 {
			return argv
		}
		argv = argv[n:]
		for len(argv) > 1 && (strings.HasPrefix(argv[0], "-") || strings.Contains(argv[0], "=")) {
			argv = argv[1:]
		}
	}
}

// wraps returns how many words a wrapper has before the command, 0 if it does not wrap it.
func wraps(wrapper, argv []string) int {
	if len(argv) <= len(wrapper) {
		return 0
	}
	for i, word := range wrapper {
		if word != "*" && word != base(argv[i]) {
			return 0
		}
	}
	return len(wrapper)
}

func base(word string) string { return path.Base(filepath.ToSlash(word)) }
