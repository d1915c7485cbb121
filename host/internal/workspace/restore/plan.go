package restore

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/restore/hardlinks"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// compute fills in what the restore would do.
func (p *Plan) compute(held *tracked.Held) error {
	changes, err := p.p.Diff(p.Safety, p.Target)
	if err != nil {
		return err
	}
	if p.skipped, err = p.p.Skip(p.Target); err != nil {
		return err
	}
	p.stay = map[string]bool{}
	why := map[string]string{}
	changes = slices.DeleteFunc(changes, func(c tree.Change) bool {
		at, reason := p.excluded(c)
		if reason == "" {
			return false
		}
		if p.within(c.Path) {
			why[at] = reason
		}
		p.stay[c.Path] = c.Before != nil
		return true
	})
	for path, reason := range why {
		p.Left = append(p.Left, tree.Problem{Path: path, Reason: reason})
	}
	p.nodes, p.anchors = map[string]*tree.Node{}, map[uint64]string{}
	var unknown string
	held.Now(func(now *tree.Tree) {
		unknown = p.unknown(now, changes)
		changes = p.uncertain(now, changes)
		g := hardlinks.Of(now, changes)
		changes = g.Apart(changes)
		p.steps(changes, g)
		p.anchor(now, changes, g)
		for _, s := range p.Steps {
			p.note(now, s.Path)
		}
	})
	if unknown != "" {
		return usererr.New(usererr.NotFound, "there is no %q in s%d, and none in the workspace", unknown, p.Target)
	}
	return p.look()
}

// excluded returns the path, or the directory above it, that is left alone because no snapshot records it now, or none did
// when the target was taken, and why; "" for other changes.
func (p *Plan) excluded(c tree.Change) (path, reason string) {
	if at := tracked.LeftOut(p.p.Options().Skip, c.Path); at != "" {
		return at, excludedNow
	}
	if at := tracked.LeftOut(p.skipped, c.Path); at != "" && c.After == nil {
		return at, fmt.Sprintf("it was excluded from snapshots when s%d was taken", p.Target)
	}
	return "", ""
}

// uncertain takes out what is below a path that one of the two states could not read: what is there, or was, is not known. A
// plan within that path has a problem.
func (p *Plan) uncertain(now *tree.Tree, changes []tree.Change) []tree.Change {
	p.unread = map[string]string{}
	changed := map[string]tree.Change{}
	for _, c := range changes {
		changed[c.Path] = c
	}
	why := map[string]string{} // of each path that was looked at, "" where it was read
	var look func(path string) string
	look = func(path string) string {
		if known, ok := why[path]; ok {
			return known
		}
		c, differs := changed[path]
		if n := now.Lookup(path); !differs && n != nil {
			c = tree.Change{Before: &n.Entry, After: &n.Entry}
		}
		reason := ""
		switch {
		case c.After != nil && c.After.Unread != "":
			reason = notRecorded(p.Target, c.After)
		case c.Before != nil && c.Before.Unread != "":
			reason = notNow(c.Before)
		}
		if reason != "" {
			p.unread[path] = reason
		} else if path != "" {
			reason = look(tree.Parent(path))
		}
		why[path] = reason
		return reason
	}
	problems := map[string]bool{}
	changes = slices.DeleteFunc(changes, func(c tree.Change) bool {
		if c.Path == "" || look(tree.Parent(c.Path)) == "" {
			return false
		}
		p.stay[c.Path] = c.Before != nil
		if p.within(c.Path) {
			at, _ := p.hidden(c.Path)
			problems[at] = true
		}
		return true
	})
	for path := range problems {
		if _, differs := changed[path]; !differs || !p.within(path) { // else its own step is a problem
			p.Problems = append(p.Problems, tree.Problem{Path: path, Reason: p.unread[path]})
		}
	}
	slices.SortFunc(p.Problems, func(a, b tree.Problem) int { return strings.Compare(a.Path, b.Path) })
	return changes
}

// hidden returns the nearest path above one that one of the two states could not read.
func (p *Plan) hidden(path string) (at string, is bool) {
	for path != "" && !is {
		path = tree.Parent(path)
		_, is = p.unread[path]
	}
	return path, is
}

func notRecorded(number uint64, e *tree.Entry) string {
	return fmt.Sprintf("its content was not recorded in s%d: %s", number, e.Unread)
}

func notNow(e *tree.Entry) string {
	return "its present content cannot be recorded, and would be lost: " + e.Unread
}

const excludedNow = "it is excluded from snapshots now"

// note keeps what was recorded of a path and of the directories on the way to it.
func (p *Plan) note(now *tree.Tree, path string) {
	for {
		if _, known := p.nodes[path]; known {
			return
		}
		if n := now.Lookup(path); n != nil {
			p.nodes[path] = n
		}
		if path == "" {
			return
		}
		path = tree.Parent(path)
	}
}

// unknown returns a path of the caller that is in neither state.
func (p *Plan) unknown(now *tree.Tree, changes []tree.Change) string {
	for _, path := range p.paths {
		if now.Lookup(path) == nil && !slices.ContainsFunc(changes, func(c tree.Change) bool { return tree.Within(c.Path, path) }) {
			return path
		}
	}
	return ""
}

// steps makes the steps of the changes within the paths, and of the directories that they need.
func (p *Plan) steps(changes []tree.Change, g hardlinks.Groups) {
	at := map[string]tree.Change{}
	planned := map[string]bool{}
	for _, c := range changes {
		at[c.Path] = c
		if p.within(c.Path) {
			planned[c.Path] = true
		}
	}
	// A path needs its directories, though they are not among the caller's.
	for _, c := range changes {
		if !planned[c.Path] || c.After == nil {
			continue
		}
		for dir := tree.Parent(c.Path); dir != "" && !planned[dir]; dir = tree.Parent(dir) {
			above, changed := at[dir]
			if !changed || above.Before != nil && above.Before.Kind == tree.Dir {
				break
			}
			planned[dir] = true
			if above.Before != nil {
				p.Problems = append(p.Problems, tree.Problem{Path: dir, Reason: "it is not a directory now, and not among the paths to restore"})
			}
		}
	}
	if p.undo {
		p.surround(changes, planned)
	}
	for _, c := range changes {
		if !planned[c.Path] {
			continue
		}
		s := Step{Path: c.Path, Before: c.Before, After: c.After, Kind: p.kind(c, g)}
		if c.Before != nil && c.Before.Hard != 0 {
			s.names = len(g.Before[c.Before.Hard])
		}
		p.Steps = append(p.Steps, s)
		if s.After != nil && s.After.Unread != "" {
			p.Problems = append(p.Problems, tree.Problem{Path: s.Path, Reason: notRecorded(p.Target, s.After)})
		} else if s.Before != nil && s.Before.Unread != "" {
			p.Problems = append(p.Problems, tree.Problem{Path: s.Path, Reason: notNow(s.Before)})
		}
	}
}

// surround plans the times of the directories that planned paths are in, where nothing else in them differs.
func (p *Plan) surround(changes []tree.Change, planned map[string]bool) {
	ours, others := map[string]bool{}, map[string]bool{} // directories in which something differs
	for path := range p.stay {
		others[tree.Parent(path)] = true
	}
	for _, c := range changes {
		switch {
		case c.Path == "":
		case planned[c.Path]:
			ours[tree.Parent(c.Path)] = true
		case !timesAlone(c):
			others[tree.Parent(c.Path)] = true
		}
	}
	for _, c := range changes {
		if ours[c.Path] && !others[c.Path] && !planned[c.Path] && timesAlone(c) {
			planned[c.Path], p.above[c.Path] = true, true
		}
	}
}

// timesAlone reports whether only the times of a directory differ.
func timesAlone(c tree.Change) bool {
	return c.Before != nil && c.After != nil && c.Before.Kind == tree.Dir && c.After.Kind == tree.Dir && sameButTimes(attributesOf(c.Before), attributesOf(c.After))
}

// keepTimes takes out the times of directories in which a path is left as it is.
func (p *Plan) keepTimes() {
	for _, left := range p.Left {
		delete(p.above, tree.Parent(left.Path))
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { return s.Kind == Attributes && !p.within(s.Path) && !p.above[s.Path] })
}

// kind returns what is to be done about a change. A file gets attributes in place only if no name outside of the paths
// gets them too.
func (p *Plan) kind(c tree.Change, g hardlinks.Groups) Kind {
	switch {
	case c.Before == nil:
		return Create
	case c.After == nil:
		return Delete
	case c.Before.Kind == tree.Dir && c.After.Kind == tree.Dir:
		return Attributes
	case c.Before.Kind == tree.File && c.Before.SameContent(c.After) && c.Before.Sparse == c.After.Sparse && sameXattrs(c.Before.Xattrs, c.After.Xattrs) &&
		g.Same(c) && !slices.ContainsFunc(g.Before[c.Before.Hard], func(path string) bool { return !p.within(path) || p.stay[path] }):
		return Attributes
	}
	return Replace
}

// anchor finds the files of which planned files are to be hard links, and which stay as they are.
func (p *Plan) anchor(now *tree.Tree, changes []tree.Change, g hardlinks.Groups) {
	planned := map[string]bool{}
	for _, s := range p.Steps {
		planned[s.Path] = true
	}
	after := map[string]*tree.Entry{}
	for _, c := range changes {
		after[c.Path] = c.After
	}
	for _, s := range p.Steps {
		if s.After == nil || s.After.Hard == 0 || s.Kind == Attributes {
			continue
		}
		if _, known := p.anchors[s.After.Hard]; known {
			continue
		}
		for _, path := range g.After[s.After.Hard] {
			n := now.Lookup(path)
			if planned[path] || n == nil || n.Unread != "" {
				continue
			}
			if to, changed := after[path]; changed && (to == nil || !hardlinks.Alike(&n.Entry, to)) {
				continue
			}
			p.anchors[s.After.Hard] = path
			p.note(now, path)
			break
		}
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { // it is that file already
		if s.Kind != Replace || s.After.Hard == 0 || s.Before.Hard == 0 {
			return false
		}
		anchor, n := now.Lookup(p.anchors[s.After.Hard]), now.Lookup(s.Path)
		return p.anchors[s.After.Hard] != "" && anchor.Inode == n.Inode
	})
}

// look finds in the workspace what no snapshot records and what is in the way: sockets, what the provider skips, other
// filesystems.
func (p *Plan) look() error {
	root, err := openDir(p.p.Options().Workspace)
	if err != nil {
		return err
	}
	defer root.close()
	here, err := root.mount()
	if err != nil {
		return err
	}
	planned := map[string]bool{}
	for _, s := range p.Steps {
		planned[s.Path] = true
	}
	stay := map[string]string{}
	mounts := map[string]bool{}
	p.part(root)
	p.name(root)
	p.permit(root)
	for _, s := range p.Steps {
		parent := tree.Parent(s.Path)
		if s.Path != "" && !mounts[parent] {
			if d, err := root.sub(parent); err == nil {
				if there, err := d.mount(); err == nil && there != here {
					p.problem(s.Path, "it is on another filesystem than the workspace")
				} else {
					mounts[parent] = true
				}
				d.close()
			}
		}
		switch {
		case s.Kind == Create:
			if d, err := root.sub(parent); err == nil {
				if st, err := d.stat(tree.Base(s.Path)); err == nil && st.Kind == 0 {
					p.problem(s.Path, "a socket, a pipe or a device is in its place")
				} else if other := d.otherSpelling(tree.Base(s.Path)); err == nil && other != "" && !planned[tree.Join(parent, other)] {
					p.problem(s.Path, fmt.Sprintf("it is spelled %q now. Restore both", other))
				}
				d.close()
			}
		case s.Before.Kind == tree.Dir && s.Kind != Attributes:
			in, err := p.unrecorded(root, s.Path)
			switch {
			case err != nil && !absent(err):
				p.problem(s.Path, "it cannot be listed: "+reason(err))
			case in == "":
			case s.After == nil:
				stay[s.Path] = fmt.Sprintf("it has %q in it, which is part of no snapshot", in)
			default:
				p.problem(s.Path, fmt.Sprintf("it is a directory with %q in it, which is part of no snapshot", in))
			}
		}
	}
	for path, why := range stay {
		p.Left = append(p.Left, tree.Problem{Path: path, Reason: why})
	}
	p.prune(stay)
	p.keepTimes()
	slices.SortFunc(p.Left, func(a, b tree.Problem) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// unrecorded returns a name in a directory that no snapshot records.
func (p *Plan) unrecorded(root *dir, path string) (string, error) {
	d, err := root.sub(path)
	if err != nil {
		return "", err
	}
	defer d.close()
	names, err := d.names()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if p.p.Skips(tree.Join(path, name)) {
			return name, nil
		}
		if st, err := d.stat(name); err == nil && st.Kind == 0 {
			return name, nil
		}
	}
	return "", nil
}
