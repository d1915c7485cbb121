// Package unnamed is about paths that a checkout lacks: the system or the filesystem of its directory refuses their names, or what is in
// them could not be read.
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
	mu      sync.Mutex
	lacking map[string]tree.Problem
}

// Add adds a path.
func (p *Paths) Add(path, why string) { p.add(tree.Problem{Path: path, Reason: why}) }

// AddUnread adds a path of which a snapshot has no more than an entry: see [tree.Entry.Unrecorded].
func (p *Paths) AddUnread(path string, e *tree.Entry) { p.add(unread(path, e)) }

func (p *Paths) add(problem tree.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lacking == nil {
		p.lacking = map[string]tree.Problem{}
	}
	p.lacking[problem.Path] = problem
}

func unread(path string, e *tree.Entry) tree.Problem {
	return tree.Problem{Path: path, Reason: "it could not be read when the snapshot was taken: " + e.Unread, Unread: true}
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
	_, is := p.lacking[path]
	return is
}

// List returns the paths in their order.
func (p *Paths) List() (all []tree.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(p.lacking)) {
		all = append(all, p.lacking[path])
	}
	return all
}

// In returns the paths of a tree that a directory lacks, and whether that is because of their names, or because they could not be read. Of
// a directory that may have changed since it was made, only the system's own rules prove the former.
func In(dir string, t *tree.Tree, unchanged bool) (lacking []tree.Problem, named bool) {
	within := ""
	for path, n := range t.All() {
		if within != "" && strings.HasPrefix(path, within+"/") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path))); err == nil {
			continue
		}
		at, why := Here(path)
		if at == "" && n.Unrecorded() {
			within = path
			lacking = append(lacking, unread(path, &n.Entry))
			continue
		}
		if at == "" && !unchanged {
			return nil, false
		}
		within = path
		lacking = append(lacking, tree.Problem{Path: path, Reason: cmp.Or(why, Err.Error())})
	}
	return lacking, true
}

// Whole removes a checkout that lacks paths because of their names, and returns an error with the first of them.
func Whole(dir string, lacking []tree.Problem, err error) error {
	i := slices.IndexFunc(lacking, func(one tree.Problem) bool { return !one.Unread })
	if err != nil || i < 0 {
		return err
	}
	err = fmt.Errorf("cannot write %q: %s. Exclude it from snapshots, and rename it where it was made", lacking[i].Path, lacking[i].Reason)
	return errors.Join(err, removal.All(dir))
}
