package winname_test

import (
	"runtime"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/winname"
)

func TestNamesThatWindowsGivesToNoFile(t *testing.T) {
	for name, want := range map[string]string{
		"CON": "CON is a device", "con": "device", "Nul": "device", "aux.txt": "AUX is a device", "prn.tar.gz": "device", "COM1": "device", "com9.log": "device", "LPT0": "device",
		"COM¹": "device", "lpt³.x": "device", "CONIN$": "device", "conout$.txt": "device", "nul .txt": "device", "con.": "dot or a blank",
		"a.": "dot or a blank", "a ": "dot or a blank", "a. .": "dot or a blank", "...": "dot or a blank", " ": "dot or a blank", "a:b": "part of another file", "a::$DATA": "part of another file", "C:": "part of another file",
		"a<b": `has '<' in it`, "a>b": "in it", `a"b`: "in it", "a|b": "in it", "a?": "in it", "*": "in it", `a\b`: "in it", "a/b": "in it", "a\x00b": "in it", "line\nbreak": "in it", "\x1f": "in it",
	} {
		if why := winname.Problem(name); !strings.Contains(why, want) {
			t.Errorf("%q: %q", name, why)
		}
	}
	for _, name := range []string{"a", "a.txt", ".", "..", ".hidden", "console", "CON1", "com", "COM10", "com1x.txt", "LPT", "null", "auxiliary", "a b", " a", "x.con", "-rf", "ü日本", "COM⁴", "s\xed\xa0\x80", "[1]"} {
		if why := winname.Problem(name); why != "" {
			t.Errorf("%q: %s", name, why)
		}
	}
}

func TestTheFirstPartWithAProblemIsNamed(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "a/b/c": "", "a/nul": "a/nul", "aux/b/con": "aux", "a/b./c": "a/b.", "a/b:c": "a/b:c", "nul": "nul", "a/x": "",
	} {
		if at, why := winname.InPath(path); at != want || (why == "") != (want == "") {
			t.Errorf("%q: %q, %q", path, at, why)
		}
	}
	if at, _ := winname.Here("a/nul"); (at != "") != (runtime.GOOS == "windows") {
		t.Errorf("here: %q", at)
	}
}
