//go:build !windows

package fork

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A conversation may name the original by a link, as where the agent was started in one. A branch that has such paths would change the
// original.
func TestPathsWithLinksBecomeThoseOfTheBranch(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	if err := errors.Join(os.MkdirAll(at("real/src"), 0o700), os.Symlink("real", at("shop")), os.Symlink(at("real/src"), at("sources")), os.Symlink(top, at("all")), os.Symlink("src", at("real/inner")), os.Mkdir(at("other"), 0o700), os.Symlink("other", at("elsewhere"))); err != nil {
		t.Fatal(err)
	}
	p := Place{From: at("real"), To: "/b"}
	for _, in := range []string{"shop/gone.js", "sources/a.js", "all/real/a.js", "real/inner/x", "elsewhere/x", "shop-2/x"} {
		p = p.withLinks([]byte(`{"file_path":"`+at(in)+`"}`), []byte(`["`+at("shop")+`","`+at("sources")+`","`+at("all/real")+`"]`))
	}
	for in, want := range map[string]string{
		"shop/gone.js": "/b/gone.js", "sources/a.js": "/b/src/a.js", "all/real/a.js": "/b/a.js", "real/inner/x": "/b/inner/x",
		"elsewhere/x": at("elsewhere/x"), "shop-2/x": at("shop-2/x"),
	} {
		if got := string(p.renamed([]byte(`"cd ` + at(in) + `"`))); got != `"cd `+want+`"` {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
	if got := p.moved(at("shop/src")); got != "/b/src" {
		t.Errorf("the directory becomes %s", got)
	}
}
