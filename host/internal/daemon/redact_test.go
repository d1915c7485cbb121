//go:build !windows

package daemon

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
)

func TestTheSettingsSayWhatElseIsSecret(t *testing.T) {
	h := newHome(t)
	settings := `[redact]
headers = ["x-ticket"]
keys = ["member_no"]
[[redact.values]]
id = "ticket"
pattern = 'TKT-\d{4}'
needs = ["TKT-"]
`
	if err := os.WriteFile(h.Config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, h)
	e := connectExtension(t, h)
	e.send(twoTabs)
	e.send(`{"type":"events","stream":"s","first":1,"events":[
		{"kind":"console","at":1769164200000,"tab":1,"level":"error","via":"console","text":"{\"memberNo\":\"M-1\",\"password\":\"P-1\"} for TKT-1234"}]}`)
	if m := e.read(); m["type"] != "ack" {
		t.Fatalf("%v", m)
	}
	answers := speak(t, h, initialize, ready, changes)
	all := strings.Join(answers, "\n")
	for text, told := range map[string]bool{"M-1": false, "TKT-1234": false, "P-1": false, "for ": true} {
		if strings.Contains(all, text) != told {
			t.Errorf("%s: told %v, want %v: %s", text, !told, told, all)
		}
	}
}

func TestARedactionRuleThatCannotBeUsedStopsTheDaemonAndSaysWhy(t *testing.T) {
	for settings, want := range map[string]string{
		"[redact]\nkeys = [\"42\"]\n":                               `config.toml:2: redact.keys: "42" is not a valid key name; it needs a letter`,
		"[redact]\nkey = [\"a\"]\n":                                 `config.toml:2: there is no setting redact.key`,
		"[redact]\nkeys = \"a\"\n":                                  "config.toml:2:",
		"[[redact.values]]\nid = \"a\"\npattern = \"(\"\n":          `config.toml:2: redact.values: rule "a": its pattern is invalid`,
		"[[redact.values]]\nid = \"a\"\npattern = \"x*\"\n":         `redact.values: rule "a": its pattern matches the empty string`,
		"[[redact.values]]\nid = \"a\"\nregexp = \"x\"\n":           `config.toml:3: there is no setting redact.values.regexp`,
		"[[redact.values]]\nid = \"jwt\"\npattern = \"x\"\n":        `redact.values: rule "jwt" already exists`,
		"[[redact.values]]\nid = \"a\"\npattern = '(?=x)lookahead'": "patterns are RE2",
	} {
		h := newHome(t)
		if err := os.WriteFile(h.Config, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Serve(context.Background(), h, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), h.Config) {
			t.Errorf("%q: %v", settings, err)
		}
	}
}
