package branches

import (
	"strings"
	"testing"
)

func TestTheCommandOfATabIsAddedOrQuoted(t *testing.T) {
	own := []string{"/opt/tide mark", InTab, "it's-1"}
	for _, c := range []struct{ terminal, want []string }{
		{[]string{"kitty", "--cwd", "{dir}", "--title={name}"}, []string{"kitty", "--cwd", "/a b", "--title=way", "/opt/tide mark", InTab, "it's-1"}},
		{[]string{"script", "-c", "{command}", "{name}"}, []string{"script", "-c", `'/opt/tide mark' 'in-tab' 'it'\''s-1'`, "way"}},
	} {
		if got := tabLine(c.terminal, "/a b", "way", own); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestSettingsOfTerminalsThatStartNothingAreRefused(t *testing.T) {
	for want, s := range map[string]Settings{
		`terminal is "kitty"`:        {Terminal: "kitty"},
		"are both set":               {Terminal: "tmux", TerminalCommand: []string{"kitty"}},
		"begins with a program":      {TerminalCommand: []string{""}},
		"":                           {TerminalCommand: []string{"kitty", "@", "launch"}},
		`agent_path is "elsewhere";`: {AgentPath: "elsewhere"},
	} {
		if err := s.Check(); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

func TestASessionOfTmuxMayHaveSpacesInItsName(t *testing.T) {
	if window, pid, err := pane("123 my work:@3\n"); window != "my work:@3" || pid != 123 || err != nil {
		t.Errorf("the window is %q with process %d, %v", window, pid, err)
	}
	if window, pid, err := pane(""); window != "" || pid != 0 || err == nil {
		t.Errorf("without a line, the window is %q with process %d, %v", window, pid, err)
	}
}
