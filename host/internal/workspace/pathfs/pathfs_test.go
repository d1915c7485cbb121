package pathfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/union"
)

// below are the files below: a directory Src with a file Main.go.
type below struct{}

const content = "package main"

func (below) Attr(number uint64) (image.Attr, bool, error) {
	a, ok := map[uint64]image.Attr{
		1: {Kind: tree.Dir, Mode: 0o755, Links: 3, Parent: 1},
		2: {Kind: tree.Dir, Mode: 0o755, Links: 2, Parent: 1},
		3: {Kind: tree.File, Mode: 0o644, Links: 1, Size: int64(len(content)), Mtime: 3e9, Ctime: 3e9, Inode: 33},
	}[number]
	return a, ok, nil
}

func (b below) Entry(dir uint64, place int) (string, uint64, bool, error) {
	name := map[uint64]string{1: "Src", 2: "Main.go"}[dir]
	return name, dir + 1, name != "" && place == 0, nil
}

func (b below) Lookup(dir uint64, name string) (uint64, bool, error) {
	is, number, ok, err := b.Entry(dir, 0)
	if !ok || is != name {
		return 0, false, err
	}
	return number, true, err
}

func (below) Target(uint64) ([]byte, error)       { return nil, nil }
func (below) Xattrs(uint64) ([]tree.Xattr, error) { return nil, nil }
func (below) Allocated(uint64) int64              { return int64(len(content)) }
func (below) Seek(_ uint64, from int64, hole bool) (int64, bool, error) {
	size := int64(len(content))
	if hole {
		return size, from < size, nil
	}
	return from, from < size, nil
}

func (below) Part(_ uint64, buffer []byte, from int64) ([]byte, error) {
	from = min(from, int64(len(content)))
	return []byte(content[from:min(from+int64(len(buffer)), int64(len(content)))]), nil
}

type fataler interface {
	Fatal(...any)
	Helper()
}

// newTest returns files in a directory, "" for those that are only read.
func newTest(t fataler, dir string, fold bool) *files {
	t.Helper()
	u, err := union.Open(union.Options{Lower: below{}, Dir: dir, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return newFiles(u, Options{Written: dir, Fold: fold, Sealed: dir == ""})
}

func (f *files) mustMake(t fataler, path string, mode uint32) {
	t.Helper()
	if _, err := f.make(path, union.Made{Mode: mode | 0o644}, false); err != nil {
		t.Fatal(path, err)
	}
}

func (f *files) has(t fataler, path, want string) {
	t.Helper()
	if _, as, err := f.find(path); err != nil || as != want {
		t.Fatal(fmt.Sprintf("%s is %q, %v; want %q", path, as, err, want))
	}
}

func TestNamesAreFoundInAnyCase(t *testing.T) {
	f := newTest(t, t.TempDir(), true)
	defer func() { _ = f.Close() }()
	f.has(t, "/sRC/mAIN.GO", "/Src/Main.go")
	f.mustMake(t, "/src/Neu.txt", union.File)
	f.has(t, "/SRC/neu.TXT", "/Src/Neu.txt")
	f.mustMake(t, "/src/\u00e4\u03c9", union.File)
	f.has(t, "/src/\u00c4\u03a9", "/Src/\u00e4\u03c9")
	if _, err := f.make("/SRC/MAIN.go", union.Made{Mode: union.File}, false); !errors.Is(err, syscall.EEXIST) {
		t.Error("a second name in another case:", err)
	}
	for _, step := range []struct{ from, to, is string }{
		{"/src/main.go", "/src/main.GO", "/Src/main.GO"}, // another case
		{"/src/NEU.txt", "/Src/MAIN.go", "/Src/MAIN.go"}, // over what has the name in another case
		{"/src/main.go", "/Other", "/Other"},
		{"/SRC", "/dir", "/dir"},
	} {
		if err := f.rename(step.from, step.to, union.Replace); err != nil {
			t.Fatal(step, err)
		}
		f.has(t, strings.ToUpper(step.to), step.is)
	}
	if err := errors.Join(f.remove("/OTHER", false), f.remove("/DIR/\u00c4\u03a9", false), f.remove("/DIR", true)); err != nil {
		t.Fatal(err)
	}
	if l, err := f.List(union.Root, 0); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("%+v is left, %v", l, err)
	}
}

func TestWithoutFoldNamesAreTheirBytes(t *testing.T) {
	f := newTest(t, t.TempDir(), false)
	defer func() { _ = f.Close() }()
	if _, _, err := f.find("/src"); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
	f.mustMake(t, "/src", union.File)
	for path, want := range map[string]error{"/src/x": syscall.ENOTDIR, "/Src/Main.go/x": syscall.ENOTDIR, "/Src/none": syscall.ENOENT} {
		if _, _, err := f.find(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if err := f.remove("/", true); !errors.Is(err, syscall.EBUSY) {
		t.Error("the root is removed:", err)
	}
}

func TestAnOpenFileStays(t *testing.T) {
	f := newTest(t, t.TempDir(), true)
	defer func() { _ = f.Close() }()
	handle, err := f.openPath("/src/main.go")
	if err != nil || !f.used() {
		t.Fatal(err)
	}
	number, _ := f.at("", handle)
	if err := errors.Join(f.rename("/src/main.go", "/moved", union.Replace), f.remove("/moved", false)); err != nil {
		t.Fatal(err)
	}
	if now, err := f.at("/moved", handle); now != number || err != nil {
		t.Errorf("%d, %v; want %d", now, err, number)
	}
	part, err := f.Part(number, make([]byte, 100), 0)
	if string(part) != content || err != nil {
		t.Errorf("%q, %v", part, err)
	}
	f.release(handle)
	made, err := f.make("/made", union.Made{Mode: union.File | 0o600}, true)
	number, _ = f.at("", made)
	if err := errors.Join(err, f.remove("/MADE", false)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Attr(number); err != nil || !f.used() {
		t.Error("it does not stay until it is closed:", err)
	}
	f.release(made)
	if _, err := f.Attr(number); !errors.Is(err, syscall.ENOENT) || f.used() {
		t.Error("it stays after it was closed:", err)
	}
}

func TestNothingIsWrittenToAReadOnlyOne(t *testing.T) {
	f := newTest(t, "", true)
	f.has(t, "/src/main.go", "/Src/Main.go")
	_, made := f.make("/new", union.Made{Mode: union.File}, false)
	mode := uint32(0o600)
	for what, err := range map[string]error{
		"make": made, "link": f.link("/src/main.go", "/new"), "remove": f.remove("/src/main.go", false), "rename": f.rename("/src", "/new", union.Replace),
		"set": f.set("/src", noHandle, union.Set{Mode: &mode}),
	} {
		if !errors.Is(err, syscall.EROFS) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := f.mode(union.File | 0o644); got != union.File|0o444 {
		t.Errorf("%o", got)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestNamesAreThoseOfAModel does random operations, and compares what each directory lists.
func TestNamesAreThoseOfAModel(t *testing.T) {
	top := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(top, fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		f := newTest(t, dir, true)
		defer func() { _ = f.Close() }()
		model := map[string]map[string]string{"/Src": {"MAIN.GO": "Main.go"}, "": {"SRC": "Src"}} // by the folded name
		path := func(what string) (dir, name, as string) {
			dir = rapid.SampledFrom([]string{"", "/Src"}).Draw(t, "directory of "+what)
			name = rapid.SampledFrom([]string{"main.go", "MAIN.go", "a", "A", "b", "B"}).Draw(t, what)
			return dir, name, dir + "/" + name
		}
		t.Repeat(map[string]func(*rapid.T){
			"make": func(t *rapid.T) {
				dir, name, at := path("made")
				_, err := f.make(at, union.Made{Mode: union.File | 0o644}, false)
				if _, taken := model[dir][folding(name)]; taken != errors.Is(err, syscall.EEXIST) || !taken && err != nil {
					t.Fatal(at, err)
				} else if !taken {
					model[dir][folding(name)] = name
				}
			},
			"remove": func(t *rapid.T) {
				dir, name, at := path("removed")
				err := f.remove(at, false)
				if _, taken := model[dir][folding(name)]; taken == errors.Is(err, syscall.ENOENT) || taken && err != nil {
					t.Fatal(at, err)
				}
				delete(model[dir], folding(name))
			},
			"rename": func(t *rapid.T) {
				dir, name, at := path("renamed")
				toDir, toName, to := path("target")
				err := f.rename(at, to, union.Replace)
				if _, taken := model[dir][folding(name)]; taken == errors.Is(err, syscall.ENOENT) || taken && err != nil {
					t.Fatal(at, to, err)
				} else if taken {
					delete(model[dir], folding(name))
					model[toDir][folding(toName)] = toName
				}
			},
			"": func(t *rapid.T) {
				for dir, names := range model {
					var got, want []string
					a, _, err := f.find(dir)
					for place := uint64(0); err == nil; {
						var l union.Listed
						if l, err = f.List(a.Number, place); err == nil {
							got, place = append(got, l.Name), l.Next
						}
					}
					for folded, name := range names {
						want = append(want, name)
						f.has(t, dir+"/"+folded, dir+"/"+name)
					}
					slices.Sort(got)
					slices.Sort(want)
					if !slices.Equal(got, want) {
						t.Fatal(dir, got, want)
					}
				}
			},
		})
	})
}
