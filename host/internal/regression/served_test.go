package regression_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestWhetherAFileMayBeOfAnotherWorkspace: two workspaces are allowed, and a page names a file or none.
func TestWhetherAFileMayBeOfAnotherWorkspace(t *testing.T) {
	const origin = "http://localhost:5173"
	toml := `origins = ["` + origin + `"]`
	for name, c := range map[string]struct {
		files  map[string]string // by their path beside both workspaces, which are shop and other
		denied bool
		names  string // what the page names, "" for nothing
		want   bool
	}{
		"a copy":                                           {map[string]string{"other/src/List.tsx": ""}, false, "src/List.tsx", true},
		"a copy in a directory below":                      {map[string]string{"other/packages/web/src/List.tsx": ""}, false, "src/List.tsx", true},
		"no copy":                                          {map[string]string{"other/src/Item.tsx": "", "other/node_modules/a/src/List.tsx": ""}, false, "src/List.tsx", false},
		"a copy that is not allowed":                       {map[string]string{"other/src/List.tsx": ""}, true, "src/List.tsx", false},
		"the page is of the changed one":                   {map[string]string{"other/src/List.tsx": "", "shop/.tidemark.toml": toml}, false, "src/List.tsx", false},
		"the page is of the other one":                     {map[string]string{"other/src/List.tsx": "", "other/.tidemark.toml": toml}, false, "src/List.tsx", true},
		"the page is of the other one, no copy":            {map[string]string{"other/.tidemark.toml": toml}, false, "src/List.tsx", true},
		"nothing is named":                                 {nil, false, "", true},
		"nothing is named, the other is not allowed":       {nil, true, "", false},
		"nothing is named, the page is of the changed one": {map[string]string{"shop/.tidemark.toml": toml}, false, "", false},
		"nothing is named, the page is of the other one":   {map[string]string{"other/.tidemark.toml": toml}, false, "", true},
		"a file of both":                                   {map[string]string{"shop/src/a.js": "", "other/src/a.js": ""}, false, "src/a.js", true},
		"a file of the changed one":                        {map[string]string{"shop/src/a.js": ""}, false, "src/a.js", false},
		"a file of the other one":                          {map[string]string{"other/src/a.js": ""}, false, "src/a.js", true},
		"a file of neither":                                {nil, false, "cart", true},
		"the page is of both": {
			map[string]string{"other/src/List.tsx": "", "other/.tidemark.toml": toml, "shop/.tidemark.toml": toml}, false, "src/List.tsx", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, time.Now)
			top := filepath.Dir(w.dir)
			other := filepath.Join(top, "other")
			for path, text := range c.files {
				path = filepath.Join(top, filepath.FromSlash(path))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(other, 0o700); err != nil {
				t.Fatal(err)
			}
			if !c.denied {
				if _, err := w.grants.Allow(t.Context(), other, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			e := &event.FileChange{Head: event.Head{Subject: event.InWorkspace(w.dir)}, Path: "src/List.tsx"}
			files := slices.DeleteFunc([]string{c.names}, func(name string) bool { return name == "" })
			if got := regression.ElsewhereIn(w.Timeline)(e, origin, files); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	t.Run("a workspace within the other", func(t *testing.T) {
		w := start(t, time.Now)
		inner := filepath.Join(w.dir, "web")
		if err := os.MkdirAll(filepath.Join(inner, "src"), 0o700); err != nil {
			t.Fatal(err)
		}
		w.write(t, "web/src/List.tsx", "")
		w.write(t, "web/src/Item.tsx", "")
		if _, err := w.grants.Allow(t.Context(), inner, nil, nil); err != nil {
			t.Fatal(err)
		}
		for root, path := range map[string]string{w.dir: "web/src/List.tsx", inner: "src/List.tsx"} {
			e := &event.FileChange{Head: event.Head{Subject: event.InWorkspace(root)}, Path: path}
			for _, files := range [][]string{{"src/List.tsx"}, {"src/Item.tsx"}, nil} {
				if regression.ElsewhereIn(w.Timeline)(e, origin, files) {
					t.Errorf("%s is the same file, and the page names %v", path, files)
				}
			}
		}
	})
}

// TestAPageOfAnotherProjectBreaksNoMoment: only one of two projects names its pages.
func TestAPageOfAnotherProjectBreaksNoMoment(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	start, _ := a.moment(t, "start")
	a.looked = a.page.Now
	began := a.page.Now
	broke := a.edit("cart.js", "1", "boom")
	severity := func() report.Severity {
		t.Helper()
		return a.Course(t.Context(), user, a.dir, []time.Time{began}, []time.Time{{}})[0].Severity
	}
	allowed := func(dir, origin string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".tidemark.toml"), []byte(`origins = ["`+origin+`"]`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := a.grants.Allow(t.Context(), dir, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	allowed(filepath.Join(filepath.Dir(a.dir), "third"), "http://localhost:9")
	allowed(filepath.Join(a.dir, "web"), enginetest.Page)
	if got := severity(); got != report.Error {
		t.Errorf("the page is of no other project, or of one within: %s", got)
	}
	a.says(start, "", "found "+broke)
	other := filepath.Join(filepath.Dir(a.dir), "other")
	allowed(other, enginetest.Page)
	if got := severity(); got == report.Error {
		t.Errorf("the page is of another project: %s", got)
	}
	if got := a.find(start, ""); strings.HasPrefix(got, "found") {
		t.Error(got)
	}
	if got := a.Report(t.Context(), user, a.dir, began); got.Severity == report.Error {
		t.Errorf("a report: %s", got.Severity)
	}
	if _, err := a.grants.Deny(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if got := severity(); got != report.Error {
		t.Errorf("the other project is not allowed: %s", got)
	}
	a.says(start, "", "found "+broke)
}
