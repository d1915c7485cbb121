package tracked_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// TestADamagedByteLosesOneFile of one snapshot, after the store was opened again too.
func TestADamagedByteLosesOneFile(t *testing.T) {
	r := newRoom(t, tracked.Options{})
	contents := map[string][]byte{}
	var numbers []uint64
	for i := range 6 {
		name := fmt.Sprint("f", i)
		contents[name] = incompressible(20_000)
		r.write(name, contents[name])
		numbers = append(numbers, r.take())
	}
	if err := r.p.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.options.Store, "objects", "00000001.pack")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[bytes.Index(data, contents["f3"][10_000:])] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.open()
		if info, err := os.Stat(path); err != nil || info.Size() < int64(len(data)) {
			t.Fatalf("%d of %d bytes are left, %v", info.Size(), len(data), err)
		}
		if list := r.p.List(); len(list) != len(numbers) {
			t.Fatalf("%+v", list)
		}
		for i, n := range numbers {
			for j := range i + 1 {
				name := fmt.Sprint("f", j)
				e, err := r.p.Entry(n, name)
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				err = r.p.Content(&got, e)
				if is := bytes.Equal(got.Bytes(), contents[name]); is == (j == 3) || is != (err == nil) {
					t.Fatalf("s%d: %s is %d bytes, %v", n, name, got.Len(), err)
				}
			}
		}
		if damages := strings.Join(r.p.Check(), "\n"); !strings.Contains(damages, path+" is damaged") || strings.Contains(damages, "lost") || strings.Count(damages, "such as f3") != 3 {
			t.Fatal(damages)
		}
		if err := r.p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r.open()
}

// TestADamagedByteOfTheHistoryLosesNothing, wherever it is, in either file of the history.
func TestADamagedByteOfTheHistoryLosesNothing(t *testing.T) {
	r, contents := newHistory(t, 3)
	for _, name := range []string{"history", "history.second"} {
		path := filepath.Join(r.options.Store, name)
		data := readFile(t, path)
		for at := 0; at < len(data); at += 5 {
			writeFile(t, path, flipped(data, at))
			r.open()
			r.whole(contents, len(contents))
			damages := strings.Join(r.p.Check(), "\n")
			if want := fmt.Sprintf("%s was damaged at ", path); !strings.Contains(damages, want) || strings.Contains(damages, "lost:") || strings.Contains(damages, "\n") {
				t.Fatalf("%s at %d: %q", name, at, damages)
			}
			if err := r.p.Close(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(readFile(t, path), data) {
				t.Fatalf("%s is not repaired at %d", name, at)
			}
		}
	}
	path := filepath.Join(r.options.Store, "history")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.whole(contents, len(contents))
	if damages := strings.Join(r.p.Check(), "\n"); damages != path+" was missing. It was repaired from "+path+".second, and nothing is lost" {
		t.Fatalf("%q", damages)
	}
	if n := r.take(); n != 3 {
		t.Fatal(n)
	}
}

// TestADamagedHistoryWithoutASecondFileKeepsWhatItCan: what is before the damage, and what is behind it from the next whole
// tree on. No number is used again.
func TestADamagedHistoryWithoutASecondFileKeepsWhatItCan(t *testing.T) {
	r, contents := newHistory(t, 9)
	path := filepath.Join(r.options.Store, "history")
	data := readFile(t, path)
	objects := filepath.Join(r.options.Store, "objects")
	was := filepath.Join(t.TempDir(), "objects")
	if err := os.CopyFS(was, os.DirFS(objects)); err != nil {
		t.Fatal(err)
	}
	r.options.Known = func() uint64 { return 9 }
	behind := false
	for at := len("tidemark history ") + 2; at < len(data); at += 13 {
		if err := os.RemoveAll(r.options.Store); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(objects, os.DirFS(was)); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, flipped(data, at))
		r.open()
		list := r.p.List()
		r.whole(contents, len(list))
		behind = behind || len(list) > 1 && list[len(list)-1].Number == 9 && list[0].Number == 1
		damages := strings.Join(r.p.Check(), "\n")
		if len(list) == len(contents) || !strings.Contains(damages, path+" ") || strings.Contains(damages, "machine ended") || strings.Contains(damages, "no content") {
			t.Fatalf("%d: %d snapshots, %q", at, len(list), damages)
		}
		r.write("f", []byte("new"))
		if n := r.take(); n != 10 {
			t.Fatalf("%d: the next snapshot is s%d", at, n)
		}
		if err := r.p.Close(); err != nil {
			t.Fatal(err)
		}
		r.open()
		r.whole(contents, len(list)+1)
		if damages := r.p.Check(); len(damages) > 0 {
			t.Fatalf("%d: %q", at, damages)
		}
		if err := r.p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !behind {
		t.Fatal("nothing was read behind a damage")
	}
	r.open()
}

// TestADamageBehindADeletedSnapshotIsRead: what follows it is compared with the tree of the deleted one.
func TestADamageBehindADeletedSnapshotIsRead(t *testing.T) {
	r, contents := newHistory(t, 1)
	r.open()
	if err := r.p.Delete(1); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		content := []byte(fmt.Sprint("later ", i))
		r.write("f", content)
		contents[r.take()] = content
	}
	if err := r.p.Close(); err != nil {
		t.Fatal(err)
	}
	was := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(was, os.DirFS(r.options.Store)); err != nil {
		t.Fatal(err)
	}
	data := readFile(t, filepath.Join(was, "history"))
	for at := len("tidemark history ") + 2; at < len(data); at += 13 {
		if err := os.RemoveAll(r.options.Store); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(r.options.Store, os.DirFS(was)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(r.options.Store, "history.second")); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(r.options.Store, "history"), flipped(data, at))
		r.open()
		r.whole(contents, len(r.p.List()))
		if err := r.p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r.open()
}

// newHistory is a workspace with snapshots of one file whose store is closed, and their contents by number.
func newHistory(t *testing.T, snapshots int) (r *room, contents map[uint64][]byte) {
	r = newRoom(t, tracked.Options{})
	contents = map[uint64][]byte{}
	for i := range snapshots {
		content := []byte(fmt.Sprint("content ", i))
		r.write("f", content)
		contents[r.take()] = content
	}
	if err := r.p.Close(); err != nil {
		t.Fatal(err)
	}
	return r, contents
}

// whole fails unless so many snapshots are listed, each with its content.
func (r *room) whole(contents map[uint64][]byte, count int) {
	r.Helper()
	list := r.p.List()
	if len(list) != count {
		r.Fatalf("%d of %d snapshots: %+v, %q", len(list), count, list, r.p.Check())
	}
	for _, s := range list {
		e, err := r.p.Entry(s.Number, "f")
		if err != nil {
			r.Fatal(err)
		}
		var got bytes.Buffer
		if err := r.p.Content(&got, e); err != nil {
			r.Fatal(err)
		}
		t, err := r.p.Tree(s.Number)
		if err != nil {
			r.Fatal(err)
		}
		if n := t.Lookup("f"); n == nil || !n.Same(e) || contents[s.Number] != nil && !bytes.Equal(got.Bytes(), contents[s.Number]) {
			r.Fatalf("s%d has %q", s.Number, &got)
		}
	}
}

func flipped(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 0x10
	return data
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestASnapshotAfterADamageHasEveryIntactFile, whatever was damaged, and whoever found it.
func TestASnapshotAfterADamageHasEveryIntactFile(t *testing.T) {
	finders := map[string]func(r *room){
		"a check": func(r *room) { r.p.Check() },
		"a view": func(r *room) {
			for _, s := range r.p.List() {
				_ = r.p.Checkout(r.Context(), s.Number, filepath.Join(r.TempDir(), "view"), true)
			}
		},
		"opening": func(r *room) {
			if err := r.p.Close(); err != nil {
				r.Fatal(err)
			}
			r.open()
		},
	}
	hurt := map[string]func(data []byte, at int) []byte{
		"flipped":   flipped,
		"cut short": func(data []byte, at int) []byte { return data[:at] },
		"zeroed":    func(data []byte, at int) []byte { clear(data[at:min(len(data), at+5000)]); return data },
	}
	for how, harm := range hurt {
		for who, find := range finders {
			t.Run(how+", found by "+who, func(t *testing.T) {
				for at := 1; at < 16; at += 3 {
					r := newRoom(t, tracked.Options{})
					contents := map[string][]byte{"large": incompressible(1500 << 10)}
					for i := range 40 {
						contents[fmt.Sprint("f", i)] = incompressible(10_000)
					}
					for name, content := range contents {
						r.write(name, content)
					}
					r.take()
					contents["f0"] = incompressible(20_000)
					r.write("f0", contents["f0"])
					r.take()
					path := filepath.Join(r.options.Store, "objects", "00000001.pack")
					data := readFile(t, path)
					writeFile(t, path, harm(data, 16+(len(data)-17)*at/16))
					find(r)
					for range 2 {
						r.checksOut(r.take(), contents)
						contents["new"] = incompressible(1000)
						r.write("new", contents["new"])
					}
					number := r.take()
					if err := r.p.Close(); err != nil {
						t.Fatal(err)
					}
					r.open()
					r.checksOut(number, contents)
					if damages := strings.Join(r.p.Check(), "\n"); strings.Contains(damages, fmt.Sprintf("s%d:", number)) {
						t.Fatal(damages)
					}
				}
			})
		}
	}
}

// checksOut fails unless a checkout of a snapshot has the contents.
func (r *room) checksOut(number uint64, contents map[string][]byte) {
	r.Helper()
	dir := filepath.Join(r.T.TempDir(), "checkout")
	if err := r.p.Checkout(r.Context(), number, dir, false); err != nil {
		r.Fatalf("s%d: %v", number, err)
	}
	for name, content := range contents {
		if !bytes.Equal(readFile(r.T, filepath.Join(dir, name)), content) {
			r.Fatalf("s%d has another %s", number, name)
		}
	}
}

// TestSnapshotsThatWereLostSayWhichFileIsMissing, or which was cut off, and guess no cause.
func TestSnapshotsThatWereLostSayWhichFileIsMissing(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		" does not exist":              os.Remove,
		" ends at 100 within a record": func(path string) error { return os.Truncate(path, 100) },
	} {
		r, _ := newHistory(t, 3)
		path := filepath.Join(r.options.Store, "objects", "00000001.pack")
		if err := harm(path); err != nil {
			t.Fatal(err)
		}
		r.open()
		damages := strings.Join(r.p.Check(), "\n")
		if !strings.Contains(damages, "3 snapshots were lost: contents of them are in no file of "+filepath.Dir(path)+", where "+path+name+". A copy") {
			t.Errorf("%q", damages)
		}
	}
}
