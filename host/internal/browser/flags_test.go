package browser

import (
	"slices"
	"strings"
	"testing"
)

func TestExtraSwitchesWinAndListsAreJoined(t *testing.T) {
	names, values, err := merge(
		[]string{"--mute-audio", "--disable-features=A,B", "--window-size=1,2"},
		[]string{"--disable-features=C", "--window-size=3,4", "--lang=de"},
	)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"mute-audio", "disable-features", "window-size", "lang"}; !slices.Equal(names, want) {
		t.Errorf("names = %v, want %v", names, want)
	}
	for name, want := range map[string]string{"mute-audio": "", "disable-features": "A,B,C", "window-size": "3,4", "lang": "de"} {
		if values[name] != want {
			t.Errorf("%s = %q, want %q", name, values[name], want)
		}
	}
}

func TestSwitchesThatWouldUndoTheLaunchAreRefused(t *testing.T) {
	for _, arg := range []string{"--remote-debugging-port=9222", "--user-data-dir=/tmp/x", "http://localhost", "-x", "--"} {
		if _, _, err := merge(nil, []string{arg}); err == nil || !strings.Contains(err.Error(), strings.TrimLeft(arg[:min(len(arg), 10)], "-")) {
			t.Errorf("%s: err = %v", arg, err)
		}
	}
}

func TestOutputKeepsTheEndOnly(t *testing.T) {
	var out output
	for range tailSize {
		if _, err := out.Write([]byte("ab")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := out.Write([]byte("\n1\n2\n3\n")); err != nil {
		t.Fatal(err)
	}
	if got := len(out.tail()); got != tailSize {
		t.Errorf("kept %d bytes", got)
	}
	if got := out.quote(); !strings.HasSuffix(got, "\n1\n2\n3") {
		t.Errorf("quote = %q", got)
	}
	if got := new(output).quote(); got != "" {
		t.Errorf("quote of nothing = %q", got)
	}
}
