package extension

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"regexp"
	"testing"
)

var imported = regexp.MustCompile(`["']\./([\w.-]+\.js)["']`)

// loaded is how many bytes, compressed, a page's script and all that it imports have.
func loaded(t *testing.T, name string, seen map[string]bool) int {
	t.Helper()
	if seen[name] {
		return 0
	}
	seen[name] = true
	code, err := fs.ReadFile(Dist, "dist/assets/"+name)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(code); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	size := packed.Len()
	for _, m := range imported.FindAllSubmatch(code, -1) {
		size += loaded(t, string(m[1]), seen)
	}
	return size
}

func TestThePagesScriptsAreSmall(t *testing.T) {
	if _, err := fs.Stat(Dist, "dist/assets"); err != nil {
		t.Skip("there is no build; make build")
	}
	for page, most := range map[string]int{"panel": 150_000, "sidepanel": 150_000, "popup": 30_000} {
		size := loaded(t, page+".js", map[string]bool{})
		t.Logf("%s: %d bytes compressed", page, size)
		if size > most {
			t.Errorf("the script of the %s has %d bytes compressed; at most %d are wanted", page, size, most)
		}
	}
	if size := loaded(t, "panel.js", map[string]bool{}); size < 20_000 {
		t.Errorf("%d bytes are not all that the panel loads", size)
	}
}
