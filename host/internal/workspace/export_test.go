package workspace

// Due reports whether snapshots of a workspace are to be deleted.
func Due(w *Workspace) bool { return w.due() }
