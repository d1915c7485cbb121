package tracked

import "runtime/debug"

// manyChanges are so many that the memory they need is worth a collection.
const manyChanges = 50_000

// entrySize is how many bytes an entry of the workspace takes at most in memory: in the tree, in the index of the store and,
// if it is a directory, in the watcher. comparing is what a comparison of everything may need for a moment beside it.
const (
	entrySize = 200
	comparing = 512 << 20
)

// need makes the process' limit of memory one that has room for the workspace. The caller holds the lock.
func (p *Provider) need(more int64) { p.memory.Need(int64(p.now.Files)*entrySize + more) }

// release gives memory back to the system that many changes needed for a moment.
func release(changes int) {
	if changes > manyChanges {
		debug.FreeOSMemory()
	}
}
