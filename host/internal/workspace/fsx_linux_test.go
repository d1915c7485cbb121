package workspace_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/testing/mounttest"
)

// fsxMost is how large the files get, in bytes: more than a page of the kernel, and a chunk of a store.
const fsxMost = 300_000

// fsx does random operations to a file, and to a model of it.
type fsx struct {
	m     *mountWorld
	holes bool // can be made
	r     *rand.Rand
	path  string
	fd    int
	model []byte
	log   []string
}

func (x *fsx) fatal(format string, args ...any) {
	x.m.t.Helper()
	last := x.log[max(0, len(x.log)-20):]
	x.m.t.Fatal(fmt.Sprintf(format, args...), "after", last)
}

func (x *fsx) note(what string, args ...any) {
	x.log = append(x.log, fmt.Sprintf(what, args...))
}

func (x *fsx) open() {
	fd, err := unix.Open(x.path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	x.m.must(err)
	x.fd = fd
}

func (x *fsx) resize(size int) {
	for len(x.model) < size {
		x.model = append(x.model, make([]byte, size-len(x.model))...)
	}
	x.model = x.model[:size]
}

// part is a part of the file.
func (x *fsx) part() (from, to int) {
	from = x.r.IntN(len(x.model) + 1)
	return from, from + x.r.IntN(len(x.model)-from+1)
}

func (x *fsx) same(what string, from int, got []byte) {
	want := x.model[from:min(len(x.model), from+len(got))]
	if !bytes.Equal(got[:len(want)], want) {
		for i := range want {
			if got[i] != want[i] {
				x.fatal("%s: byte %d is %#x, want %#x", what, from+i, got[i], want[i])
			}
		}
	}
}

func (x *fsx) step() {
	data := make([]byte, x.r.IntN(70_000))
	for i := range data {
		data[i] = byte(x.r.Uint32())
	}
	at := x.r.IntN(fsxMost - len(data))
	what := x.r.IntN(12)
	if !x.holes && (what == 8 || what == 9) {
		return
	}
	switch what {
	case 0, 1:
		from, to := x.part()
		x.note("read %d-%d", from, to)
		b := make([]byte, to-from)
		n, err := unix.Pread(x.fd, b, int64(from))
		if err != nil || n != len(b) {
			x.fatal("read %d, %v", n, err)
		}
		x.same("read", from, b)
	case 2, 3, 4:
		x.note("write %d-%d", at, at+len(data))
		n, err := unix.Pwrite(x.fd, data, int64(at))
		if err != nil || n != len(data) {
			x.fatal("write %d, %v", n, err)
		}
		if len(data) > 0 {
			x.resize(max(len(x.model), at+len(data)))
			copy(x.model[at:], data)
		}
	case 5:
		x.note("truncate %d", at)
		x.m.must(unix.Ftruncate(x.fd, int64(at)))
		x.resize(at)
	case 6, 7:
		from, to := x.part()
		if from == to {
			return
		}
		write := x.r.IntN(2) == 0
		x.note("map %d-%d %v", from, to, write)
		b, err := unix.Mmap(x.fd, 0, len(x.model), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		x.m.must(err)
		x.same("mapped", from, b[from:to])
		if write {
			n := copy(b[from:to], data)
			copy(x.model[from:to], data[:n])
		}
		if x.r.IntN(2) == 0 {
			x.m.must(unix.Msync(b, unix.MS_SYNC))
		}
		x.m.must(unix.Munmap(b))
	case 8:
		from, to := x.part()
		if from == to {
			return
		}
		x.note("punch %d-%d", from, to)
		x.m.must(unix.Fallocate(x.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(from), int64(to-from)))
		clear(x.model[from:to])
	case 9:
		if len(data) == 0 {
			return
		}
		x.note("allocate %d-%d", at, at+len(data))
		x.m.must(unix.Fallocate(x.fd, 0, int64(at), int64(len(data))))
		x.resize(max(len(x.model), at+len(data)))
	case 10:
		x.note("close and open")
		x.m.must(unix.Close(x.fd))
		x.open()
	default:
		x.note("sync")
		x.m.must(unix.Fsync(x.fd))
	}
	info, err := os.Stat(x.path)
	if err != nil || info.Size() != int64(len(x.model)) {
		x.fatal("the size is %d, want %d, %v", info.Size(), len(x.model), err)
	}
}

// whole compares the whole file.
func (x *fsx) whole() {
	content, err := os.ReadFile(x.path)
	if err != nil || len(content) != len(x.model) {
		x.fatal("it has %d bytes, want %d, %v", len(content), len(x.model), err)
	}
	x.same("whole", 0, content)
}

// TestRandomOperationsOnFiles compares files that the snapshot has, and new ones, with a model. By FUSE alone, the process is killed now
// and then.
func TestRandomOperationsOnFiles(t *testing.T) { onBothForms(t, testRandomOperationsOnFiles) }

// TestRandomOperationsOnFilesByPaths is the same for what mounts on Windows, without what WinFsp does not ask for: holes.
func TestRandomOperationsOnFilesByPaths(t *testing.T) {
	mounttest.Need(t)
	randomOperationsOnFiles(t, newMountWorldBy(t, mkdirTop(t), true, needPaths(t)), true)
}

func testRandomOperationsOnFiles(t *testing.T, alone bool) {
	randomOperationsOnFiles(t, newMountWorldOf(t, mkdirTop(t), alone), false)
}

func randomOperationsOnFiles(t *testing.T, m *mountWorld, byPaths bool) {
	defer m.end()
	alone := m.alone
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var files []*fsx
	for i := range 6 {
		x := &fsx{m: m, holes: !byPaths, r: r, path: fmt.Sprint("file", i)}
		if i%2 == 0 {
			x.model = make([]byte, []int{10, 5000, 200_000}[i/2])
			for j := range x.model {
				x.model[j] = byte(r.Uint32())
			}
			m.must(os.WriteFile(filepath.Join(m.dir, x.path), x.model, 0o600))
		}
		files = append(files, x)
	}
	m.write(filepath.Join(m.dir, "never empty"), "")
	dir := m.branch(m.take())
	for _, x := range files {
		x.path = filepath.Join(dir, x.path)
		f, err := os.OpenFile(x.path, os.O_RDWR|os.O_CREATE, 0o600)
		m.must(err, f.Close())
		x.open()
	}
	steps := 3000
	if testing.Short() {
		steps = 300
	}
	for i := range steps {
		files[r.IntN(len(files))].step()
		if i%500 != 499 {
			continue
		}
		for _, x := range files {
			x.whole()
			m.must(unix.Fsync(x.fd)) // what was written by mmap
		}
		if alone {
			m.kill()
			for _, x := range files {
				if err := unix.Close(x.fd); err != nil && !errors.Is(err, unix.ENOTCONN) {
					m.must(err)
				}
			}
			m.must(m.all.Present(t.Context(), dir))
			for _, x := range files {
				x.note("killed")
				x.open()
				x.whole()
			}
		}
	}
	for _, x := range files {
		m.must(unix.Close(x.fd))
	}
}
