package main

import (
	"slices"
	"strings"
	"testing"
)

// TestEachRuleFindsItsMistake: the rules, read by Vale, find a mistake and leave a plain sentence alone.
func TestEachRuleFindsItsMistake(t *testing.T) {
	t.Chdir("../..")
	long := strings.Repeat("a word and ", 9) + "its end"
	for sentence, want := range map[string]string{
		"The page is told again":                       "Terms",
		"Run it again and mend the file":               "Terms",
		"The value is no origin":                       "Negation",
		"Fix one; fix two; fix three":                  "Semicolons",
		long:                                           "SentenceLength",
		"There is no origin in this file":              "",
		"Nothing can tell the two apart":               "",
		"One short text":                               "",
		"Another short text, which is read for itself": "",
	} {
		problems, err := check(nil, []text{{"a.go", 7, sentence}, {"a.go", 8, "The next text is another sentence"}})
		if err != nil {
			t.Fatal(err)
		}
		problems = slices.DeleteFunc(problems, func(p problem) bool { return p.hint })
		switch {
		case want == "" && len(problems) > 0:
			t.Errorf("%q: %v", sentence, problems)
		case want != "" && (len(problems) != 1 || problems[0].check != want || problems[0].line != 7):
			t.Errorf("%q: want %s, got %v", sentence, want, problems)
		}
	}
}

// TestOnlyProseIsTakenFromLiterals: code and short texts are left out, and format verbs are replaced.
func TestOnlyProseIsTakenFromLiterals(t *testing.T) {
	for literal, want := range map[string]string{
		"cannot read %s: %w":                             "cannot read Xx: Xx",
		"too short":                                      "",
		"const a = () => b; return a":                    "",
		`"depth":{"description":"levels of a field"}`:    "levels of a field",
		"  tidemark browser http://localhost an example": "",
	} {
		got := ""
		for _, found := range split("a.go", 1, literal) {
			got += found.text
		}
		if got != want {
			t.Errorf("%q: %q, want %q", literal, got, want)
		}
	}
}

// TestCellsAreSentences: a table's cells are checked one by one.
func TestCellsAreSentences(t *testing.T) {
	for line, want := range map[string]string{"| a b | c. |": "a b. c. ", "|---|---|": "", "no table": "no table"} {
		if got := strings.ReplaceAll(cells(line), " .", "."); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
