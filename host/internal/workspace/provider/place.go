package provider

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/workspace/extents"
)

// Placement is where the views and branches of a workspace go.
type Placement struct {
	// Dir is the directory. It may not exist yet: [Placement.Create] creates it.
	Dir string
	// Beside is true for a directory beside the workspace instead of one in the home.
	Beside bool
	// Shares is true where unchanged files take no room in it, because they share the workspace's extents.
	Shares bool
	// Why explains the choice in one sentence.
	Why string
	// Missing is the directory beside the workspace that would be used if its user had the right to create it, "" for none.
	Missing string
}

// besidePrefix names the directory beside a workspace. The workspace's name follows, and a hash that differs between homes.
const besidePrefix = ".tidemark-views-"

// besideOf returns the directory beside a workspace for what is in a store. Each home has a directory of its own there: its
// daemon removes what it does not know.
func besideOf(workspace, store string) string {
	sum := sha256.Sum256([]byte(resolved(store)))
	return filepath.Join(filepath.Dir(workspace), fmt.Sprintf("%s%s-%x", besidePrefix, filepath.Base(workspace), sum[:4]))
}

// resolved returns a path without links, as far as it exists.
func resolved(path string) string {
	if at, err := real(path); err == nil {
		return at
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolved(parent), filepath.Base(path))
}

// Place chooses where views and branches of a workspace with a store go: usual, a directory of the home, which need not exist, as the
// store need not. Where usual is on another filesystem than the workspace, and the workspace's filesystem shares extents, it is a directory beside the
// workspace, if that can be written and is in no repository.
//
// It writes and removes a file in both places to try what they share.
func Place(workspace, store, usual string) (Placement, error) {
	workspace, err := real(workspace)
	if err != nil {
		return Placement{}, err
	}
	p := Placement{Dir: usual}
	near, err := nearest(usual)
	if err != nil {
		return p, err
	}
	if rel, err := filepath.Rel(workspace, near); err == nil && filepath.IsLocal(rel) {
		return p, fmt.Errorf("views and branches of %s cannot go into %s, which is inside of it. Set TIDEMARK_HOME to a directory elsewhere.", workspace, usual)
	}
	err = extents.Shares(workspace, near)
	switch {
	case err == nil:
		p.Shares, p.Why = true, "unchanged files share the room of the workspace's files"
		return p, nil
	case errors.Is(err, extents.ErrUnsupported):
		p.Why = "files are copied: " + err.Error()
		return p, nil
	case !errors.Is(err, extents.ErrElsewhere):
		p.Why = "files are copied: it is not known whether the filesystem shares extents: " + err.Error()
		return p, nil
	}
	parent := filepath.Dir(workspace)
	beside := besideOf(workspace, store)
	if why, forbidden := unfit(workspace, parent, beside); why != "" {
		p.Why = fmt.Sprintf("files are copied: %s is on another filesystem than the workspace, and %s", near, why)
		if forbidden {
			p.Missing = beside
		}
		return p, nil
	}
	return Placement{
		Dir: beside, Beside: true, Shares: true,
		Why: fmt.Sprintf("unchanged files share the room of the workspace's files there, and not in %s, which is on another filesystem", near),
	}, nil
}

// Beside returns the directory beside a workspace, which may no longer exist, in which the views and branches of a store may be; ""
// if there is none that only its user can write to.
func Beside(workspace, store string) string {
	dir := besideOf(workspace, store)
	if private(dir) != nil {
		return ""
	}
	return dir
}

// unfit returns why the directory that a workspace is in takes no views, "" if it does. Forbidden is true where the user may not
// create the directory beside the workspace, which is the only reason.
func unfit(workspace, parent, beside string) (why string, forbidden bool) {
	if parent == workspace {
		return "nothing is beside the workspace", false
	}
	for dir := parent; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return fmt.Sprintf("%s is in the repository %s", parent, dir), false
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	to, err := beside, private(beside)
	if errors.Is(err, fs.ErrNotExist) {
		to, err = parent, nil
	}
	if err != nil {
		return err.Error(), false
	}
	err = extents.Shares(workspace, to)
	if errors.Is(err, fs.ErrPermission) {
		return "you may not create a directory in " + to, true
	}
	if err != nil {
		return fmt.Sprintf("%s cannot take them: %v", to, err), false
	}
	return "", false
}

// Create creates the directory, for its user alone. An existing one that others could have made is an error.
func (p Placement) Create() error {
	if err := os.MkdirAll(filepath.Dir(p.Dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(p.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return private(p.Dir)
}

// private returns why a directory is not one of its user alone.
func private(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s exists and is not a directory. Move it away.", dir)
	case !owned(info):
		return fmt.Errorf("%s belongs to another user, or others can write in it. Move it away.", dir)
	}
	return nil
}

// real returns a path without links.
func real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// nearest returns the directory at or above a path that exists, without links.
func nearest(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for {
		at, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return at, err
		}
		path = filepath.Dir(path)
	}
}
