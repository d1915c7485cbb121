package treetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// editorEnv is set in a process that edits.
const editorEnv = "TIDEMARK_TEST_EDITOR"

// In each test program that uses this package, a second process of it edits instead of testing.
func init() {
	if os.Getenv(editorEnv) != "" {
		serve(os.Stdin, os.Stdout)
		os.Exit(0)
	}
}

// Editor is a second process that edits workspaces.
type Editor struct {
	t   *testing.T
	in  *json.Encoder
	out *json.Decoder
}

// request asks a process to edit: once, or until the next request, which has no directory.
type request struct {
	Dir  string
	Seed uint64
	Run  bool
}

// answer is what it did, or every state that files had while it ran.
type answer struct {
	Did    string
	States []string
}

// StartEditor starts a process that edits until the test ends.
func StartEditor(t *testing.T) *Editor {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), editorEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process that edits: %v", err)
		}
	})
	return &Editor{t: t, in: json.NewEncoder(in), out: json.NewDecoder(out)}
}

func (e *Editor) send(r request) {
	if err := e.in.Encode(r); err != nil {
		e.t.Fatal(err)
	}
}

func (e *Editor) receive() (a answer) {
	if err := e.out.Decode(&a); err != nil {
		e.t.Fatalf("the process that edits: %v", err)
	}
	return a
}

// Edit has the process change a workspace at random, and returns when it did.
func (e *Editor) Edit(t *rapid.T, dir string) {
	e.send(request{Dir: dir, Seed: rapid.Uint64().Draw(t, "edit")})
	t.Log(e.receive().Did)
}

// Run has the process change a workspace at random without a pause, until [Editor.Pause]. It returns when it has begun.
func (e *Editor) Run(dir string, seed uint64) {
	e.send(request{Dir: dir, Seed: seed, Run: true})
	e.receive()
}

// Pause ends what Run began, and returns each state that a path had meanwhile, as [States] has them.
func (e *Editor) Pause() []string {
	e.send(request{})
	return e.receive().States
}

// serve edits as it is asked to.
func serve(in io.Reader, out io.Writer) {
	requests, to := make(chan request), json.NewEncoder(out)
	go func() {
		defer close(requests)
		for from := json.NewDecoder(in); ; {
			var r request
			if from.Decode(&r) != nil {
				return
			}
			requests <- r
		}
	}()
	for r := range requests {
		e := &edit{Rand: rand.New(rand.NewPCG(r.Seed, 0)), dir: r.Dir, note: func() {}} //nolint:gosec // a test's edits
		if !r.Run {
			_ = to.Encode(answer{Did: e.one()})
			continue
		}
		seen := map[string]bool{}
		e.note = func() {
			for _, line := range States(fails{}, r.Dir) {
				seen[line] = true
			}
		}
		e.note()
		_ = to.Encode(answer{})
		for running := true; running; {
			select {
			case <-requests:
				running = false
			default:
				e.one()
			}
		}
		_ = to.Encode(answer{States: slices.Collect(maps.Keys(seen))})
	}
}

// fails ends the process.
type fails struct{}

func (fails) Helper() {}

func (fails) Fatal(args ...any) {
	_, _ = fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

func (f fails) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// edit is a random edit of a workspace. Each call of the system that changes a state is followed by note.
type edit struct {
	*rand.Rand
	dir  string
	note func()
}

var names = []string{"a", "b", "B", "src", "lib", "\u00fc", "with space", "new\nline", "\xff\xfe", "-rf", "a.b", "a-b", ".env", ".hidden"}

// name is one that other edits choose too, or any bytes.
func (e *edit) name() string {
	if e.IntN(8) > 0 || runtime.GOOS == "windows" {
		return names[e.IntN(len(names))]
	}
	b := make([]byte, 1+e.IntN(8))
	for i := range b {
		for b[i] == 0 || b[i] == '/' {
			b[i] = byte(e.Uint32())
		}
	}
	return strings.ReplaceAll(string(b), ".", "_") // neither "." nor ".."
}

// kinds are the edits. Those that are there twice are made twice as often.
var kinds = []string{
	"write", "write", "mkdir", "append", "overwrite", "truncate", "rename", "case", "remove", "link", "symlink", "chmod", "xattr", "large",
}

// one makes an edit and describes it.
func (e *edit) one() string {
	paths := []string{"."}
	_ = filepath.WalkDir(e.dir, func(path string, _ os.DirEntry, _ error) error {
		if rel, _ := filepath.Rel(e.dir, path); rel != "." {
			paths = append(paths, rel)
		}
		return nil
	})
	slices.Sort(paths)
	at := paths[e.IntN(len(paths))]
	path := filepath.Join(e.dir, at)
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	fresh := filepath.Join(path, e.name())
	if !info.IsDir() {
		fresh = filepath.Join(filepath.Dir(path), filepath.Base(fresh))
	}
	content := make([]byte, e.IntN(40))
	for i := range content {
		content[i] = byte(e.Uint32())
	}
	kind := kinds[e.IntN(len(kinds))]
	err = e.do(kind, path, fresh, info, content)
	e.note()
	return fmt.Sprintf("%s at %q, %q: %v", kind, at, filepath.Base(fresh), err)
}

func (e *edit) do(kind, path, fresh string, info os.FileInfo, content []byte) error {
	switch kind {
	case "write": // in place of whatever is there
		if err := os.RemoveAll(fresh); err != nil {
			return err
		}
		f, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		e.note()
		_, err = f.Write(content)
		return errors.Join(err, f.Close())
	case "mkdir":
		return os.Mkdir(fresh, 0o755)
	case "append":
		return e.keeping(path, info, os.O_APPEND, func(f *os.File) error { _, err := f.Write(content); return err })
	case "overwrite": // at its beginning and its end, with the same size
		return e.keeping(path, info, 0, func(f *os.File) error {
			n := min(int64(len(content)), info.Size())
			_, err := f.WriteAt(content[:n], 0)
			e.note()
			_, last := f.WriteAt(content[:n], info.Size()-n)
			return errors.Join(err, last)
		})
	case "truncate": // a longer file has a hole
		return os.Truncate(path, int64(e.IntN(2))*100_000+3)
	case "rename":
		if path == e.dir {
			return nil
		}
		return os.Rename(path, fresh)
	case "case":
		if path == e.dir {
			return nil
		}
		return os.Rename(path, filepath.Join(filepath.Dir(path), strings.Map(otherCase, filepath.Base(path))))
	case "remove":
		if path == e.dir {
			return nil
		}
		return os.RemoveAll(path)
	case "link":
		return os.Link(path, fresh)
	case "symlink":
		return os.Symlink([]string{"/etc", "..", "a", "nowhere"}[e.IntN(4)], fresh)
	case "chmod":
		modes := []os.FileMode{0o600, 0o755, 0o444, 0o640 | os.ModeSetuid}
		switch {
		case info.Mode().IsRegular():
			return os.Chmod(path, modes[e.IntN(len(modes)-e.IntN(2))])
		case info.IsDir() && runtime.GOOS != "windows" && path != e.dir:
			return os.Chmod(path, []os.FileMode{0o700, 0o755, 0o711, 0o555, 0o777 | os.ModeSticky}[e.IntN(5)])
		}
	case "xattr":
		return setXattr(path, []string{"user.one", "user.two"}[e.IntN(2)], content)
	case "large": // it comes at once
		from := e.dir + ".large"
		err := os.WriteFile(from, bytes.Repeat(append(content, 'x'), 60_000), 0o600)
		return errors.Join(err, os.Rename(from, fresh), os.RemoveAll(from))
	}
	return nil
}

// keeping changes a file and puts its time back.
func (e *edit) keeping(path string, info os.FileInfo, flags int, change func(f *os.File) error) error {
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0)
	if err != nil {
		return err
	}
	err = change(f)
	e.note()
	return errors.Join(err, f.Close(), os.Chtimes(path, time.Time{}, info.ModTime()))
}

// otherCase changes ASCII letters only.
func otherCase(r rune) rune {
	switch {
	case r > unicode.MaxASCII:
		return r
	case unicode.IsUpper(r):
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}
