package tracked

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/unnamed"
)

// maxMissing bounds what of the store a text says is missing.
const maxMissing = 5

// Check reads everything that the snapshots need, and returns the damages, one line each.
func (p *Provider) Check() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	damages := p.objects.Check()
	if p.lost > 0 {
		why := "contents of them are in no file of " + filepath.Join(p.options.Store, objectsDir)
		if missing := p.objects.Missing(); len(missing) > 0 {
			why += fmt.Sprintf(", where %s", strings.Join(missing[:min(len(missing), maxMissing)], " and "))
		}
		if damage := (*objects.DamagedError)(nil); errors.As(p.why, &damage) {
			why = damage.Error()
		} else if errors.Is(p.why, errRecord) {
			why = errRecord.Error()
		}
		damages = append(damages, fmt.Sprintf("%d snapshots were lost: %s. A copy of the history with them is in %s", p.lost, why, p.history.file.Name()+cutSuffix))
	}
	damages = append(append(damages, p.history.damages...), p.images.Check()...)
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
			if p.lacks(&n.Entry) {
				missing = append(missing, path)
			}
		}
		if len(missing) > 0 {
			damages = append(damages, fmt.Sprintf("s%d: %d files have no content, such as %s", s.Number, len(missing), strings.Join(missing[:1], "")))
		}
	}
	return damages
}

// examine returns the files whose last recorded content the store lacks. They are to be read again: what a snapshot has is
// whole, whatever happened to the content that an earlier one stored. Broken means that the last tree itself cannot be read
// back. It looks once after opening, and whenever damage was found since.
func examine(p *Provider, damage int) (doubted []string, broken bool, err error) {
	if damage == p.examined {
		return nil, false, nil
	}
	if doubted, err = p.now.Doubt(p.lacks); err != nil || len(p.all) == 0 {
		return doubted, false, err
	}
	if p.examined < 0 {
		return doubted, false, nil // opening has read it
	}
	if _, err = p.treeAt(len(p.all) - 1); errors.Is(err, objects.ErrMissing) {
		return doubted, true, nil
	}
	return doubted, false, err
}

// Stamp identifies a directory with everything in it, as it is now, by inodes and by the times that nobody can put back. Of a
// subvolume or a clone of ZFS it is empty: what can only be read needs none.
func Stamp(ctx context.Context, dir string) ([]byte, error) {
	if subvolume.Is(dir) || dataset.Is(dir) || nilfscp.Is(dir) {
		return nil, nil
	}
	hash := sha256.New()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = stamp(hash, path)
		}
		return err
	})
	return hash.Sum(nil), err
}

// Intact reports whether a directory that [CheckoutNamed] of a provider wrote has the paths of a snapshot with their
// kinds, sizes and times, and the [Stamp] that it had then. Lacking are those that [CheckoutNamed] left out. It reads no contents.
func Intact(ctx context.Context, p *Provider, number uint64, dir string, was []byte) (lacking []tree.Problem, intact bool, err error) {
	now, err := Stamp(ctx, dir)
	if err != nil || !bytes.Equal(now, was) {
		return nil, false, ctx.Err()
	}
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
		return nil, false, err
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
		if d.IsDir() && ours(rel) && nilfscp.Is(dir) { // an empty one, in place of the repository
			return fs.SkipDir
		}
		left--
		if n := t.Lookup(rel); n == nil || rel != "" && n.Unrecorded() || !asWritten(path, d, &n.Entry) {
			same = false
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || !same {
		return nil, false, ctx.Err() // what cannot be listed was changed
	}
	if left > 0 {
		lacking, same = unnamed.In(dir, t, len(now) > 0)
	}
	return lacking, same, nil
}

// asWritten reports whether a path is as a checkout wrote an entry.
func asWritten(path string, d fs.DirEntry, e *tree.Entry) bool {
	switch e.Kind {
	case tree.Dir:
		return d.IsDir()
	case tree.Link:
		target, err := os.Readlink(path)
		return err == nil && (target == e.Target || filepath.ToSlash(target) == e.Target)
	}
	info, err := d.Info()
	return err == nil && info.Mode().IsRegular() && info.Size() == e.Size && info.ModTime().UnixNano()/100 == e.Mtime/100
}
