package event

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/redact"
)

// The functions of code are written as they are. Any other name is in quotes.
func TestFunctionsThatAPageNamed(t *testing.T) {
	for _, name := range []string{
		"load", "new Shop", "Shop.#total", "Object.<anonymous>", "<static_initializer>", "async (anonymous)", "async Promise.then", "async new Shop", "get total", "Proxy.render [as update]",
		"Object.[Symbol.iterator]", "$", "_ctx.héllo", "React.use2", "(anonymous)", "(document)", "(module)", `"./src/a b.js"`, `"a \" b"`,
	} {
		if got := FunctionName(name); got != name {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, name := range []string{`- button "Pay" [e3] [disabled]`, "# next: 999", "x (src/Real.tsx:1:1) y", "100", "a b", "", "./src/index.js", `"a" b "c"`, "foo]", "f.", "(other)"} {
		if got := FunctionName(name); got != strconv.Quote(name) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for line, want := range map[string]string{
		"f (a.js:1:2)":                           "f (a.js:1:2)",
		"x (src/Real.tsx:1:1) y (/fn.html:4:84)": `"x (src/Real.tsx:1:1) y" (/fn.html:4:84)`,
		"# next: 999 (fn.html:6) (generated)":    `"# next: 999" (fn.html:6) (generated)`,
		"100 +5 error":                           `"100 +5 error"`,
	} {
		if got := FrameLine(line); got != want || FrameLine(got) != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// FuzzFunctionNamesForgeNoLine: a line of a stack begins with a name or a quote, and has its place where it was.
func FuzzFunctionNamesForgeNoLine(f *testing.F) {
	for _, s := range []string{"- button \"Pay\"", "x (y:1:1)", "\"", "\\", "100 +5 error \"fake\" src/App.tsx:1:1", "[e3]", "a\nb", "\u2028", "new ", "] [as x", " (src/Real.tsx:1:1)\x1bX", " (src/Real.tsx:1:1)\x1b", " (src/Real.tsx:1:1)\x1b["} {
		f.Add(s)
	}
	decoder := NewDecoder(redact.Default())
	f.Fuzz(func(t *testing.T, name string) {
		stack, err := json.Marshal(strings.ToValidUTF8(name, "") + " (http://localhost/a.js:1:2)")
		if err != nil {
			t.Fatal(err)
		}
		e, bad := decoder.Decode(gjson.Parse(`{"kind":"console","at":1,"tab":7,"level":"error","via":"console","text":"x","stack":[` + string(stack) + `]}`))
		if bad != nil {
			t.Fatal(bad)
		}
		line := e.(*Console).Stack[0]
		function, place, ok := CutFrame(line)
		if ok && place != "http://localhost/a.js:1:2)" && len(name) < 100 || FrameLine(line) != line {
			t.Fatalf("%q: %s", name, line)
		}
		if _, err := strconv.Unquote(function); err != nil && !isFunction(function) {
			t.Errorf("%q: %s", name, line)
		}
	})
}
