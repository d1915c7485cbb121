package tracked

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Check reads everything that the snapshots need, and returns the damages, one line each.
func (p *Provider) Check() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	damages := p.objects.Check()
	if p.lost > 0 {
		why := "the machine ended before their contents were on disk"
		if damage := (*objects.DamagedError)(nil); errors.As(p.why, &damage) {
			why = damage.Error()
		}
		damages = append(damages, fmt.Sprintf("%d snapshots were lost: %s. A copy of the history with them is in %s", p.lost, why, p.history.file.Name()+cutSuffix))
	}
	if p.history.cut > 0 {
		damages = append(damages, fmt.Sprintf("%s has an end of %d bytes that was not whole; a copy is in %s", p.history.file.Name(), p.history.cut, p.history.file.Name()+cutSuffix))
	}
	for i, s := range p.all {
		if s.deleted {
			continue
		}
		t, err := p.treeAt(i)
		if err != nil {
			damages = append(damages, err.Error())
			continue
		}
		var missing []string
		for path, n := range t.All() {
			ids, err := p.idsOf(&n.Entry)
			for _, id := range ids {
				if !p.objects.Has(id) {
					err = objects.ErrMissing
				}
			}
			if err != nil {
				missing = append(missing, path)
			}
		}
		if len(missing) > 0 {
			damages = append(damages, fmt.Sprintf("s%d: %d files have no content, such as %s", s.Number, len(missing), strings.Join(missing[:1], "")))
		}
	}
	return damages
}

// Intact reports whether a directory that [Provider.Checkout] of a provider wrote has the paths of a snapshot with their
// kinds, sizes and times. It reads no contents.
func Intact(ctx context.Context, p *Provider, number uint64, dir string) (bool, error) {
	p.mu.Lock()
	i, err := p.get(number)
	var t *tree.Tree
	if err == nil {
		t, err = p.treeAt(i)
	}
	if err == nil {
		p.reading[t] = true // a deletion takes nothing from it
	}
	p.mu.Unlock()
	if err != nil {
		return false, err
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.reading, t)
	}()
	left := 0
	for range t.All() {
		left++
	}
	same := true
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel == "." {
			rel = ""
		}
		left--
		if n := t.Lookup(rel); n == nil || !asWritten(path, d, &n.Entry) {
			same = false
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return false, nil // it cannot be listed, so it was changed
	}
	return same && left == 0, err
}

// asWritten reports whether a path is as a checkout wrote an entry. Content that was not recorded is an empty file then.
func asWritten(path string, d fs.DirEntry, e *tree.Entry) bool {
	switch e.Kind {
	case tree.Dir:
		return d.IsDir()
	case tree.Link:
		target, err := os.Readlink(path)
		return err == nil && (target == e.Target || filepath.ToSlash(target) == e.Target)
	}
	info, err := d.Info()
	return err == nil && info.Mode().IsRegular() && (e.Unread != "" || info.Size() == e.Size) && info.ModTime().UnixNano()/100 == e.Mtime/100
}
