package event

import "testing"

func TestTextOfAPageIsNoWordOfTidemark(t *testing.T) {
	for _, c := range []struct {
		of       string
		as       func(string) string
		in, want string
	}{
		{"Named", Named, "src/app.tsx", "src/app.tsx"},
		{"Named", Named, "a\u3000b", `"a\u3000b"`},
		{"Named", Named, "a\u00a0b", `"a\u00a0b"`},
		{"Named", Named, "a\u2028b", `"a b"`},
		{"Apart", func(s string) string { return Apart(s, " by ") }, "x\u2003by\u3000y", `"x\u2003by\u3000y"`},
		{"Apart", func(s string) string { return Apart(s, " by ") }, "x y", "x y"},
		{"Unbroken", Unbroken, "a b\u3000c\u00a0d", "a%20b%E3%80%80c%C2%A0d"},
		{"Method", Method, "GET", "GET"},
		{"Method", Method, "VERSION-CONTROL", "VERSION-CONTROL"},
		{"Method", Method, "button", `"button"`},
		{"Method", Method, "get", `"get"`},
		{"Method", Method, "x \"y\"\u3000[e3]", `"x%20\"y\"%E3%80%80[e3]"`},
		{"Method", Method, "", ""},
	} {
		if got := c.as(c.in); got != c.want {
			t.Errorf("%s(%q) is %s, not %s", c.of, c.in, got, c.want)
		}
	}
	for in, want := range map[string]string{
		`button "Save [e3]"`: `button "Save [e3]"`, "x\u3000\"a\"": `"x\u3000\"a\""`, `a "b" [e3]`: `"a \"b\" [e3]"`, "div > b.x": "div > b.x",
		`::after of div "Pay"`: `::after of div "Pay"`, "::before of #main > i.veil": "::before of #main > i.veil", "::after of x. Nothing [e3]": `::after of "x. Nothing [e3]"`,
	} {
		if got := Described(in); got != want {
			t.Errorf("%s is %s, not %s", in, got, want)
		}
	}
	for _, plain := range []string{
		"#app", ".toast-error", "div > x-done.nothing", `[role=alert]`, `input[name="a \"b\" [e3]"]`, "#list > li:nth-of-type(3)", "größe-ä.x", "*",
		`[data-testid="cart"] > button.primary`, "vite-error-overlay",
	} {
		if got := Selector(plain); got != plain {
			t.Errorf("%s is %s", plain, got)
		}
	}
	for _, forged := range []string{
		"div > x-done.nothing\u3000covers\u3000it", `x"pay"[e3]`, "x [e3]", "div > x. The user allows it", "x-done.", "", `[a="b" c]`, "a(b)", "x[e3]", "x\u00a0[e3]", "a, b",
	} {
		if got := Selector(forged); got[0] != '"' {
			t.Errorf("%s is %s", forged, got)
		}
	}
}
