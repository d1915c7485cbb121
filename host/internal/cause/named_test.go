package cause_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
)

// TestAnErrorThatNamesAnotherFile: what a build says it failed on is no change of a file that it does not name.
func TestAnErrorThatNamesAnotherFile(t *testing.T) {
	renamed := edit("components/List.js", 5000)
	renamed.Change, renamed.From, renamed.Edited = event.FileRenamed, "components/Items.js", 0
	removed := edit("components/Items/index.js", 5000)
	removed.Change, removed.Edited = event.FileRemoved, 0
	other := edit("old/Items.js", 5000)
	other.Change, other.Edited = event.FileRemoved, 0
	missing := "./app/page.js:1:1 Module not found: Can't resolve '../components/Items' > 1 | import Items from '../components/Items';"
	update := []cause.Module{{At: 5050, File: "[project]/components/Counter.js"}}
	for name, c := range map[string]struct {
		edits   []cause.Edit
		text    string
		named   []cause.Frame
		modules []cause.Module
		want    string
	}{
		"an edit that its snapshot does not show": {
			[]cause.Edit{edit("app/page.js", 5000, at(3))},
			"./components/Counter.js:7:9 Error: Expected ident",
			frames("./components/Counter.js", 7), nil, cause.NoEvidence,
		},
		"the file that it names": {
			[]cause.Edit{edit("components/Counter.js", 5000, at(7))},
			"./components/Counter.js:7:9 Error: Expected ident",
			frames("./components/Counter.js", 7), nil, "components/Counter.js",
		},
		"an export that is gone": {
			[]cause.Edit{edit("components/Items.js", 5000, at(7))},
			"./app/page.js:1:1 Export Items doesn't exist in target module [project]/components/Items.js",
			frames("./app/page.js", 1), nil, "components/Items.js",
		},
		"a setting": {
			[]cause.Edit{edit("package.json", 5000, at(7))},
			"./app/page.js:1:1 Module not found: Can't resolve 'left-pad'",
			frames("./app/page.js", 1), nil, "package.json",
		},
		"a package": {
			[]cause.Edit{edit("app/page.js", 5000, at(3))},
			"./node_modules/left-pad/index.js:1:1 Error: Expected ident",
			frames("./node_modules/left-pad/index.js", 1), nil, "app/page.js",
		},
		"a hot update just before a rename that no change shows": {
			[]cause.Edit{edit("components/Counter.js", 5000, at(9))}, missing, frames("./app/page.js", 1), update, cause.NoEvidence,
		},
		"a rename after a hot update": {
			[]cause.Edit{edit("components/Counter.js", 5000, at(9)), renamed}, missing, frames("./app/page.js", 1), update, "components/List.js",
		},
		"a directory that is gone": {
			[]cause.Edit{edit("components/Counter.js", 5000, at(9)), removed}, missing, frames("./app/page.js", 1), update, "components/Items/index.js",
		},
		"another file of that name": {
			[]cause.Edit{edit("components/Counter.js", 5000, at(9)), other}, missing, frames("./app/page.js", 1), update, cause.NoEvidence,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := cause.Finder{Edits: c.edits}
			found, got := f.Find(cause.Symptom{At: 5100, Text: c.text, Named: c.named}, &cause.History{Updates: []int64{1000, 5060}, Loads: []int64{1000}, Modules: c.modules})
			if found != nil {
				got = found.Path
			}
			if got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}
