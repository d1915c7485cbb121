package union

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// noRoom is the error of a full disk.
var noRoom = error(syscall.ENOSPC)

// edit collects what an operation changes. The union is locked.
type edit struct {
	*Union
	now    int64
	states map[uint64]*state
	change change
	// removes is true if the operation may use what the log has reserved.
	removes bool
}

func (u *Union) edit() *edit {
	return &edit{Union: u, now: u.o.Clock().UnixNano(), states: map[uint64]*state{}}
}

// node returns the state of a node, which the operation changes.
func (e *edit) node(number uint64) (*state, error) {
	if s := e.states[number]; s != nil {
		return s, nil
	}
	s, err := e.state(number)
	if err != nil {
		return nil, err
	}
	copied := *s
	return e.add(number, &copied), nil
}

func (e *edit) add(number uint64, s *state) *state {
	e.states[number] = s
	e.change.Nodes = append(e.change.Nodes, changedNode{Number: number, State: s})
	s.Ctime = e.now
	return s
}

// enter sets what a name in a directory is, 0 for nothing.
func (e *edit) enter(dir uint64, name string, number uint64) error {
	s, err := e.node(dir)
	if err != nil {
		return err
	}
	s.Mtime = e.now
	e.change.Names = append(e.change.Names, changedName{Dir: dir, Name: []byte(name), Node: number})
	return nil
}

// commit writes the operation to the log, and does it. A node without names goes once nobody has it open.
func (e *edit) commit() error {
	if err := e.log.add(&e.change, e.removes); err != nil {
		return err
	}
	e.apply(&e.change)
	for _, c := range e.change.Nodes {
		if c.State.Links == 0 && e.refs[c.Number] == 0 {
			e.drop(c.Number)
		}
	}
	if e.log.grown() {
		_ = e.log.rewrite(e.all) // else it grows
	}
	return nil
}

// apply does what a change says.
func (u *Union) apply(c *change) {
	for _, one := range c.Nodes {
		n := u.nodes[one.Number]
		if n == nil {
			n = &node{}
			u.nodes[one.Number] = n
		}
		n.state = *one.State
		if n.kind() == Dir && n.names == nil {
			n.names = map[string]*entry{}
		}
		u.next = max(u.next, one.Number+1)
	}
	for _, one := range c.Names {
		if n := u.nodes[one.Dir]; n != nil && n.names != nil {
			n.enter(u.o.Lower, one.Dir, string(one.Name), one.Node)
		}
	}
}

// enter sets what a name in a directory is. One that is nothing stays where it hides a file below.
func (n *node) enter(lower Lower, dir uint64, name string, number uint64) {
	if old := n.names[name]; old != nil && old.node != 0 {
		old.gone = true
		n.gone++
		if n.gone > len(n.order)/2 {
			n.order = slices.DeleteFunc(n.order, func(e *entry) bool { return e.gone })
			n.gone = 0
		}
	}
	if number == 0 {
		if dir < made {
			if _, ok, err := lower.Lookup(dir, name); ok || err != nil {
				n.names[name] = &entry{name: name}
				return
			}
		}
		delete(n.names, name)
		return
	}
	e := &entry{name: name, node: number, place: n.added}
	n.added++
	n.names[name] = e
	n.order = append(n.order, e)
}

// all yields the changes that make this union of the files below.
func (u *Union) all(yield func(*change) error) error {
	for number, n := range u.nodes {
		if n.Links == 0 {
			continue
		}
		c := &change{Nodes: []changedNode{{Number: number, State: &n.state}}}
		for name, e := range n.names {
			if e.node == 0 {
				c.Names = append(c.Names, changedName{Dir: number, Name: []byte(name)})
			}
		}
		for _, e := range n.order {
			if !e.gone {
				c.Names = append(c.Names, changedName{Dir: number, Name: []byte(e.name), Node: e.node})
			}
		}
		if err := yield(c); err != nil {
			return err
		}
	}
	return nil
}

// Hold notes that the kernel knows a node, once more.
func (u *Union) Hold(number uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refs[number]++
}

// Forget notes that the kernel forgot a node, so many times.
func (u *Union) Forget(number, times uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.refs[number] > times {
		u.refs[number] -= times
		return
	}
	delete(u.refs, number)
	if n := u.nodes[number]; n != nil && n.Links == 0 {
		u.drop(number)
	}
}

// drop removes a node that has no name and that nobody has open.
func (u *Union) drop(number uint64) {
	n := u.nodes[number]
	if n.Own {
		if info, err := u.data.stat(number); err == nil {
			u.deadSize += info.Size()
		}
		u.dead = append(u.dead, number)
	}
	delete(u.nodes, number)
	select {
	case u.dropped <- struct{}{}:
	default: // somebody will look
	}
	if len(u.dead) >= maxDead || u.deadSize >= maxDeadBytes {
		u.bury()
	}
}

// At most so many contents are kept that no node has, and so many bytes.
const (
	maxDead      = 4096
	maxDeadBytes = 16 << 20
)

// bury removes the contents that no node has, and reports whether there were any.
func (u *Union) bury() bool {
	if len(u.dead) == 0 || u.log.sync() != nil {
		return false
	}
	for _, number := range u.dead {
		u.data.remove(number)
	}
	u.dead, u.deadSize = nil, 0
	return true
}

// unnamed reports whether there are nodes without a name, which somebody may have open.
func unnamed(u *Union) bool {
	for number := range u.refs {
		if n := u.nodes[number]; n != nil && n.Links == 0 {
			return true
		}
	}
	return false
}

// forgetting is how long a full disk waits for the kernel to forget files that were removed: it does so a moment later.
const forgetting = 100 * time.Millisecond

// roomy does what may need room on the disk, and again after some was made.
func (u *Union) roomy(do func() error) error {
	err := do()
	if !full(err) {
		return err
	}
	late := time.NewTimer(forgetting)
	defer late.Stop()
	for full(err) {
		u.mu.Lock()
		made, more := u.bury(), unnamed(u)
		u.mu.Unlock()
		switch {
		case made:
			err = do()
		case !more:
			return err
		default:
			select {
			case <-u.dropped:
			case <-late.C:
				return err
			}
		}
	}
	return err
}

// Made is a node to make.
type Made struct {
	// Mode is type and permissions.
	Mode, UID, GID, Rdev uint32
	// Target is that of a symbolic link.
	Target string
}

// free is an error unless a directory can get a name.
func free(u *Union, dir uint64, name string) error {
	if _, err := u.dir(dir); err != nil {
		return err
	}
	_, err := u.lookup(dir, name)
	if err == nil {
		return syscall.EEXIST
	}
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return err
}

// Make makes a node in a directory.
func (u *Union) Make(dir uint64, name string, m Made) (a Attr, err error) {
	err = u.roomy(func() error { a, err = u.makeNode(dir, name, m); return err })
	return a, err
}

func (u *Union) makeNode(dir uint64, name string, m Made) (Attr, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := free(u, dir, name); err != nil {
		return Attr{}, err
	}
	number := u.next
	e := u.edit()
	parent, err := e.node(dir)
	if err != nil {
		return Attr{}, err
	}
	s := e.made(number, m)
	s.Links = 1
	if parent.Mode&setGID != 0 {
		s.GID = parent.GID
	}
	switch s.kind() {
	case Dir:
		s.Links, s.Parent = 2, dir
		s.Mode |= parent.Mode & setGID
		parent.Links++
	case File:
		s.Own = true
		if err := u.data.create(number); err != nil {
			return Attr{}, err
		}
	}
	if err = e.enter(dir, name, number); err == nil {
		err = e.commit()
	}
	if err != nil {
		if s.Own {
			u.data.remove(number)
		}
		return Attr{}, err
	}
	return u.attr(number)
}

// made adds a node to make.
func (e *edit) made(number uint64, m Made) *state {
	return e.add(number, &state{Mode: m.Mode, UID: m.UID, GID: m.GID, Rdev: m.Rdev, Inode: ownInodes | number, Atime: e.now, Mtime: e.now, Target: []byte(m.Target)})
}

// MakeUnnamed makes a file without a name, and holds it as [Union.Hold] does. It can be linked.
func (u *Union) MakeUnnamed(m Made) (Attr, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	number := u.next
	e := u.edit()
	e.made(number, m).Own = true
	err := u.data.create(number)
	if err == nil {
		u.refs[number]++
		err = e.commit()
	}
	if err != nil {
		delete(u.refs, number)
		u.data.remove(number)
		return Attr{}, err
	}
	return u.attr(number)
}

// Link gives a node one more name.
func (u *Union) Link(number, dir uint64, name string) (Attr, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := free(u, dir, name); err != nil {
		return Attr{}, err
	}
	e := u.edit()
	s, err := e.node(number)
	switch {
	case err != nil:
		return Attr{}, err
	case s.kind() == Dir:
		return Attr{}, syscall.EPERM
	}
	s.Links++
	if err := e.enter(dir, name, number); err != nil {
		return Attr{}, err
	}
	if err := e.commit(); err != nil {
		return Attr{}, err
	}
	return u.attr(number)
}

// Remove removes a name: of an empty directory with dir, else of anything else.
func (u *Union) Remove(in uint64, name string, dir bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	number, err := u.lookup(in, name)
	if err != nil {
		return err
	}
	e := u.edit()
	e.removes = true
	if err := e.unname(in, number, &dir); err != nil {
		return err
	}
	if err := e.enter(in, name, 0); err != nil {
		return err
	}
	return e.commit()
}

// unname takes one name of a node away, which is in a directory. Dir is whether it must be one.
func (e *edit) unname(in, number uint64, dir *bool) error {
	s, err := e.node(number)
	if err != nil {
		return err
	}
	is := s.kind() == Dir
	switch {
	case dir != nil && *dir && !is:
		return syscall.ENOTDIR
	case dir != nil && !*dir && is:
		return syscall.EISDIR
	case !is:
		s.Links--
		return nil
	}
	switch _, err := e.list(number, 0); {
	case err == nil:
		return syscall.ENOTEMPTY
	case !errors.Is(err, syscall.ENOENT):
		return err
	}
	s.Links = 0
	parent, err := e.node(in)
	if err == nil {
		parent.Links--
	}
	return err
}

// How a name is moved to another one.
const (
	// Replace replaces what has the other name.
	Replace = iota
	// Keep is an error if something has it.
	Keep
	// Exchange exchanges both.
	Exchange
)

// Rename moves a name.
func (u *Union) Rename(dir uint64, name string, toDir uint64, toName string, how int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	number, err := u.lookup(dir, name)
	if err != nil {
		return err
	}
	if _, err := u.dir(toDir); err != nil {
		return err
	}
	other, err := u.lookup(toDir, toName)
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	e := u.edit()
	switch {
	case how == Exchange && err != nil:
		return err
	case how == Keep && err == nil:
		return syscall.EEXIST
	case number == other && err == nil:
		return nil
	}
	s, err := e.node(number)
	if err != nil {
		return err
	}
	if other != 0 && how != Exchange {
		e.removes = true
		is := s.kind() == Dir
		if err := e.unname(toDir, other, &is); err != nil {
			return err
		}
	}
	if how == Exchange {
		err = e.move(other, toDir, dir)
	} else {
		other = 0
	}
	if err == nil {
		err = e.move(number, dir, toDir)
	}
	if err == nil {
		err = e.enter(dir, name, other)
	}
	if err == nil {
		err = e.enter(toDir, toName, number)
	}
	if err != nil {
		return err
	}
	return e.commit()
}

// move notes that a node moves from a directory to another one.
func (e *edit) move(number, from, to uint64) error {
	s, err := e.node(number)
	if err != nil || s.kind() != Dir || from == to {
		return err
	}
	for at := to; at != Root; {
		if at == number {
			return syscall.EINVAL
		}
		above, err := e.state(at)
		if err != nil {
			return err
		}
		at = above.Parent
	}
	s.Parent = to
	old, err := e.node(from)
	if err != nil {
		return err
	}
	old.Links--
	next, err := e.node(to)
	if err == nil {
		next.Links++
	}
	return err
}

// Set is what to set of a node, nil what stays. Times are nanoseconds since 1970.
type Set struct {
	Mode, UID, GID     *uint32
	Size, Atime, Mtime *int64
	// Unprivileged takes set-user-ID and set-group-ID away, as a write by another user does.
	Unprivileged bool
}

// Set sets what is known of a node.
func (u *Union) Set(number uint64, set Set) error {
	if set.Size != nil {
		if err := u.truncate(number, *set.Size); err != nil {
			return err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	e := u.edit()
	e.removes = true
	s, err := e.node(number)
	if err != nil {
		return err
	}
	for _, v := range []struct{ to, from *uint32 }{{&s.UID, set.UID}, {&s.GID, set.GID}} {
		if v.from != nil {
			*v.to = *v.from
		}
	}
	if set.Mode != nil {
		s.Mode = s.kind() | *set.Mode&modeBits
	}
	if set.Unprivileged {
		s.Mode = unprivileged(s.Mode)
	}
	if set.Atime != nil {
		s.Atime = *set.Atime
	}
	if set.Mtime != nil {
		s.Mtime = *set.Mtime
		if s.Own {
			if err := u.data.touch(number, s.Mtime); err != nil {
				return err
			}
		}
	}
	return e.commit()
}

// unprivileged is the mode of a file after somebody wrote to it who may not set privileges.
func unprivileged(mode uint32) uint32 {
	const groupRuns = 0o010
	if mode&TypeMask != File {
		return mode
	}
	mode &^= setUID
	if mode&groupRuns != 0 { // else it is not a privilege
		mode &^= setGID
	}
	return mode
}
