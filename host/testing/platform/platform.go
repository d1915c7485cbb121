// Package platform compares the names and roles of elements with those that the specifications of the web platform
// give them. The cases are facts, written for Tidemark: an element, the role or name that it has, and the file of the
// web platform tests (https://github.com/web-platform-tests/wpt, BSD 3-Clause) that tests the same rule.
package platform

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tidemark.dev/tidemark/extension"
)

//go:embed cases/*.txt
var tables embed.FS

//go:embed platform.mjs
var script []byte

// A Case is an element in a page, with the role and name that it is to have.
type Case struct {
	// Source is the file of the web platform tests that tests the same rule.
	Source string `json:"-"`
	// HTML is the page's body. The element has the attribute "case".
	HTML string `json:"html"`
	// Role, Name and Description are what the element has; "*" where the case does not say.
	Role        string `json:"role"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Differs says why Tidemark shows the element otherwise, on purpose; "" where it does not.
	Differs string `json:"-"`
}

// ID identifies a case in messages and in the list of deliberate differences.
func (c Case) ID() string { return c.Source + ": " + c.HTML }

// Seen is what one of the three reports of an element.
type Seen struct {
	Role, Name, Description, States string
	// Text is what stands in the element's line in the tree, other than its name.
	Text string
}

// Answer is what the three report of one element.
type Answer struct{ Tidemark, Chromium, Playwright Seen }

// Cases returns all cases.
func Cases() ([]Case, error) {
	files, err := tables.ReadDir("cases")
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, f := range files {
		text, err := tables.ReadFile("cases/" + f.Name())
		if err != nil {
			return nil, err
		}
		cases, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		all = append(all, cases...)
	}
	return all, nil
}

// parse reads a table. A line is `role | name | html | values`; `role | name (description) | …` has a description
// too. `$` stands for each of the values in turn; where a value has parts, `a:b`, they are `$1` and `$2`. A line that
// begins with `@` names the source of what follows, `~` why Tidemark differs in what follows until the next `~` or `@`.
func parse(table string) ([]Case, error) {
	var cases []Case
	source, differs := "", ""
	for n, line := range strings.Split(table, "\n") {
		if at, ok := strings.CutPrefix(line, "@ "); ok {
			source, differs = at, ""
			continue
		}
		if why, ok := strings.CutPrefix(line, "~"); ok {
			differs = strings.TrimSpace(why)
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, " | ")
		if len(columns) < 3 || source == "" {
			return nil, fmt.Errorf("line %d: not a case: %s", n+1, line)
		}
		values := []string{""}
		if len(columns) > 3 {
			values = strings.Fields(columns[3])
		}
		for _, v := range values {
			fill := strings.NewReplacer(replacements(v)...).Replace
			name, description := fill(columns[1]), "*"
			if at := strings.Index(name, " ("); at >= 0 && strings.HasSuffix(name, ")") {
				name, description = name[:at], name[at+2:len(name)-1]
			}
			cases = append(cases, Case{
				Source: source, HTML: fill(columns[2]), Role: fill(columns[0]),
				Name: unquoted(name), Description: unquoted(description), Differs: differs,
			})
		}
	}
	return cases, nil
}

func replacements(value string) []string {
	var pairs []string
	for i, part := range strings.Split(value, ":") {
		pairs = append(pairs, fmt.Sprintf("$%d", i+1), part)
	}
	return append(pairs, "$", value)
}

func unquoted(s string) string {
	if s == `""` {
		return ""
	}
	return s
}

// Ask has the three read the cases in a browser, with the built extension of this program. A directory has the package
// playwright-core.
func Ask(packages, chromium string, cases []Case) ([]Answer, error) {
	content, err := extension.Dist.ReadFile("dist/aria.js")
	if err != nil {
		return nil, fmt.Errorf("the extension is not built: %w", err)
	}
	in, err := json.Marshal(map[string]any{"script": string(content), "cases": cases})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "platform")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "platform.mjs")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		return nil, err
	}
	if packages, err = filepath.Abs(packages); err != nil {
		return nil, err
	}
	cmd := exec.Command("node", file, packages, chromium)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("platform.mjs: %w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("platform.mjs: %w", err)
	}
	var answers []Answer
	if err := json.Unmarshal(out, &answers); err != nil {
		return nil, err
	}
	if len(answers) != len(cases) {
		return nil, fmt.Errorf("%d answers for %d cases", len(answers), len(cases))
	}
	return answers, nil
}

// Right reports whether what was seen is what the case asks for.
func (c Case) Right(seen Seen) bool {
	return (c.Role == "*" || roleOf(seen.Role) == roleOf(c.Role)) &&
		(c.Name == "*" || fold(seen.Name) == fold(c.Name)) &&
		(c.Description == "*" || fold(seen.Description) == fold(c.Description))
}

// InTree is what the tree of the content script says of an element, in terms of the case: words that only look
// different have no line, and a cell's text is not repeated as its name.
func (c Case) InTree(seen Seen) Seen {
	if seen.Role == "" && textual[c.Role] {
		seen.Role = c.Role
	}
	if seen.Name == "" && namedByText[seen.Role] {
		seen.Name = seen.Text
	}
	return seen
}

// A Total counts the cases that each of the three gets right.
type Total struct {
	Cases, Chromium, Playwright int
	// Either is how many Chromium or Playwright gets right; Tidemark how many of these Tidemark does, Alone how many others.
	Either, Tidemark, Alone int
	// Differs counts those of Either that Tidemark shows otherwise on purpose.
	Differs int
}

// A Group is what the cases of one directory of the web platform tests add up to.
type Group struct {
	Name string
	Total
}

// Groups counts the right answers of each directory, in the order of the tables.
func Groups(cases []Case, answers []Answer) []Group {
	var names []string
	of := map[string][]int{}
	for i, c := range cases {
		name, _, _ := strings.Cut(c.Source, "/")
		if of[name] == nil {
			names = append(names, name)
		}
		of[name] = append(of[name], i)
	}
	var groups []Group
	for _, name := range names {
		var some []Case
		var theirs []Answer
		for _, i := range of[name] {
			some, theirs = append(some, cases[i]), append(theirs, answers[i])
		}
		groups = append(groups, Group{name, Sum(some, theirs)})
	}
	return groups
}

// Sum counts the right answers.
func Sum(cases []Case, answers []Answer) Total {
	sum := Total{Cases: len(cases)}
	for i, c := range cases {
		a := answers[i]
		ours, chromium, playwright := c.Right(c.InTree(a.Tidemark)), c.Right(a.Chromium), c.Right(a.Playwright)
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		either := chromium || playwright
		count(&sum.Chromium, chromium)
		count(&sum.Playwright, playwright)
		count(&sum.Either, either)
		count(&sum.Tidemark, either && ours)
		count(&sum.Alone, !either && ours)
		count(&sum.Differs, either && c.Differs != "")
	}
	return sum
}

// textual are the roles whose elements are part of the text around them.
var textual = set("paragraph strong emphasis code mark subscript superscript insertion deletion time suggestion rowgroup caption")

// namedByText are the roles whose text is listed as such.
var namedByText = set("cell gridcell row")

// nameless are what Chromium calls elements that ARIA has no role for.
var nameless = set("none presentation LabelText Abbr Ruby Section Pre HeaderAsNonLandmark FooterAsNonLandmark " +
	"SectionHeader SectionFooter sectionheader sectionfooter Figcaption Legend DescriptionList InlineTextBox StaticText RubyAnnotation")

func roleOf(role string) string {
	switch {
	case role == "" || nameless[role]:
		return "generic"
	case role == "image":
		return "img"
	case role == "DisclosureTriangle":
		return "button"
	case role == "Details":
		return "group"
	case role == "Iframe":
		return "iframe"
	case role == "MathMLMath":
		return "math"
	default:
		return role
	}
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

func fold(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\u00ad", "")), " ")
}
