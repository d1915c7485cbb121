package regression

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/timeline"
)

const (
	// maxBelow is how many directories below that of a workspace may have the code of its page, as in packages/web.
	maxBelow = 2
	// maxSearched bounds the directories that are looked into for one file.
	maxSearched = 2000
)

// ElsewhereIn returns what reports whether a page may be that of another workspace than a change's: of one that the user allows.
// The projects' files do not say whose page it is, and neither do the files that the page names, by how their paths end: none is
// only in the change's workspace. Of two workspaces, one in the other, a page is of both, unless they have two files of a name.
func ElsewhereIn(t *timeline.Timeline) func(e *event.FileChange, origin string, files []string) bool {
	return func(e *event.FileChange, origin string, files []string) bool {
		own, path := slices.Contains(pagesOf(t, e.Place), origin), filepath.Join(e.Place, filepath.FromSlash(e.Path))
		changed := func(tail string) bool { return strings.HasSuffix("/"+e.Path, "/"+tail) }
		return slices.ContainsFunc(timeline.Others(t, e.Place), func(dir string) bool {
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return false
			}
			if other := slices.Contains(pagesOf(t, dir), origin); own != other {
				return other
			}
			if event.Within(dir, e.Place) && !slices.ContainsFunc(files, changed) {
				return false
			}
			return !slices.ContainsFunc(files, func(tail string) bool {
				return (changed(tail) || holds(e.Place, tail, "", false)) && !holds(dir, tail, path, true)
			})
		})
	}
}

// holds reports whether a workspace has a file, other than that at a path, whose path ends as a name does. Where there is too much
// to search, the answer is unsure.
func holds(dir, tail, but string, unsure bool) bool {
	left := maxSearched
	var in func(dir string, below int) bool
	in = func(dir string, below int) bool {
		if left--; left < 0 {
			return unsure
		}
		path := filepath.Join(dir, filepath.FromSlash(tail))
		if info, err := os.Stat(path); path != but && err == nil && info.Mode().IsRegular() {
			return true
		}
		if below == 0 {
			return false
		}
		entries, _ := os.ReadDir(dir) // what cannot be read serves no page
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return e.IsDir() && e.Name() != "node_modules" && !strings.HasPrefix(e.Name(), ".") && in(filepath.Join(dir, e.Name()), below-1)
		})
	}
	return filepath.IsLocal(filepath.FromSlash(tail)) && in(dir, maxBelow)
}
