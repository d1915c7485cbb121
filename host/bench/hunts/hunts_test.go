package hunts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/testing/npm"
)

func TestTwoBugsOfEachKind(t *testing.T) {
	kinds, apps, names := map[string]int{}, map[string]bool{}, map[string]bool{}
	for i := range Bugs {
		b := &Bugs[i]
		kinds[b.Kind]++
		apps[b.App] = true
		if names[b.Name()] {
			t.Errorf("two bugs are called %s", b.Name())
		}
		names[b.Name()] = true
	}
	if len(kinds) != 12 || len(apps) != len(Apps) {
		t.Errorf("there are bugs of %d kinds in %d applications", len(kinds), len(apps))
	}
	for kind, n := range kinds {
		if n != 2 {
			t.Errorf("there are %d bugs of the kind %s", n, kind)
		}
	}
}

// TestPatchesAndPlacesFit does not know the files that others made.
func TestPatchesAndPlacesFit(t *testing.T) {
	for i := range Bugs {
		b := &Bugs[i]
		t.Run(b.Name(), func(t *testing.T) {
			dir := t.TempDir()
			if err := npm.Overlay(dir, filepath.Join("..", "apps", b.App)); err != nil {
				t.Fatal(err)
			}
			read := func() []string {
				var texts []string
				for _, p := range b.Patches {
					data, err := os.ReadFile(filepath.Join(dir, p.File))
					if errors.Is(err, fs.ErrNotExist) && scaffolds[b.App] != nil {
						t.Skipf("%s is made by others", p.File)
					}
					if err != nil {
						t.Fatal(err)
					}
					texts = append(texts, string(data))
				}
				return texts
			}
			before := read()
			restore, err := b.apply(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.places(dir); err != nil {
				t.Error(err)
			}
			if err := restore(); err != nil {
				t.Fatal(err)
			}
			for i, text := range read() {
				if text != before[i] {
					t.Errorf("%s is not as it was", b.Patches[i].File)
				}
			}
		})
	}
}

func TestNamed(t *testing.T) {
	lines := []line{{"src/pages/Feed.tsx", 42}, {"src/routes/+page.svelte", 7}}
	for text, want := range map[string]bool{
		"TypeError: x (Feed.tsx:42)":                                     true,
		"at Feed (http://127.0.0.1:4173/src/pages/Feed.tsx:44:7)":        true,
		"at Feed (http://127.0.0.1:4173/src/pages/Feed.tsx?t=1795:40:7)": true,
		`{"source":"pages/Feed.tsx:41","count":1}`:                       true,
		"near src/routes/+page.svelte:9:3":                               true,
		"TypeError: x (Feed.tsx:45)":                                     false,
		"TypeError: x (MyFeed.tsx:42)":                                   false,
		"TypeError: x (src/machines/Feed.tsx:42)":                        false,
		"Feed.tsx, and elsewhere 42":                                     false,
		"http://127.0.0.1:4173/src/routes/about/+page.svelte:7":          false,
		"http://127.0.0.1:4173/src/pages/Feed.tsx?v=42&import (no line)": false,
		"[Feed.tsx:420]": false,
		"http://127.0.0.1:4173/@fs/home/ada/app/src/pages/Feed.tsx:42:1": true,
		"./src/pages/Feed.tsx:42": true,
	} {
		if got := named(text, lines); got != want {
			t.Errorf("named(%q) is %v", text, got)
		}
	}
}
