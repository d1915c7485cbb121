package safefile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/installer/safefile"
)

func TestReadsUpToItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, err := safefile.Read(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for size, ok := range map[int]bool{0: true, 1: true, 10: true, 11: false, 5000: false} {
		content := bytes.Repeat([]byte("x"), size)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := safefile.Read(path, 10)
		if ok != (err == nil) || ok && !bytes.Equal(data, content) {
			t.Errorf("%d bytes: %q, %v", size, data, err)
		}
	}
}

// symlink makes a symbolic link. Wine 8 returns no error and makes none.
func symlink(target, path string) error {
	if err := os.Symlink(target, path); err != nil {
		return err
	}
	_, err := os.Lstat(path)
	return err
}

func TestFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := symlink("file", link); err != nil {
		t.Skip(err)
	}
	if data, err := safefile.Read(link, 10); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
}

// Depth is counted as a parser sees it, whatever stands in strings and comments.
func TestCheckJSONCountsLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(0, 2000).Draw(t, "depth")
		filler := rapid.SampledFrom([]string{`"["`, `"\"["`, "// [\n", "/* {[ */", `"\\"`, "1"}).Draw(t, "filler")
		text := strings.Repeat("["+filler+",", depth) + "0" + strings.Repeat("]", depth)
		if err := safefile.CheckJSON([]byte(text)); (err != nil) != (depth > 1000) {
			t.Fatalf("%d levels: %v", depth, err)
		}
	})
}

func TestCheckTOMLCountsWhatIsDefined(t *testing.T) {
	for text, keys := range map[string]int{
		"a = 1\n":                         1,
		"a.b.c = 1\n":                     3,
		"[a.b]\nc = 'x.y.z'\n":            3,
		"[[rules]]\n  text = 'a = b'\n":   3, // one too many: strings are not told apart
		"a = {b = 1, c = {d = 2}}\n":      4,
		"# a comment. With dots.\n":       0,
		"list = [\n  'a.b.c',\n  'd',\n]": 1,
	} {
		if err := safefile.CheckTOML([]byte(text), keys); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if err := safefile.CheckTOML([]byte(text), keys-1); keys > 0 && err == nil {
			t.Errorf("%q: fewer than %d were counted", text, keys)
		}
	}
}
