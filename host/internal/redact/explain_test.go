package redact

import (
	"fmt"
	"strings"
	"testing"
)

func TestExplainSaysWhichRuleAndWhere(t *testing.T) {
	r := extend(t, User{Values: []UserValue{{ID: "ticket", Pattern: `TKT-\d+`}}})
	for _, c := range []struct {
		in   string
		as   Form
		out  string
		want []string
	}{
		{"login with password: hunter2", FormText, "login with password: [masked]", []string{`key "password" "hunter2"`}},
		{"nothing here", FormText, "nothing here", nil},
		{
			"TKT-1 secret=x postgres://u:pw@h TKT-22", FormText, "[masked] secret=[masked] postgres://u:[masked]@h [masked]",
			[]string{`ticket "TKT-1"`, `key "secret" "x"`, `url_password "pw"`, `ticket "TKT-22"`},
		},
		{`{"a":1,"accessToken":"x"}`, FormJSON, `{"a":1,"accessToken":"[masked]"}`, []string{`key "accessToken" "x"`}},
		{
			"http://h/?user%5Bpassword%5D=x&next=%2F%3Ftoken%3Da%26pin%3D1", FormURL, "http://h/?user%5Bpassword%5D=[masked]&next=%2F%3Ftoken%3D[masked]%26pin%3D[masked]",
			[]string{`key "user%5Bpassword%5D" "x"`, `key "token" "%2F%3Ftoken%3Da%26pin%3D1"`, `key "pin" "%2F%3Ftoken%3Da%26pin%3D1"`},
		},
		{
			"GET /?token=x HTTP/1.1\nCookie: a=b\nX-Note: TKT-3\nAccept: */*\n", FormHeaders, "GET /?token=[masked] HTTP/1.1\nCookie: [masked]\nX-Note: [masked]\nAccept: */*\n",
			[]string{`key "token" "x"`, `header "cookie" "a=b"`, `ticket "TKT-3"`},
		},
		{
			"-----BEGIN PRIVATE KEY-----\nsecret=x\n-----END PRIVATE KEY-----", FormText, "[masked]",
			[]string{`private_key "-----BEGIN PRIVATE KEY-----\nsecret=x\n-----END PRIVATE KEY-----"`},
		},
		{"API key: a1b2c3d4", FormText, "API key: [masked]", []string{`key "API key" "a1b2c3d4"`}},
		{`{"name":"otp","value":"1"}`, FormJSON, `{"name":"otp","value":"[masked]"}`, []string{`key "otp" "1"`}},
	} {
		out, found := r.Explain(c.in, c.as)
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s %q", f.Rule(), c.in[f.From:f.To]))
		}
		if out != c.out || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s\n got %q %s\nwant %q %s", c.in, out, got, c.out, c.want)
		}
	}
}

func TestExplainMasksAsTheOthersDo(t *testing.T) {
	r := Default()
	for _, c := range sharedCases(t) {
		checkExplain(t, r, c.In)
	}
}

// checkExplain compares with the other methods, and puts the masks where the findings say.
func checkExplain(t *testing.T, r *Redactor, s string) {
	t.Helper()
	hidden := false
	for i := range s {
		hidden = hidden || hiddenAt(s, i) > 0
	}
	for form, mask := range map[Form]func(string) (string, int){FormText: r.Text, FormJSON: r.Body, FormURL: r.URL} {
		out, found := r.Explain(s, form)
		if want, n := mask(s); out != want || (n > 0) != (len(found) > 0) {
			t.Errorf("%s %q: explained as %q with %d findings, masked %q (%d)", form, s, out, len(found), want, n)
		}
		var rebuilt strings.Builder
		at := 0
		for _, f := range found {
			if f.From < at || f.To <= f.From || f.To > len(s) || f.Name == "" {
				t.Fatalf("%s %q: %+v", form, s, found)
			}
			rebuilt.WriteString(s[at:f.From] + r.mask)
			at = f.To
			if strings.Contains(s[f.From:f.To], "%") {
				return // something encoded is told of as a whole
			}
		}
		if rebuilt.WriteString(s[at:]); rebuilt.String() != out && !hidden { // what is hidden is left out
			t.Errorf("%s %q: the findings make %q, want %q", form, s, rebuilt.String(), out)
		}
	}
}

func TestGuess(t *testing.T) {
	r := Default()
	for in, want := range map[string]Form{
		"login with password: x": FormText, "password: x": FormText, "": FormText, "a: b\nno header": FormText, "Error: no": FormText,
		`{"a":1}`: FormJSON, ` [{"a":1}]`: FormJSON, "a=1&b=2": FormJSON, "token=abc": FormJSON,
		"https://h/x?a=b": FormURL, "postgres://u:p@h/db": FormURL,
		"Cookie: a=b": FormHeaders, "X-Note: a": FormHeaders, "a: b\nc: d": FormHeaders, "GET / HTTP/1.1\nHost: h": FormHeaders, "HTTP/1.1 200 OK\nA: b": FormHeaders,
		"GET / HTTP/1.1": FormText,
	} {
		if got := r.Guess(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
