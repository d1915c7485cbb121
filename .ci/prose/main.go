// Command prose checks Tidemark's texts against its style, which is in styles/Tidemark: the glossary's terms, the
// length of sentences, semicolons. Free relative clauses are hints. Vale does the checking; this command collects the
// texts and reports each problem at its place in the source. Exceptions, each with its reason, are in exceptions.go.
//
// Checked are the Markdown files, the extension's locales, and every sentence in the code of host, installer and
// extension that a user or an agent can read: tool definitions, help, answers, errors.
//
//	go run ./.ci/prose [-hints] [-list] [PATH PREFIX…]
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	vale   = ".cache/vale"
	config = ".ci/prose/vale.ini"
)

// A problem is a place in a source file at which the style is not followed.
type problem struct {
	path    string
	line    int
	check   string
	message string
	// text is the line as it was checked.
	text string
	hint bool
}

func (p problem) String() string {
	return fmt.Sprintf("%s:%d: %s (%s)\n    %s", p.path, p.line, p.message, p.check, p.text)
}

func main() {
	hints := flag.Bool("hints", false, "print hints too")
	list := flag.Bool("list", false, "print the texts found in code, and check nothing")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), *hints, *list); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, prefixes []string, hints, list bool) error {
	tracked, err := exec.Command("git", "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git cannot list the files: %w", err)
	}
	paths := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(tracked)), "\n"), func(path string) bool {
		_, err := os.Stat(path)
		return err != nil || len(prefixes) > 0 && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(path, p) })
	})
	texts, err := collect(paths)
	if err != nil {
		return err
	}
	if list {
		for _, t := range texts {
			fmt.Fprintf(out, "%s:%d: %s\n", t.path, t.line, t.text)
		}
		return nil
	}
	problems, err := check(paths, texts)
	if err != nil {
		return err
	}
	failed := 0
	for _, p := range problems {
		if p.hint && !hints {
			continue
		}
		if !p.hint {
			failed++
		}
		fmt.Fprintln(out, p)
	}
	if failed > 0 {
		return fmt.Errorf("%d problems. Rewrite the texts, or add an exception with its reason to .ci/prose/exceptions.go", failed)
	}
	return nil
}

// check has Vale read the Markdown files among paths, and the texts, which it gets as one file a source file.
func check(paths []string, texts []text) ([]problem, error) {
	dir, err := os.MkdirTemp("", "tidemark-prose-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args := []string{"--config=" + config, "--output=JSON", "--no-exit"}
	lines := map[string][]text{} // by the name of the file that Vale reads
	read := map[string]*strings.Builder{}
	add := func(t text, extension, as string) {
		name := filepath.Join(dir, strings.ReplaceAll(t.path, "/", "__")+extension)
		if read[name] == nil {
			read[name] = &strings.Builder{}
		}
		lines[name] = append(lines[name], t)
		fmt.Fprintln(read[name], as)
	}
	for _, path := range paths {
		if filepath.Ext(path) != ".md" || strings.Contains(path, "testdata/") {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(data), "\n") {
			add(text{path, i + 1, line}, ".md", cells(codeSpan.ReplaceAllString(line, unknown)))
		}
	}
	for _, t := range texts {
		add(t, ".txt", ended(t.text))
		add(text{path: t.path}, ".txt", "")
	}
	if len(read) == 0 {
		return nil, errors.New("nothing to check")
	}
	for name, b := range read {
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			return nil, err
		}
		args = append(args, name)
	}
	cmd := exec.Command(vale, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	answer, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("vale: %w: %s%s", err, said.String(), answer)
	}
	var found map[string][]struct {
		Line                     int
		Check, Message, Severity string
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return nil, fmt.Errorf("vale's answer: %w: %.500s", err, answer)
	}
	var problems []problem
	for name, alerts := range found {
		in := lines[name]
		for _, a := range alerts {
			at := in[a.Line-1]
			p := problem{at.path, at.line, strings.TrimPrefix(a.Check, "Tidemark."), a.Message, at.text, a.Severity != "error"}
			if !excepted(p) {
				problems = append(problems, p)
			}
		}
	}
	slices.SortFunc(problems, func(a, b problem) int {
		if c := strings.Compare(a.path, b.path); c != 0 {
			return c
		}
		return a.line - b.line
	})
	return problems, nil
}

// ended is a text with a full stop. Vale reads on where there is none: an empty line ends no sentence in plain text.
func ended(s string) string {
	if s == "" || strings.ContainsRune(".!?:", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

// codeSpan is code in a line of Markdown: Vale counts its words.
var codeSpan = regexp.MustCompile("`[^`]+`")

var rule = regexp.MustCompile(`^[|:\s-]+$`)

// cells is a line of Markdown with each cell of a table as a sentence of its own: Vale takes a whole table for one.
func cells(line string) string {
	row, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
	switch {
	case !ok:
		return line
	case rule.MatchString(line):
		return ""
	}
	var b strings.Builder
	for cell := range strings.SplitSeq(strings.TrimSuffix(row, "|"), " | ") {
		b.WriteString(ended(strings.TrimSpace(cell)) + " ")
	}
	return b.String()
}
