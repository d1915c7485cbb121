package event

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/protocol"
)

func TestVariablesAreMaskedAndCleanedAgain(t *testing.T) {
	d := NewDecoder(redact.Default())
	var v protocol.DebugVariables
	bad := d.Debug([]byte(`{"session":1,"thread":1,"frame":0,"at":{"function":"pay\u001b[31m\n","url":"http://x/a.js?token=abcdef123456","line":3,"column":1},"variables":[
		{"scope":"local","value":{"n":"accessToken","t":"string","v":"not yet masked","l":9000,"h":"h"}},
		{"scope":"local","value":{"n":"note","t":"string","v":"Authorization: Bearer abcdefghijklmnop1234"}},
		{"scope":"local","value":{"n":"password","t":"boolean","v":"true"}},
		{"scope":"local","value":{"n":"user","t":"User","o":true,"x":true,"z":2,"f":[{"n":"password","t":"string","v":"hunter2hunter2"},{"n":"name","t":"string","v":"A\u202eda"}]}},
		{"scope":"local","value":{"n":"credentials","t":"Object","o":true,"x":true,"m":true,"f":[{"n":"x","t":"string","v":"kept?"}]}}]}`), &v)
	if bad != nil {
		t.Fatal(bad)
	}
	if v.At.Function != "pay" || strings.Contains(v.At.URL, "abcdef123456") {
		t.Errorf("%+v", v.At)
	}
	is := func(f *protocol.DebugField, masked bool, text string) {
		t.Helper()
		if f.Masked != masked || f.Text != text {
			t.Errorf("%s: %+v", f.Name, f)
		}
	}
	is(&v.Variables[0].Value, true, "")
	if f := v.Variables[0].Value; f.Hash != "" || f.Length != 0 {
		t.Errorf("what stands for a secret is left: %+v", f)
	}
	if text := v.Variables[1].Value.Text; strings.Contains(text, "abcdefghijklmnop1234") {
		t.Error(text)
	}
	is(&v.Variables[2].Value, false, "true")
	user := v.Variables[3].Value
	is(&user.Fields[0], true, "")
	is(&user.Fields[1], false, "Ada")
	if f := v.Variables[4].Value; len(f.Fields) > 0 || f.Open {
		t.Errorf("a secret object is open: %+v", f)
	}
	var traced protocol.DebugTraced
	if bad := d.Debug([]byte(`{"session":1,"locations":[],"hits":[{"at":1,"thread":1,"values":[{"n":"apiKey","t":"string","v":"k"},{"n":"n","t":"number","v":"1"}]}]}`), &traced); bad != nil {
		t.Fatal(bad)
	}
	is(&traced.Hits[0].Values[0], true, "")
	is(&traced.Hits[0].Values[1], false, "1")
	for _, broken := range []string{``, `[]`, `{"variables":3}`} {
		if d.Debug([]byte(broken), &v) == nil {
			t.Errorf("%q is taken", broken)
		}
	}
}
