package restore

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// opened is a workspace, with the directory that was opened last.
type opened struct {
	root *dir
	// dirs are the inodes of the directories in which something is changed.
	dirs map[string]uint64
	// replaced accepts other directories at their paths.
	replaced   bool
	parent     *dir
	parentPath string
}

// in opens the directory of a path. It stays open until another one is needed.
func (o *opened) in(path string) (*dir, error) {
	at := tree.Parent(path)
	if o.parent != nil && o.parentPath == at {
		return o.parent, nil
	}
	o.leave()
	d, err := o.root.sub(at)
	if err != nil {
		return nil, err
	}
	if inode, ok := o.dirs[at]; ok && !o.replaced {
		if st, err := d.stat("."); err != nil || st.Inode != inode {
			d.close()
			return nil, errNotDir // it was replaced
		}
	}
	o.parent, o.parentPath = d, at
	return d, nil
}

func (o *opened) leave() {
	if o.parent != nil {
		o.parent.close()
		o.parent = nil
	}
}

// listed reports whether a directory lists a path's name as it is spelled. Where case is ignored, another spelling of it can
// be there, which the restore may move away.
func (o *opened) listed(path string) (bool, error) {
	d, err := o.in(path)
	if err != nil {
		return false, err
	}
	names, err := d.names()
	return slices.Contains(names, tree.Base(path)), err
}

// otherSpelling returns the name that a directory lists in place of one, where case is ignored: the same but for case. It is ""
// if the directory lists the name itself, or neither.
func (d *dir) otherSpelling(name string) (other string) {
	names, _ := d.names()
	for _, n := range names {
		if n == name {
			return ""
		}
		if strings.EqualFold(n, name) {
			other = n
		}
	}
	return other
}

// base returns the last name of a path, "." for the workspace itself.
func base(path string) string {
	if path == "" {
		return "."
	}
	return tree.Base(path)
}

// stat returns the stamp of a path of the workspace.
func (o *opened) stat(path string) (stamp, error) {
	d, err := o.in(path)
	if err != nil {
		return stamp{}, err
	}
	return d.stat(base(path))
}

// part makes a file with a name outside of the workspace one of its own, so that the other name keeps its attributes.
func (p *Plan) part(root *dir) {
	o := &opened{root: root}
	defer o.leave()
	for i, s := range p.Steps {
		if s.Kind != Attributes || s.Before.Kind != tree.File || s.Before.Hard == 0 {
			continue
		}
		if now, err := o.stat(s.Path); err == nil && now.links > s.names {
			p.Steps[i].Kind = Replace
		}
	}
}
