package workspace

// SweepClosed does what a daemon does when it starts, and every minute.
var SweepClosed = sweepClosed

// Due reports whether snapshots of a workspace are to be deleted.
func Due(w *Workspace) bool { return w.due() }
