package terminal

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/recording"
)

func TestMarksOfOtherIntegrations(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b]133;A\a":                                `A ""`,
		"\x1b]133;A;cl=m;aid=7\x1b\\":                 `A ""`,
		"\x1b]133;C;cmdline_url=ls\a":                 `C ""`,
		"\x1b]133;D;3;aid=7\a":                        `D "" 3`,
		"\x1b]133;D\a":                                `D ""`,
		"\x1b]133;D;x\a":                              `D ""`,
		"\x1b]633;E;echo a\\x3bb \\\\x\\x0ac;nonce\a": `E "echo a;b \\x\nc"`,
		"\x1b]633;P;Cwd=/a\\x3bb\a":                   `7 "/a;b"`,
		"\x1b]7;file://host/a%20b/%C3%BC\a":           `7 "/a b/ü"`,
		"\x1b]7;file:///\a":                           `7 "/"`,
		"\x1b]7;http://host/\a":                       "",
		"\x1b]633;P;IsWindows=False\a":                "",
		"\x1b]133;AB\a":                               "",
		"\x1b]133;\a":                                 "",
		"\x1b]0;133;A\a":                              "",
		"\x1b]133;A":                                  "",
		"\x1b[133;A":                                  "",
		"\x1b]633;E;\\x;\a":                           `E "\\x"`,
		"\x1b]633;E;" + strings.Repeat("\\", 3) + ";n\x1b\\": `E "\\\\"`,
	} {
		if got := describe(otherMarkOf([]byte(text))); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func describe(m *otherMark) string {
	if m == nil {
		return ""
	}
	text, _ := json.Marshal(m.text)
	s := string(m.kind) + " " + string(text)
	if m.status != nil {
		status, _ := json.Marshal(*m.status)
		s += " " + string(status)
	}
	return s
}

// TestCommandsOfOtherIntegrations has what shells print that others integrate, alone and within a command of a shell
// that Tidemark integrates. Only the commands of the latter are passed on.
func TestCommandsOfOtherIntegrations(t *testing.T) {
	const (
		finalTerm = "\x1b]7;file://h/x%20y\a\x1b]133;A\a$ \x1b]133;B\als -l\r\n\x1b]133;C\afile\r\n\x1b]133;D;2\a"
		vscode    = "\x1b]633;A\a> \x1b]633;P;Cwd=/c\a\x1b]633;B\amake\r\n\x1b]633;E;make\\x20all;n\a\x1b]633;C\aok\r\n\x1b]633;D;0\a"
		own       = "\x1b]6973;n1;P;/w\a\x1b]133;A\a$ ssh h\r\n\x1b]6973;n1;C;/w;ssh h\a\x1b]133;C\a"
		ownEnd    = "\x1b]6973;n1;D;0;/w\a\x1b]133;D;0\a\x1b]6973;n1;P;/w\a\x1b]133;A\a$ "
	)
	for _, c := range []struct{ name, output, want, passed string }{
		{"FinalTerm", finalTerm, "/x y: ls -l (exit 2) (by marks in the output)", ""},
		{"Visual Studio Code", vscode, "/c: make all (by marks in the output)", ""},
		{"a secret", "\x1b]133;A\a$ \x1b]133;B\aexport API_TOKEN=9Qx7Zk2Lm9Pw4Rt8Yv6\r\n\x1b]133;C\a\x1b]133;D;0\a", ": export API_TOKEN=[masked] (by marks in the output)", ""},
		{"an end that is missing", "\x1b]133;A\a$ \x1b]133;B\aone\r\n\x1b]133;C\a\x1b]133;A\a", ": one (no exit status) (by marks in the output)", ""},
		{"a command line that is given up", "\x1b]133;A\a$ \x1b]133;B\aone^C\r\n\x1b]133;D;130\a\x1b]133;A\a", "", ""},
		{"by ssh", own + finalTerm + ownEnd, "/x y: ls -l (exit 2) (by marks in the output)|/w: ssh h", "ssh h"},
		{"an end of its own that is missing", own + "out\r\n\x1b]6973;n1;P;/w\a\x1b]133;A\a$ ", "/w: ssh h (no exit status)", "ssh h"},
		{"a command alone", own + "out\r\n" + ownEnd, "/w: ssh h", "ssh h"},
	} {
		r := newRig(t)
		for i := range len(c.output) {
			r.output(time.Second, []byte(c.output[i:i+1]))
		}
		got := strings.Join(r.commands(t), "|")
		var passed []string
		for _, c := range r.ended {
			passed = append(passed, c.Text)
		}
		if got != c.want || strings.Join(passed, "|") != c.passed {
			t.Errorf("%s: %q, passed on %q", c.name, got, passed)
		}
	}
}

// commands ends the recording, and returns its commands.
func (r *rig) commands(t *testing.T) (list []string) {
	t.Helper()
	if err := r.close(time.Second, 0); err != nil {
		t.Fatal(err)
	}
	rec, err := recording.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rec.Close() }()
	for e, err := range rec.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Code == recording.Ended {
			var c recording.Command
			if err := json.Unmarshal(e.Data, &c); err != nil {
				t.Fatal(err)
			}
			list = append(list, c.Dir+": "+c.String())
		}
	}
	return list
}
