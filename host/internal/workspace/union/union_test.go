package union_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/union"
)

// below are files below: a few directories with files, one of which has two names.
type below struct {
	attrs   map[uint64]image.Attr
	names   map[uint64][]named
	content map[uint64][]byte
}

type named struct {
	name   string
	number uint64
}

func newBelow() *below {
	b := &below{attrs: map[uint64]image.Attr{}, names: map[uint64][]named{}, content: map[uint64][]byte{}}
	dir := func(number, parent uint64, links uint32, names ...named) {
		b.attrs[number] = image.Attr{Kind: tree.Dir, Mode: 0o755, Links: links, Parent: parent, Mtime: int64(number)}
		b.names[number] = names
	}
	file := func(number uint64, links uint32, content string) {
		b.attrs[number] = image.Attr{Kind: tree.File, Mode: 0o644, Links: links, Size: int64(len(content)), Mtime: int64(number), Ctime: int64(number), Inode: 100 + number}
		b.content[number] = []byte(content)
	}
	dir(1, 1, 4, named{"a", 2}, named{"b", 3}, named{"f", 4}, named{"g", 5})
	dir(2, 1, 3, named{"a", 6}, named{"f", 5})
	dir(3, 1, 2)
	file(4, 1, "content of f")
	file(5, 2, strings.Repeat("linked ", 1000))
	dir(6, 2, 2, named{"g", 7})
	b.attrs[7] = image.Attr{Kind: tree.Link, Links: 1, Mtime: 7}
	return b
}

func (b *below) Attr(number uint64) (image.Attr, bool, error) {
	a, ok := b.attrs[number]
	return a, ok, nil
}

func (b *below) Lookup(dir uint64, name string) (uint64, bool, error) {
	for _, n := range b.names[dir] {
		if n.name == name {
			return n.number, true, nil
		}
	}
	return 0, false, nil
}

func (b *below) Entry(dir uint64, place int) (string, uint64, bool, error) {
	if place >= len(b.names[dir]) {
		return "", 0, false, nil
	}
	n := b.names[dir][place]
	return n.name, n.number, true, nil
}

func (b *below) Target(uint64) ([]byte, error)       { return []byte("../f"), nil }
func (b *below) Xattrs(uint64) ([]tree.Xattr, error) { return nil, nil }
func (b *below) Allocated(number uint64) int64       { return int64(len(b.content[number])) }
func (b *below) Seek(number uint64, from int64, hole bool) (int64, bool, error) {
	size := int64(len(b.content[number]))
	if hole {
		from, size = size, size+1
	}
	return from, from < size, nil
}

func (b *below) Part(number uint64, buffer []byte, from int64) ([]byte, error) {
	content := b.content[number]
	return []byte(content[min(from, int64(len(content))):min(from+int64(len(buffer)), int64(len(content)))]), nil
}

// world is a union in a directory.
type world struct {
	dir string
	now int64
	u   *union.Union
}

func newWorld(t interface{ Cleanup(func()) }, dir string) (*world, error) {
	w := &world{dir: dir}
	if runtime.GOOS == "windows" { // which removes no open file
		t.Cleanup(func() {
			if w.u != nil {
				_ = w.u.Close()
			}
		})
	}
	return w, w.open()
}

// open opens the union as after a kill. On Windows the one before is closed: a process that was killed has nothing open.
func (w *world) open() (err error) {
	if runtime.GOOS == "windows" && w.u != nil {
		_ = w.u.Close()
	}
	w.u, err = union.Open(union.Options{Lower: newBelow(), Dir: w.dir, UID: 1, GID: 2, Clock: func() time.Time {
		w.now += 1000
		return time.Unix(0, w.now)
	}})
	return err
}

// walk returns the node of a path.
func walk(u *union.Union, path string) (number uint64, err error) {
	number = union.Root
	for _, name := range strings.Split(path, "/") {
		if name == "" {
			continue
		}
		a, err := u.Lookup(number, name)
		if err != nil {
			return 0, err
		}
		number = a.Number
	}
	return number, nil
}

// lines describes a union, with the inodes of files as the first of their names.
func lines(u *union.Union) (all []string, err error) {
	first := map[uint64]string{}
	var below func(dir uint64, path string) error
	below = func(dir uint64, path string) error {
		found := map[string]uint64{}
		for place := uint64(0); ; {
			l, err := u.List(dir, place)
			if errors.Is(err, syscall.ENOENT) {
				break
			}
			if err != nil {
				return err
			}
			if _, twice := found[l.Name]; twice {
				return fmt.Errorf("%s is listed twice", l.Name)
			}
			found[l.Name], place = l.Number, l.Next
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			at := path + "/" + name
			a, err := u.Lookup(dir, name)
			if err != nil || a.Number != found[name] {
				return fmt.Errorf("%s is listed as %d and is %d: %w", at, found[name], a.Number, err)
			}
			if first[a.Inode] == "" {
				first[a.Inode] = at
			}
			line := fmt.Sprintf("%s %o links %d of %s", at, a.Mode, a.Links, first[a.Inode])
			if a.Mode&union.TypeMask == union.File {
				content, err := u.Part(a.Number, make([]byte, a.Size+1), 0)
				if err != nil || int64(len(content)) != a.Size {
					return fmt.Errorf("%s has %d of %d bytes: %w", at, len(content), a.Size, err)
				}
				line += fmt.Sprintf(" %q", content)
			}
			xattrs, err := u.Xattrs(a.Number)
			if err != nil {
				return err
			}
			for _, x := range xattrs {
				line += fmt.Sprintf(" %s=%s", x.Name, x.Value)
			}
			all = append(all, line)
			if a.Mode&union.TypeMask == union.Dir {
				if parent, err := u.Parent(a.Number); err != nil || parent != dir {
					return fmt.Errorf("%s is in %d, not in %d: %w", at, parent, dir, err)
				}
				if err := below(a.Number, at); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return all, below(union.Root, "")
}

// model is what a union is to be: plain nodes.
type model struct {
	mode    uint32
	content []byte
	names   map[string]*model
	parent  *model
	links   int
	xattrs  map[string]string
}

func newModel() *model {
	file := func(content string) *model {
		return &model{mode: union.File | 0o644, content: []byte(content), links: 1}
	}
	dir := func(names map[string]*model) *model { return &model{mode: union.Dir | 0o755, names: names} }
	linked := file(strings.Repeat("linked ", 1000))
	linked.links = 2
	inner := dir(map[string]*model{"g": {mode: union.Link | 0o777, links: 1}})
	a := dir(map[string]*model{"a": inner, "f": linked})
	inner.parent = a
	root := dir(map[string]*model{"a": a, "b": dir(map[string]*model{}), "f": file("content of f"), "g": linked})
	a.parent, root.names["b"].parent = root, root
	return root
}

func (m *model) at(path string) *model {
	for _, name := range strings.Split(path, "/") {
		if name != "" && m != nil {
			m = m.names[name]
		}
	}
	return m
}

func (m *model) isDir() bool { return m.mode&union.TypeMask == union.Dir }

func (m *model) lines() (all []string) {
	first := map[*model]string{}
	var below func(m *model, path string)
	below = func(m *model, path string) {
		for _, name := range slices.Sorted(maps.Keys(m.names)) {
			one, at := m.names[name], path+"/"+name
			if first[one] == "" {
				first[one] = at
			}
			links := one.links
			if one.isDir() {
				links = 2
				for _, n := range one.names {
					if n.isDir() {
						links++
					}
				}
			}
			line := fmt.Sprintf("%s %o links %d of %s", at, one.mode, links, first[one])
			if one.mode&union.TypeMask == union.File {
				line += fmt.Sprintf(" %q", one.content)
			}
			for _, x := range slices.Sorted(maps.Keys(one.xattrs)) {
				line += fmt.Sprintf(" %s=%s", x, one.xattrs[x])
			}
			all = append(all, line)
			below(one, at)
		}
	}
	below(m, "")
	return all
}

func (m *model) make(name string, mode uint32) error {
	switch {
	case !m.isDir():
		return syscall.ENOTDIR
	case m.names[name] != nil:
		return syscall.EEXIST
	}
	made := &model{mode: mode, links: 1}
	if made.isDir() {
		made.names, made.parent = map[string]*model{}, m
	}
	m.names[name] = made
	return nil
}

func (m *model) remove(name string, dir bool) error {
	one := m.names[name]
	switch {
	case one == nil:
		return syscall.ENOENT
	case dir && !one.isDir():
		return syscall.ENOTDIR
	case !dir && one.isDir():
		return syscall.EISDIR
	case len(one.names) > 0:
		return syscall.ENOTEMPTY
	}
	one.links--
	delete(m.names, name)
	return nil
}

func (m *model) within(dir *model) bool {
	for at := dir; at != nil; at = at.parent {
		if at == m {
			return true
		}
	}
	return false
}

func (m *model) rename(name string, to *model, toName string, how int) error {
	one, other := m.names[name], to.names[toName]
	switch {
	case one == nil:
		return syscall.ENOENT
	case !to.isDir():
		return syscall.ENOTDIR
	case how == union.Exchange && other == nil:
		return syscall.ENOENT
	case how == union.Keep && other != nil:
		return syscall.EEXIST
	case one == other:
		return nil
	}
	if how == union.Exchange {
		if one.isDir() && one.within(to) || other.isDir() && other.within(m) {
			return syscall.EINVAL
		}
		m.names[name], to.names[toName] = other, one
		other.parent, one.parent = m, to
		return nil
	}
	if other != nil {
		switch {
		case one.isDir() && !other.isDir():
			return syscall.ENOTDIR
		case !one.isDir() && other.isDir():
			return syscall.EISDIR
		case len(other.names) > 0:
			return syscall.ENOTEMPTY
		}
	}
	if one.isDir() && one.within(to) {
		return syscall.EINVAL
	}
	if other != nil {
		other.links--
	}
	delete(m.names, name)
	to.names[toName], one.parent = one, to
	return nil
}

func (m *model) resize(size int) {
	for len(m.content) < size {
		m.content = append(m.content, 0)
	}
	m.content = m.content[:size]
}

// step does one random operation to a union and to the model, and returns what each said.
func step(t *rapid.T, u *union.Union, root *model) (what string, got, want error) {
	var dirs, all []string
	var collect func(m *model, path string)
	collect = func(m *model, path string) {
		all = append(all, path)
		if m.isDir() {
			dirs = append(dirs, path)
		}
		for _, name := range slices.Sorted(maps.Keys(m.names)) {
			collect(m.names[name], path+"/"+name)
		}
	}
	collect(root, "")
	name := rapid.SampledFrom([]string{"a", "b", "f", "g", "new"})
	dir := rapid.SampledFrom(dirs).Draw(t, "directory")
	in, in2 := root.at(dir), name.Draw(t, "name")
	number, err := walk(u, dir)
	if err != nil {
		t.Fatal(dir, err)
	}
	what = fmt.Sprint(dir, "/", in2)
	node := func(path string) uint64 {
		number, err := walk(u, path)
		if err != nil {
			t.Fatal(path, err)
		}
		return number
	}
	one := rapid.SampledFrom(all).Draw(t, "node")
	switch rapid.IntRange(0, 8).Draw(t, "operation") {
	case 0:
		mode := rapid.SampledFrom([]uint32{union.File | 0o600, union.Dir | 0o700, union.Link | 0o777, union.Pipe | 0o600}).Draw(t, "mode")
		_, got = u.Make(number, in2, union.Made{Mode: mode})
		return "make " + what, got, in.make(in2, mode)
	case 1, 2:
		isDir := rapid.Bool().Draw(t, "is a directory")
		return fmt.Sprint("remove ", isDir, " ", what), u.Remove(number, in2, isDir), in.remove(in2, isDir)
	case 3, 4:
		to, toName := rapid.SampledFrom(dirs).Draw(t, "to"), name.Draw(t, "new name")
		how := rapid.SampledFrom([]int{union.Replace, union.Replace, union.Keep, union.Exchange}).Draw(t, "how")
		return fmt.Sprint("rename ", how, " ", what, " to ", to, "/", toName), u.Rename(number, in2, node(to), toName, how), in.rename(in2, root.at(to), toName, how)
	case 5:
		m := root.at(one)
		_, got = u.Link(node(one), number, in2)
		switch {
		case in.names[in2] != nil:
			want = syscall.EEXIST
		case m.isDir():
			want = syscall.EPERM
		default:
			m.links++
			in.names[in2] = m
		}
		return "link " + one + " to " + what, got, want
	case 6:
		m := root.at(one)
		if m.mode&union.TypeMask != union.File {
			break
		}
		at, data := rapid.IntRange(0, 9000).Draw(t, "at"), rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "data")
		_, got = u.Write(node(one), data, int64(at), false)
		m.resize(max(len(m.content), at+len(data)))
		copy(m.content[at:], data)
		return "write " + one, got, nil
	case 7:
		m := root.at(one)
		if m.mode&union.TypeMask != union.File {
			break
		}
		size := int64(rapid.IntRange(0, 9000).Draw(t, "size"))
		m.resize(int(size))
		return "truncate " + one, u.Set(node(one), union.Set{Size: &size}), nil
	default:
		m, mode := root.at(one), rapid.SampledFrom([]uint32{0o400, 0o755}).Draw(t, "mode")
		if m.xattrs == nil {
			m.xattrs = map[string]string{}
		}
		m.mode, m.xattrs["user.a"] = m.mode&union.TypeMask|mode, fmt.Sprint(mode)
		return "chmod " + one, errors.Join(u.Set(node(one), union.Set{Mode: &mode}), u.SetXattr(node(one), "user.a", []byte(fmt.Sprint(mode)), 0)), nil
	}
	return "nothing", nil, nil
}

func TestAUnionIsWhatWasWrittenAboveTheFilesBelow(t *testing.T) {
	top := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			t.Fatal(err)
		}
		w, err := newWorld(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		root := newModel()
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			what, got, want := step(t, w.u, root)
			if !errors.Is(got, want) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
			if rapid.IntRange(0, 5).Draw(t, "again") == 0 { // the process is killed, and another one begins
				if err := w.open(); err != nil {
					t.Fatal(err)
				}
			}
			all, err := lines(w.u)
			if err != nil {
				t.Fatal(what, err)
			}
			if want := root.lines(); !slices.Equal(all, want) {
				t.Fatalf("after %s:\n%s\nwant\n%s", what, strings.Join(all, "\n"), strings.Join(want, "\n"))
			}
		}
		if err := w.u.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestARecordThatWasNotWrittenWhollyIsUndone: wherever it ends, and nothing else is.
func TestARecordThatWasNotWrittenWhollyIsUndone(t *testing.T) {
	w, err := newWorld(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "log")
	var states [][]string
	var ends []int64
	note := func() {
		t.Helper()
		all, err := lines(w.u)
		info, failed := os.Stat(path)
		if err := cmp.Or(err, failed); err != nil {
			t.Fatal(err)
		}
		states, ends = append(states, all), append(ends, info.Size())
	}
	note()
	for _, do := range []func() error{
		func() error { _, err := w.u.Make(union.Root, "new", union.Made{Mode: union.Pipe}); return err },
		func() error { return w.u.Rename(union.Root, "a", union.Root, "moved", union.Replace) },
		func() error { return w.u.Remove(union.Root, "f", false) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
		note()
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := int64(0); size <= int64(len(whole)); size++ {
		for _, tail := range []int{0, 100} { // a loss of power can leave zeros
			if err := os.WriteFile(path, append(bytes.Clone(whole[:size]), make([]byte, tail)...), 0o600); err != nil {
				t.Fatal(err)
			}
			if tail > 0 && !slices.Contains(ends, size) {
				continue
			}
			if err := w.open(); err != nil {
				t.Fatal(size, err)
			}
			n := 0
			for n+1 < len(ends) && ends[n+1] <= size {
				n++
			}
			if all, err := lines(w.u); err != nil || !slices.Equal(all, states[n]) {
				t.Fatalf("with %d bytes:\n%s\nwant\n%s\n%v", size, strings.Join(all, "\n"), strings.Join(states[n], "\n"), err)
			}
			if err := w.u.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A damage before the end is an error: what follows it is not thrown away.
	whole[ends[0]+10]++
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.open(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("is damaged at %d", ends[0])) {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, whole) {
		t.Error("the log was changed")
	}
}

// TestAListOfAChangingDirectoryHasEachNameThatStaysOnce: whatever is removed, made and renamed meanwhile.
func TestAListOfAChangingDirectoryHasEachNameThatStaysOnce(t *testing.T) {
	w, err := newWorld(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pipe := union.Made{Mode: union.Pipe}
	const stay = 50
	for i := range stay {
		if _, err := w.u.Make(union.Root, fmt.Sprint("stays", i), pipe); err != nil {
			t.Fatal(err)
		}
		if _, err := w.u.Make(union.Root, fmt.Sprint("goes", i), pipe); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	step := 0
	for place := uint64(0); ; step++ {
		l, err := w.u.List(union.Root, place)
		if errors.Is(err, syscall.ENOENT) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		seen[l.Name]++
		place = l.Next
		if step < stay {
			_, err = w.u.Make(union.Root, fmt.Sprint("comes", step), pipe)
			err = errors.Join(err, w.u.Remove(union.Root, fmt.Sprint("goes", stay-1-step), false))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range stay {
		if n := seen[fmt.Sprint("stays", i)]; n != 1 {
			t.Errorf("stays%d was listed %d times", i, n)
		}
	}
	for name, n := range seen {
		if n > 1 {
			t.Errorf("%s was listed %d times", name, n)
		}
	}
}

// TestALogIsRewrittenWhenItHasGrown: it does not grow with what was undone, and is the same filesystem.
func TestALogIsRewrittenWhenItHasGrown(t *testing.T) {
	w, err := newWorld(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.Repeat([]byte("x"), 60<<10)
	for i := range 400 { // 24 MB
		value[0] = byte(i)
		if err := w.u.SetXattr(4, "user.large", value, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.u.Rename(union.Root, "a", 3, "moved", union.Replace); err != nil {
		t.Fatal(err)
	}
	want, err := lines(w.u)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(w.dir, "log")); err != nil || info.Size() > 9<<20 {
		t.Errorf("the log has %d bytes, %v", info.Size(), err)
	}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	if got, err := lines(w.u); err != nil || !slices.Equal(got, want) {
		t.Error("another filesystem", err)
	}
}

// TestAnOpenFileWithoutANameIsKept until nobody has it open: then its contents go.
func TestAnOpenFileWithoutANameIsKept(t *testing.T) {
	w, err := newWorld(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.u.Make(union.Root, "new", union.Made{Mode: union.File | 0o600})
	if err != nil {
		t.Fatal(err)
	}
	w.u.Hold(a.Number)
	w.u.Hold(a.Number)
	_, err = w.u.Write(a.Number, []byte("hello"), 0, false)
	if err := errors.Join(err, w.u.Remove(union.Root, "new", false)); err != nil {
		t.Fatal(err)
	}
	w.u.Forget(a.Number, 1)
	content := make([]byte, 10)
	if part, err := w.u.Part(a.Number, content, 0); err != nil || string(part) != "hello" {
		t.Error(part, err)
	}
	w.u.Forget(a.Number, 1)
	if _, err := w.u.Part(a.Number, content, 0); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
	if err := w.u.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, "data")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestAFileWithoutANameCanBeLinked: else it goes with the process.
func TestAFileWithoutANameCanBeLinked(t *testing.T) {
	w, err := newWorld(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		a, err := w.u.MakeUnnamed(union.Made{Mode: union.File | 0o600})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.u.Write(a.Number, []byte("hello"), 0, false)
		if i == 0 {
			_, failed := w.u.Link(a.Number, union.Root, "linked")
			err = errors.Join(err, failed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	a, err := w.u.Lookup(union.Root, "linked")
	if err != nil || a.Links != 1 || a.Size != 5 {
		t.Error(a, err)
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, "data")); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}

// TestProgramsWriteAtOnce: each has what it wrote, and a file below is copied once.
func TestProgramsWriteAtOnce(t *testing.T) {
	w, err := newWorld(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const programs, rounds = 8, 50
	var all sync.WaitGroup
	for i := range programs {
		all.Go(func() {
			dir, err := w.u.Make(union.Root, fmt.Sprint("dir", i), union.Made{Mode: union.Dir | 0o700})
			if err != nil {
				t.Error(err)
				return
			}
			for round := range rounds {
				a, err := w.u.Make(dir.Number, "new", union.Made{Mode: union.File | 0o600})
				_, failed := w.u.Write(a.Number, fmt.Appendf(nil, "%d", round), 0, false)
				_, shared := w.u.Write(5, []byte{byte('a' + i)}, int64(i), false) // another byte each
				err = errors.Join(err, failed, shared, w.u.Rename(dir.Number, "new", dir.Number, "file", union.Replace), w.u.Sync(a.Number))
				if _, listed := w.u.List(union.Root, 0); err != nil || listed != nil {
					t.Error(err, listed)
					return
				}
			}
		})
	}
	all.Wait()
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	for i := range programs {
		number, err := walk(w.u, fmt.Sprint("dir", i, "/file"))
		part, failed := w.u.Part(number, make([]byte, 10), 0)
		if err := errors.Join(err, failed); err != nil || string(part) != fmt.Sprint(rounds-1) {
			t.Errorf("%q, %v", part, err)
		}
	}
	if part, err := w.u.Part(5, make([]byte, 14), 0); err != nil || string(part) != "abcdefghinked " {
		t.Errorf("%q, %v", part, err)
	}
}
