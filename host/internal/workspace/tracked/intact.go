package tracked

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Intact reports whether a directory that [Provider.Checkout] of a provider wrote has the paths of a snapshot with their kinds, sizes and
// times. It reads no contents.
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
