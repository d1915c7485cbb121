package terminal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
)

// byLines are texts whose secrets are named in a line before, with @1 to @4 for the secrets.
var byLines = map[string]string{
	"CSV":                   "user,password\nann,@1\nbob,@2\ncid,@3\n",
	"CSV with quotes":       "\"user\",\"password\"\n\"ann\",\"@1\"\n\"bob\",\"@2\"\n",
	"cells over lines":      "note,password\n\"a\nb\n\nc\",@1\n\"d\",@2\n",
	"TSV":                   "user\tpassword\nann\t@1\nbob\t@2\n",
	"psql":                  " user | password\n------+---------\n ann  | @1\n bob  | @2\n",
	"Markdown":              "| user | password |\n|---|---|\n| ann | @1 |\n| bob | @2 |\n",
	"a block of YAML":       "secret: |\n  @1\n  @2\n",
	"a prompt":              "Your password:\n@1\n",
	"an element":            "<password>\n@1\n</password>\n",
	"a name and its value":  "{\n  \"name\": \"password\",\n  \"value\": \"@1\"\n}\n",
	"a key and its value":   "{\n  \"password\":\n    \"@1\"\n}\n",
	"a list of JSON":        "{\n  \"passwords\": [\n    \"@1\",\n    \"@2\"\n  ]\n}\n",
	"an object of JSON":     "{\n  \"secrets\": {\n    \"a\": \"@1\",\n    \"b\": \"@2\"\n  }\n}\n",
	"a text over lines":     "password: \"@1\n@2\"\n",
	"a command over lines":  "export API_KEY=\\\n@1\n",
	"a property list":       "<key>password</key>\n<string>@1</string>\n",
	"a difference":          "@@ -1,2 +1,2 @@\n+secret: |\n+  @1\n",
	"a key with an escape":  "{\n  \"\\u0070assword\":\n    \"@1\"\n}\n",
	"a key of a long line":  strings.Repeat("a ", 200) + "\npassword: |\n  @1\n",
	"a key and other lines": "{\n  \"name\": \"password\",\n  \"type\": \"text\",\n  \"id\": 7,\n  \"value\": \"@1\"\n}\n",
}

// TestASecretIsMaskedThatALineBeforeNames, where each line is written by itself, and where characters are.
func TestASecretIsMaskedThatALineBeforeNames(t *testing.T) {
	for name, text := range byLines {
		for n := range 4 {
			text = strings.ReplaceAll(text, fmt.Sprintf("@%d", n+1), fmt.Sprintf("hunter%dBx7Qz9Lm", n+1))
		}
		if strings.Contains(recorded(strings.ReplaceAll(text, "\n", "\r\n"), recording.Output), "hunter") {
			t.Errorf("%s is shown where it is written at once", name)
		}
		lines := "$ cat it\r\n" + strings.ReplaceAll(text, "\n", "\r\n") + "$ done\r\n"
		for how, parts := range map[string][]string{
			"lines": strings.SplitAfter(lines, "\n"), "lines, divided in their ends": strings.SplitAfter(lines, "\r"), "characters": strings.Split(lines, ""),
			"colours": strings.SplitAfter("\x1b[32m"+strings.ReplaceAll(lines, "\n", "\n\x1b[0m\x1b[32m"), "\n"),
		} {
			for _, batched := range []bool{false, true} {
				got := recordedInParts(parts, recording.Output, batched)
				if strings.Contains(got, "hunter") {
					t.Errorf("%s as %s is shown: %q", name, how, got)
				}
				if len(got) != len(lines) || !strings.HasPrefix(got, "$ cat it\r\n") || !strings.HasSuffix(got, "$ done\r\n") {
					t.Errorf("%s as %s became %q", name, how, got)
				}
			}
		}
		if got := recordedInParts(strings.SplitAfter(text, "\n"), recording.Input, false); strings.Contains(got, "hunter") {
			t.Errorf("%s is shown where it is typed: %q", name, got)
		}
	}
}

func recordedInParts(parts []string, code recording.Code, batched bool) string {
	var kept strings.Builder
	m := newMasker(redact.Default(), func(_ time.Duration, _ recording.Code, data []byte) { kept.Write(data) })
	m.batched = batched
	for i, part := range parts {
		if part != "" {
			m.add(time.Duration(i), code, []byte(part))
		}
		if batched && i%3 == 2 {
			m.settleDue()
		}
		if code == recording.Input {
			m.settle(code, m.size[code])
		}
	}
	m.flush()
	return ansi.Strip(kept.String())
}

// TestATableOfAnyLengthIsMasked, and what follows it is not.
func TestATableOfAnyLengthIsMasked(t *testing.T) {
	parts := []string{"user,password\r\n"}
	for i := range 2000 {
		parts = append(parts, fmt.Sprintf("u%d,hunter%d\r\n", i, i))
	}
	parts = append(parts, "2000 rows\r\n", "ann,hunted\r\n")
	got := recordedInParts(parts, recording.Output, false)
	if strings.Contains(got, "hunter") || !strings.HasSuffix(got, "2000 rows\r\nann,hunted\r\n") {
		t.Errorf("%q", got[max(0, len(got)-200):])
	}
}

// TestWhatADrawingShowsHasNoContext: of a program that moves the cursor, the last line is not the one above.
func TestWhatADrawingShowsHasNoContext(t *testing.T) {
	for _, parts := range [][]string{
		{"Your password:\r\n", "\x1b[5;5H", "hunter2Bx7Qz9Lm\r\n"},
		{"Your password:\r\n", "\x1b[1m\x1b[5;5Hhunter2Bx7Qz9Lm\r\n"},
		{"passwords and more\r\n", "are kept as hunter2Bx7Qz9Lm says\r\n"},
	} {
		if got := recordedInParts(parts, recording.Output, false); !strings.Contains(got, "hunter") {
			t.Errorf("%q", got)
		}
	}
}
