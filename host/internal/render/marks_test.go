package render

import (
	"strings"
	"testing"
)

func TestASheetBreaksWordsBelowTheirBeginningAndPathsNever(t *testing.T) {
	var b strings.Builder
	s := NewSheet(&b, "Chrome", "Claude Code")
	s.Heading("Browsers")
	path := "/home/me/" + strings.Repeat("directory/", 8)
	s.Item("ok", "Chrome", path+" is as it should be")
	s.Heading("Agents")
	s.Item("broken", "Claude Code", strings.Repeat("word ", 20)+"\nend")
	s.Below("→", "do this")
	s.Change("±", "Claude Code", "~/.claude.json")
	s.Outcome("none", "left as it is")
	want := "Browsers\n  ✔ Chrome       " + path + "\n                 is as it should be\n\n" +
		"Agents\n  ✘ Claude Code  " + strings.Repeat("word ", 11) + "word\n                 " + strings.Repeat("word ", 8) + "end\n" +
		"                 → do this\n  ± Claude Code  ~/.claude.json\n    – left as it is\n"
	if b.String() != want || s.Err() != nil {
		t.Errorf("%v\n%s\nwant\n%s", s.Err(), b.String(), want)
	}
}

func TestAWideNameStandsAlone(t *testing.T) {
	var b strings.Builder
	s := NewSheet(&b, "Edge", "Chrome, Brave, Vivaldi, Opera, Arc")
	s.Item("ok", "Edge", "one")
	s.Item("ok", "Chrome, Brave, Vivaldi, Opera, Arc", "all")
	indent := strings.Repeat(" ", 20)
	if want := "  ✔ Edge  " + indent + "one\n  ✔ Chrome, Brave, Vivaldi, Opera, Arc\n          " + indent + "all\n"; b.String() != want {
		t.Errorf("\n%s\nwant\n%s", b.String(), want)
	}
}

func TestADiffOfOneLongLineShowsWhatDiffers(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []struct{ name, diff, want string }{
		{
			"one long line",
			"--- a\n+++ a\n@@ -1,1 +1,1 @@\n-{\"a\":\"" + long + "\"}\n\\ No newline at end of file\n+{\"a\":\"" + long + "\",\"new\":{\"command\":\"" + long + "\"}}\n\\ No newline at end of file\n",
			"@@ -1,1 +1,1 @@\n-…" + long[:23] + "\"}\n+…" + long[:23] + "\",\"new\":{\"command\":\"" + long + "\"}}\n",
		},
		{"short lines", "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-{\"a\":1}\n+{\"a\":1,\"b\":2}\n", "@@ -1,1 +1,1 @@\n-{\"a\":1}\n+{\"a\":1,\"b\":2}\n"},
		{"a long line beside", "--- a\n+++ a\n@@ -1,1 +1,2 @@\n " + long + "\n+\tb\n", "@@ -1,1 +1,2 @@\n " + long[:74] + "…\n+\tb\n"},
		{"a new file", "--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+{}\n\\ No newline at end of file\n", "+{}\n"},
		{"a last line that gets its end", "--- a\n+++ a\n@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n", "@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"},
	} {
		var b strings.Builder
		s := NewSheet(&b)
		s.Diff(c.diff)
		if got := strings.ReplaceAll("\n"+b.String(), "\n    ", "\n")[1:]; got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
