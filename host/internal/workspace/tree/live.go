package tree

import "os"

// Unchanged reports whether an open file is still what was read into the node. It is false where its stat does not prove it.
func (n *Node) Unchanged(f *os.File) bool {
	st, err := statFile(f)
	return err == nil && n.clean(st)
}
