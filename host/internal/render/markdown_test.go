package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
)

func markdown(t *testing.T, r *report.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := Markdown(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestMarkdownReports(t *testing.T) {
	for name, r := range map[string]*report.Report{
		"full":   full(),
		"clean":  {From: at(0), To: at(1), DurationMs: 900, Severity: report.Clean, Summary: "No significant changes", Console: &report.ConsoleDiff{}},
		"unseen": unseen(),
		"files":  changedFiles(),
	} {
		path := filepath.Join("testdata", name+".md.golden")
		got := markdown(t, r)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// hostile are texts that would be something else than text.
var hostile = []string{
	"`", "``` ", "a`b``c```d", "`x` <script>alert(1)</script>", "</code></td><img src=x onerror=alert(1)>",
	"| a | b |\n|---|---|\n# Heading\n- [x] item", "[click](javascript:alert(1))", "![](http://evil.example/pixel)",
	"@everyone #1 https://evil.example www.evil.example", "\x1b[2J\u202egnp.exe", "\\", "\\`", "&lt;b&gt;", "\u200b\u2066x\u2069",
	"```\nend of fence\n```", " leading and trailing ",
}

// TestPageTextStaysInsideItsCodeSpan reads each line back as CommonMark does: outside of code spans there is
// nothing of the page's.
func TestPageTextStaysInsideItsCodeSpan(t *testing.T) {
	for _, text := range hostile {
		r := full()
		r.Console.NewErrors[0].Message, r.Console.NewErrors[0].Source = text, text
		r.Network.Failures[0].URL, r.WebSocket.ErrorMessages[0].Message = text, text
		r.DOM.NewErrorElements[0].Text, r.DOM.NewErrorElements[0].Selector, r.DOM.URLChanged.To = text, text, text
		r.Actions.NewActions[0].Target, r.Actions.NewActions[0].Value = text, text
		plain := full()
		for _, into := range []*string{
			&plain.Console.NewErrors[0].Message, &plain.Console.NewErrors[0].Source, &plain.Network.Failures[0].URL, &plain.WebSocket.ErrorMessages[0].Message,
			&plain.DOM.NewErrorElements[0].Text, &plain.DOM.NewErrorElements[0].Selector, &plain.DOM.URLChanged.To, &plain.Actions.NewActions[0].Target, &plain.Actions.NewActions[0].Value,
		} {
			*into = "x"
		}
		if got, want := outsideCode(t, markdown(t, r)), outsideCode(t, markdown(t, plain)); got != want {
			t.Errorf("%q changes what is outside of code:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// outsideCode is Markdown with every code span replaced by a sign, as CommonMark finds them: a run of
// backticks that is not escaped begins one, the next run of the same length ends it.
func outsideCode(t *testing.T, md string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(md) {
		for line != "" {
			switch line[0] {
			case '\\':
				b.WriteString(line[:2])
				line = line[2:]
			case '`':
				n := len(line) - len(strings.TrimLeft(line, "`"))
				rest, end := line[n:], -1
				for i := 0; i < len(rest); {
					if rest[i] != '`' {
						i++
						continue
					}
					run := len(rest[i:]) - len(strings.TrimLeft(rest[i:], "`"))
					if run == n {
						end = i
						break
					}
					i += run
				}
				if end < 0 {
					t.Fatalf("a code span does not end: %q in\n%s", line, md)
				}
				b.WriteString("§")
				line = rest[end+n:]
			default:
				b.WriteByte(line[0])
				line = line[1:]
			}
		}
	}
	return b.String()
}

func TestTextOutsideCodeIsNoMarkdown(t *testing.T) {
	for _, text := range hostile {
		got := escape(text)
		unescaped := strings.NewReplacer(`\\`, "", "\\`", "", `\<`, "", `\[`, "", `\]`, "", `\#`, "", `\@`, "", `\|`, "", `\&`, "", `\_`, "", `\*`, "").Replace(got)
		if strings.ContainsAny(unescaped, "`<[]#@|&\n\x1b\u202e") || strings.Contains(strings.ReplaceAll(got, `\://`, ""), "://") || strings.Contains(got, "www.e") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
