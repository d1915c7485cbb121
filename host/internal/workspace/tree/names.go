package tree

import "cmp"

// otherNames returns the other names, by hard links, of the files that are or were suspects. The system reports a change
// only for the name by which it was made.
func (w *walk) otherNames(t *Tree) (others []suspect) {
	inodes, known := map[uint64]bool{}, map[string]bool{}
	note := func(n *Node) {
		if n != nil && n.Kind == File && n.Hard != 0 {
			inodes[n.Inode] = true
		}
	}
	for i := range w.suspects {
		s := &w.suspects[i]
		known[s.path] = true
		note(s.node)
		note(s.old.node())
		if s.old.sub != nil && (s.node == nil || s.node.Kind != Dir) { // with everything in it
			each(s.path, s.old, func(path string, r ref) bool {
				known[path] = true
				note(r.node())
				return true
			})
		}
	}
	if len(inodes) == 0 {
		return nil
	}
	t.root.sub.files("", func(dir, name string, r ref) {
		if inodes[r.inode()] {
			if path := Join(dir, name); !known[path] {
				others = append(others, suspect{path: path, old: r})
			}
		}
	})
	return others
}

// agree reads files again of which one name has another state than another name: a name was read before a change and may be
// that of another file by now. What does not agree in the end is no longer said to be one file.
func (w *walk) agree() error {
	for try := 1; ; try++ {
		first, apart := map[uint64]*Node{}, map[uint64]bool{}
		for _, s := range w.suspects {
			if s.node == nil || s.node.Hard == 0 {
				continue
			}
			if n := first[s.node.Hard]; n == nil {
				first[s.node.Hard] = s.node
			} else if n.Ctime != s.node.Ctime || !n.Same(&s.node.Entry) {
				apart[s.node.Hard] = true
			}
		}
		if len(apart) == 0 {
			return nil
		}
		var again []suspect
		var at []int
		for i, s := range w.suspects {
			switch {
			case s.node == nil || !apart[s.node.Hard]:
			case try < tries:
				again, at = append(again, s), append(at, i)
			default:
				s.node.Hard, s.node.Unread = 0, cmp.Or(s.node.Unread, changed)
			}
		}
		if err := w.inspectAll(again); err != nil {
			return err
		}
		for i, s := range again {
			w.suspects[at[i]] = s
		}
	}
}
