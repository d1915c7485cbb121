package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// text is one line of a text in code.
type text struct {
	path string
	line int
	text string
}

// unread are folders whose texts no user and no agent reads: they are of tests and measurements.
var unread = []string{"host/bench/", "host/testing/", "host/e2e/", "extension/dist/", ".ci/"}

// unknown stands for what a program fills in. A single letter would be taken for an initial, which ends no sentence.
const unknown = "Xx"

// collect returns the texts in the code and the locales among paths.
func collect(paths []string) ([]text, error) {
	var all []text
	var scripts []string
	for _, name := range paths {
		if hasPrefix(name, unread) || strings.Contains(name, "testdata/") {
			continue
		}
		var found []text
		var err error
		switch {
		case strings.HasSuffix(name, "_test.go") || strings.Contains(path.Base(name), ".test."):
		case path.Ext(name) == ".go":
			found, err = inGo(name)
		case path.Base(name) == "messages.json":
			found, err = inLocale(name)
		case path.Ext(name) == ".ts" || path.Ext(name) == ".tsx":
			scripts = append(scripts, name)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(scripts) == 0 {
		return all, nil
	}
	answer, err := exec.Command("node", append([]string{".ci/prose/texts.mjs"}, scripts...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("texts.mjs: %w", err)
	}
	var found []struct {
		Path string
		Line int
		Text string
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return nil, err
	}
	for _, f := range found {
		all = append(all, split(f.Path, f.Line, f.Text)...)
	}
	return all, nil
}

func hasPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// inGo returns the texts in the string literals of a Go file. Literals that are added together are one text.
func inGo(name string) ([]text, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	var all []text
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			return isType(n)
		case *ast.BinaryExpr:
			if s, ok := literal(n); ok {
				all = append(all, split(name, files.Position(n.Pos()).Line, s)...)
				return false
			}
		case *ast.BasicLit:
			if s, ok := literal(n); ok {
				all = append(all, split(name, files.Position(n.Pos()).Line, s)...)
			}
		}
		return true
	})
	return all, nil
}

// isType says that a node may have literals that are read: a function literal's parameters, not imports and tags.
func isType(n ast.Node) bool {
	field, ok := n.(*ast.Field)
	return ok && field.Tag == nil
}

// literal is the value of a string literal, or of several that are added together. What is added between them and not
// known here is written as [unknown].
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, known := literal(e.X)
		right, alsoKnown := literal(e.Y)
		if !known && !alsoKnown {
			return "", false
		}
		if !known {
			left = unknown
		}
		if !alsoKnown {
			right = unknown
		}
		return left + right, true
	}
	return "", false
}

var message = regexp.MustCompile(`^\s*"message": (".*"),?$`)

// inLocale returns the messages of a locale of the extension.
func inLocale(name string) ([]text, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []text
	for i, line := range strings.Split(string(data), "\n") {
		m := message.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var s string
		if err := json.Unmarshal([]byte(m[1]), &s); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		all = append(all, split(name, i+1, s)...)
	}
	return all, nil
}

var (
	description = regexp.MustCompile(`"description":"((?:[^"\\]|\\.)*)"`)
	verb        = regexp.MustCompile(`%[-+# 0]*[\d*]*(?:\.[\d*]+)?(?:\[\d+\])?[a-zA-Z]|\$\d`)
	words       = regexp.MustCompile(`\p{L}{2,}[,;:.]? \p{L}+[,;:.]? \p{L}`)
	code        = regexp.MustCompile(`=>|</|\{ [a-z-]+:|&&|\|\||[{(]\s*$|^\s{2,}|^\s*[.#\[]|\);|^(?:import|const|function|return|SELECT|INSERT|CREATE|PRAGMA) `)
)

// split returns the prose in a literal, a text for each of its lines. Code, examples of commands and lines of fewer than
// three words are not prose. In a schema only the descriptions are.
func split(path string, line int, s string) []text {
	var all []text
	for i, part := range strings.Split(s, "\n") {
		described := description.FindAllStringSubmatch(part, -1)
		if described == nil && !strings.Contains(part, `":{"`) {
			described = [][]string{{"", part}}
		}
		for _, d := range described {
			if prose := strings.TrimSpace(verb.ReplaceAllString(d[1], unknown)); words.MatchString(prose) && !code.MatchString(d[1]) {
				all = append(all, text{path, line + i, strings.ReplaceAll(prose, "%%", "%")})
			}
		}
	}
	return all
}
