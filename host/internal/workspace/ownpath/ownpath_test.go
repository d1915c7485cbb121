package ownpath_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
)

func TestAPathIsTheOneThatOthersHave(t *testing.T) {
	binds := []ownpath.Bind{{Dir: "/branches/way", At: "/shop"}, {Dir: "/home/claude/-branches-way", At: "/home/claude/-shop"}, {Dir: "/other", At: "/shop/deep"}}
	for i, b := range binds {
		binds[i] = ownpath.Bind{Dir: filepath.FromSlash(b.Dir), At: filepath.FromSlash(b.At)}
	}
	for inside, outside := range map[string]string{
		"/shop": "/branches/way", "/shop/a.js": "/branches/way/a.js", "/shop-2/a.js": "/shop-2/a.js", "a.js": "a.js", "": "", "/": "/",
		"/home/claude/-shop/x.jsonl": "/home/claude/-branches-way/x.jsonl", "/shop/deep/a": "/other/a",
	} {
		if got := ownpath.Outside(binds, filepath.FromSlash(inside)); filepath.ToSlash(got) != outside {
			t.Errorf("%q is outside %q, want %q", inside, got, outside)
		}
		if got := ownpath.Inside(binds, filepath.FromSlash(outside)); filepath.ToSlash(got) != inside {
			t.Errorf("%q is inside %q, want %q", outside, got, inside)
		}
	}
}

// The environment is inherited by programs that do not see the paths.
func TestOnlyBindsThatHoldCount(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(top, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal([]ownpath.Bind{{Dir: filepath.Join(top, "a"), At: filepath.Join(top, "b")}, {Dir: filepath.Join(top, "a"), At: filepath.Join(top, "missing")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", string(text)} {
		t.Setenv(ownpath.Env, text)
		if got := ownpath.Here(); len(got) != 0 {
			t.Errorf("%s: %v", text, got)
		}
	}
}
