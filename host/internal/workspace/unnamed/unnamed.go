// Package unnamed is about paths that a checkout lacks, because the system or the filesystem of its directory refuses their names.
package unnamed

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tidemark.dev/tidemark/host/internal/winname"
	"tidemark.dev/tidemark/host/internal/workspace/removal"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Here is [winname.Here]. Tests replace it.
var Here = winname.Here

// Err means that a path was not created because of its name.
var Err = errors.New("the filesystem here has no such names")

// Of makes [Err] of the error of a creation that failed because of the name.
func Of(err error) error {
	if Refused(err) {
		return fmt.Errorf("%w: %w", Err, err)
	}
	return err
}

// Paths are those that a checkout lacks, with the reasons. It is safe for concurrent use.
type Paths struct {
	mu  sync.Mutex
	why map[string]string
}

// Add adds a path.
func (p *Paths) Add(path, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		p.why = map[string]string{}
	}
	p.why[path] = why
}

// Unless adds a path if an error is [Err]. It returns any other error.
func (p *Paths) Unless(path string, err error) error {
	if !errors.Is(err, Err) {
		return err
	}
	p.Add(path, Err.Error())
	return nil
}

// Has reports whether a path is lacking.
func (p *Paths) Has(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why[path] != ""
}

// List returns the paths in their order.
func (p *Paths) List() (all []tree.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(p.why)) {
		all = append(all, tree.Problem{Path: path, Reason: p.why[path]})
	}
	return all
}

// In returns the paths of a tree that a directory lacks, and whether that is because of their names. Of a directory that may have
// changed since it was made, only the system's own rules prove that.
func In(dir string, t *tree.Tree, unchanged bool) (lacking []tree.Problem, named bool) {
	within := ""
	for path := range t.All() {
		if within != "" && strings.HasPrefix(path, within+"/") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path))); err == nil {
			continue
		}
		at, why := Here(path)
		if at == "" && !unchanged {
			return nil, false
		}
		within = path
		lacking = append(lacking, tree.Problem{Path: path, Reason: cmp.Or(why, Err.Error())})
	}
	return lacking, true
}

// Whole removes a checkout that lacks paths, and returns an error with the first of them.
func Whole(dir string, lacking []tree.Problem, err error) error {
	if err != nil || len(lacking) == 0 {
		return err
	}
	err = fmt.Errorf("cannot write %q: %s. Exclude it from snapshots, and rename it where it was made", lacking[0].Path, lacking[0].Reason)
	return errors.Join(err, removal.All(dir))
}
