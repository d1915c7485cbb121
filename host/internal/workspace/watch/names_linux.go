package watch

import "golang.org/x/sys/unix"

// names notices files that may have changed by a name that no snapshot will find: a second name of a file (a hard link) that
// was given to it, and taken away again. The events of such a change have that name only, and nothing leads from there to the
// first one. So each new name is looked at when it is reported, and [names.doubt] says whether a file with another name may
// have changed.
type names struct {
	// recent are the names that files were given since the last Take, before those of the time before: a snapshot may look
	// after a name is gone that was there when it asked.
	recent, before map[name]*given
	// moving is what a rename took a name from by which it may have changed, until its new name is reported.
	moving struct {
		cookie uint32
		given  *given
	}
	doubtful bool
}

type name struct {
	dir  *watchedDir
	name string
}

// given is a name that a file was given.
type given struct {
	file file
	// changed is set once the file may have changed by this name, or by one that it had before.
	changed bool
}

// file is the identity of a file, zero where the name was gone before it was looked at.
type file struct {
	inode uint64
	born  unix.StatxTimestamp // an inode's number is used again
	links bool                // it has several names
}

func lookAt(path string) file {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_NLINK|unix.STATX_BTIME, &st); err != nil {
		return file{}
	}
	f := file{inode: st.Ino, links: st.Nlink > 1}
	if st.Mask&unix.STATX_BTIME != 0 {
		f.born = st.Btime
	}
	return f
}

func (n *names) find(key name) *given {
	if g := n.recent[key]; g != nil {
		return g
	}
	return n.before[key]
}

// give notes that a file was given a name, by the rename with this cookie or, with 0, newly.
func (n *names) give(key name, path string, cookie uint32) {
	g := &given{file: lookAt(path)}
	if n.moving.given != nil && cookie == n.moving.cookie {
		g.changed = true
		n.moving.given = nil
	}
	if was := n.find(key); was != nil && was.changed && (was.file == file{} || was.file == g.file) {
		n.doubtful = true // what was looked at under this name may have been this file already
	}
	n.doubtful = n.doubtful || g.file.links
	n.note(key, g)
}

func (n *names) note(key name, g *given) {
	if n.recent == nil {
		n.recent = map[name]*given{}
	}
	if n.recent[key] = g; len(n.recent) > maxDirty {
		n.doubtful = true
		n.recent = nil
	}
}

// change notes that a file may have changed by a name. In a directory that was not watched when it got its name, that is the
// first event of it.
func (n *names) change(key name, path string, fresh bool) {
	g := n.find(key)
	switch {
	case g != nil:
	case fresh:
		g = &given{file: lookAt(path)}
	default:
		return
	}
	g.changed = true
	n.doubtful = n.doubtful || g.file.links
	n.note(key, g)
}

// move notes that a rename takes a name away.
func (n *names) move(key name, cookie uint32) {
	n.settle()
	if g := n.find(key); g != nil && g.changed {
		n.moving.cookie, n.moving.given = cookie, g
		if (g.file == file{}) {
			delete(n.recent, key)
			delete(n.before, key)
		}
	}
}

// settle ends a rename of which no new name was reported: it is outside.
func (n *names) settle() {
	if g := n.moving.given; g != nil && (g.file == file{}) {
		n.doubtful = true
	}
	n.moving.given = nil
}

// doubt reports whether a file may have changed by a name that is gone, since the last call.
func (n *names) doubt() bool {
	n.settle()
	doubtful := n.doubtful
	for _, g := range n.recent {
		doubtful = doubtful || g.changed && g.file == file{}
	}
	n.recent, n.before, n.doubtful = nil, n.recent, false
	return doubtful
}
