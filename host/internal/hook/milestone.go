package hook

import (
	"encoding/json"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/timeline/records"
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

// notRun reports whether a status is that of a program which a shell does not find or may not run.
func notRun(status *int) bool { return status != nil && (*status == 126 || *status == 127) }

// milestone returns the milestone that a command reached, with its label; "" for none. Only the last statement of a command
// has its exit status.
func milestone(command string, succeeded bool) (source, label string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) == 0 {
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

// failureLine is the first line of Claude Code's report of a command that failed.
var failureLine = lazyregexp.New(`^Exit code (\d+)(?:\n|$)`)

// statusLine is the line with the exit status in the answers of Gemini CLI and of Copilot CLI.
var statusLine = lazyregexp.New(`(?m)^(?:Exit Code: |<shellId: \S+ completed with exit code )(\d+)>?\s*$`)

// wholeLine is in Gemini CLI's answer of a command that ended, oddLine in that of one that ended by a signal, did not start, or still runs.
var (
	wholeLine = lazyregexp.New(`(?m)^Output: `)
	oddLine   = lazyregexp.New(`(?m)^(?:Signal|Error|Background PIDs): `)
)

// ending is how a tool of the agent ended.
type ending struct {
	// succeeded counts only where it is known.
	known, succeeded bool
	// status is the exit status of a command, nil where the agent does not report one.
	status *int
}

// exited returns the ending of a command with a status.
func exited(status int) ending { return ending{known: true, succeeded: status == 0, status: &status} }

// ended returns how the agent's tool ended, as far as it is known.
func (in *input) ended() ending {
	var response struct {
		Snake       *int            `json:"exit_code"`
		Camel       *int            `json:"exitCode"`
		Interrupted bool            `json:"interrupted"`
		Background  string          `json:"backgroundTaskId"`
		Content     json.RawMessage `json:"llmContent"`
		Error       json.RawMessage `json:"error"`
		Kind        string          `json:"result_type"`
		Text        json.RawMessage `json:"text_result_for_llm"`
		Meaning     string          `json:"returnCodeInterpretation"` // of a status that Claude Code takes for a success
		Metadata    struct {
			Snake *int `json:"exit_code"`
		} `json:"metadata"`
	}
	data := []byte(in.Response)
	var text string
	if json.Unmarshal(data, &text) == nil { // Codex
		data = []byte(text)
	}
	_ = json.Unmarshal(data, &response) // another form has none of this
	if in.background() || response.Background != "" || response.Interrupted || in.Interrupt {
		return ending{}
	}
	for _, code := range []*int{response.Snake, response.Camel, response.Metadata.Snake} {
		if code != nil {
			return exited(*code)
		}
	}
	if in.Event == "PostToolUseFailure" || in.Event == "postToolUseFailure" || len(response.Error) > 0 {
		return withStatus(ending{known: true}, failureLine(), asText(in.Error))
	}
	if e := withStatus(ending{}, statusLine(), asText(response.Content)+asText(response.Text)); e.known {
		return e
	}
	switch in.agent() {
	case "claude": // it runs this hook only after a tool that succeeded
		if in.Event == "PostToolUse" && conversation.Runs(in.Tool) && response.Meaning == "" {
			return exited(0)
		}
		return ending{known: in.Event == "PostToolUse", succeeded: true}
	case "codex":
		if conversation.Runs(in.Tool) && in.Event == "PostToolUse" {
			if status := recordedStatus(in.Transcript, in.Use); status != nil {
				return exited(*status)
			}
		}
	case "opencode", "cursor": // and so do these
		return ending{known: in.Event == "PostToolUse" || in.Event == "postToolUse", succeeded: true}
	case "copilot": // its shell says how a command ended
		return ending{known: response.Kind != "" && !conversation.Runs(in.Tool), succeeded: response.Kind == "success"}
	case "gemini": // it names no exit status of 0
		text := asText(response.Content)
		switch {
		case in.Event != "AfterTool" || len(response.Content) == 0:
		case !conversation.Runs(in.Tool):
			return ending{known: true, succeeded: true}
		case wholeLine().MatchString(text) && !oddLine().MatchString(text):
			return exited(0)
		}
	}
	return ending{}
}

// withStatus returns an ending with the status that a line of a text names, or else unchanged.
func withStatus(e ending, line *regexp.Regexp, text string) ending {
	if m := line.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return exited(n)
		}
	}
	return e
}

// background reports whether the command is still running.
func (in *input) background() bool {
	var input struct {
		Background bool `json:"run_in_background"`
	}
	_ = json.Unmarshal(in.Input, &input) // another form runs in the foreground
	return input.Background
}

func asText(data json.RawMessage) string {
	var text string
	_ = json.Unmarshal(data, &text)
	return text
}
