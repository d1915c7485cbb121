package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	snapshots "tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// What reading and working in a branch promise, as shares of the speed of an ordinary directory. A file that is read again comes from
// memory. The kernel keeps files of FUSE in pages of 4 KiB, and those of some filesystems in larger ones. No FUSE
// server decides that. So it is measured beside a file of a tmpfs, which is in pages of 4 KiB too.
const (
	usedRuns     = 6
	usedSmall    = 10_000
	usedLarge    = 192 << 20
	usedPackage  = 1500 // files of each package of npm
	usedModules  = 400  // of a page
	shareCold    = .3
	shareCached  = .9
	shareSmall   = .25
	shareOverlay = 1 / 1.3
	shareAlone   = .3
)

// smallPages is a tmpfs with pages of 4 KiB, unless the user has asked for larger ones.
const smallPages = "/dev/shm"

// readAgain is the row of what is measured beside [smallPages].
const readAgain = "reading it 20 times again"

// use is something that is measured in a directory. The name is that of its row.
type use struct {
	name string
	// alone and overlay are the least shares of the speed of an ordinary directory, for the forms of a branch.
	alone, overlay float64
	cold           bool
	do             func(dir string) error
}

// uses are measured in their order, each list in branches of its own.
var uses = [][]use{{
	{"reading a large file, cold", shareCold, shareCold, true, readLarge},
	{readAgain, shareCached, shareCached, false, readOften},
}, {
	{fmt.Sprintf("reading %d small files, cold", usedSmall), shareSmall, shareSmall, true, readSmall},
	{"npm ci", shareAlone, shareOverlay, false, func(dir string) error {
		return inDir(dir, "npm", "ci", "--offline", "--silent", "--no-audit", "--no-fund", "--cache", filepath.Join(filepath.Dir(dir), "npm"))
	}},
	{"vite build", shareAlone, shareOverlay, false, func(dir string) error {
		vite, err := filepath.Abs("node_modules/vite/bin/vite.js")
		return cmp.Or(err, inDir(filepath.Join(dir, "web"), "node", vite, "build", "--logLevel", "error"))
	}},
}}

// mountedUse measures reading and working in both forms of branches and in an ordinary directory, in turn.
func mountedUse(r *run) (err error) {
	s := r.sheet("Working in mounted branches, beside a copy on the same disk")
	if os.Geteuid() != 0 {
		s.note("not measured: only root can empty the caches of the kernel")
		return s.print()
	}
	temporary, err := os.MkdirTemp("", "tidemark-used")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(temporary)) }()
	top, end, err := mountImage(temporary, "ext4")
	if err != nil {
		s.note("not measured: " + err.Error())
		return s.print()
	}
	forms := []string{"a copy", "FUSE alone", "the kernel's overlay"}
	worlds := map[string]*mountedWorld{}
	defer func() {
		for _, w := range worlds {
			err = errors.Join(err, w.close())
		}
		err = errors.Join(err, end())
	}()
	original := filepath.Join(top, "original")
	if err := newUsed(top, original); err != nil {
		return err
	}
	for _, form := range forms[1:] {
		w := &mountedWorld{top: filepath.Join(top, form), dir: filepath.Join(top, form, "workspace")}
		if err := errors.Join(os.Mkdir(w.top, 0o700), copyDir(original, w.dir), w.start(r, form == "FUSE alone")); err != nil {
			return err
		}
		worlds[form] = w
		taken, _, err := w.open.Take(context.Background(), "bench", "", false)
		if err != nil {
			return err
		}
		w.numbers = append(w.numbers, taken.Number)
	}
	small, err := os.MkdirTemp(smallPages, "tidemark-used")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(small)) }()
	for _, list := range uses {
		took := map[string]map[string][]time.Duration{}
		for k := range r.third(usedRuns) {
			for i := range forms { // another one begins each time
				form := forms[(i+k)%len(forms)]
				progress("mounts: %s, %d in %s …", list[0].name, k+1, form)
				dir := filepath.Join(top, fmt.Sprint(form, " ", k))
				if w := worlds[form]; w == nil {
					err = copyDir(original, dir)
				} else {
					err = w.branch(dir, form)
				}
				if err == nil {
					err = useDir(list, dir, func(name string, one time.Duration) {
						if took[name] == nil {
							took[name] = map[string][]time.Duration{}
						}
						took[name][form] = append(took[name][form], one)
					})
				}
				if err == nil {
					err = tracked.RemoveAll(dir)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", form, err)
				}
			}
			if list[len(list)-1].name != readAgain {
				continue
			}
			// How fast memory is read depends on where the pages lie, and that on what was read before.
			if err := errors.Join(os.RemoveAll(filepath.Join(small, "large")), dropCaches(), inDir("/", "cp", filepath.Join(original, "large"), small)); err != nil {
				return err
			}
			one, err := timed(func() error { return readOften(small) })
			if err != nil {
				return err
			}
			took[readAgain][smallPages] = append(took[readAgain][smallPages], one)
		}
		for _, u := range list {
			for _, form := range forms[1:] {
				least := u.alone
				if form != "FUSE alone" {
					least = u.overlay
				}
				a, b, peer := took[u.name][form], took[u.name][forms[0]], "a copy"
				if u.name == readAgain {
					s.note(fmt.Sprintf("%s, %s: %.2f of the speed of a copy, which the kernel may keep in larger pages", u.name, form, pairwise(b, a)))
					b, peer = took[u.name][smallPages], "a tmpfs"
				}
				share := pairwise(b, a)
				s.row(u.name+", "+form, fmt.Sprintf("%.2f of the speed of %s (%s, %s)", share, peer, ms(quantile(a, .5)), ms(quantile(b, .5))),
					fmt.Sprintf("at least %.2f", least), share >= least)
			}
		}
	}
	return s.print()
}

// useDir measures what is done in a directory.
func useDir(list []use, dir string, took func(name string, one time.Duration)) error {
	for _, u := range list {
		if u.cold {
			if err := dropCaches(); err != nil {
				return err
			}
		}
		one, err := timed(func() error { return u.do(dir) })
		if err != nil {
			return fmt.Errorf("%s: %w", u.name, err)
		}
		took(u.name, one)
	}
	return nil
}

// branch mounts a branch in a form.
func (m *mountedWorld) branch(dir, form string) error {
	if err := snapshots.CloneAs(context.Background(), m.open, m.numbers[0], dir, dir+".making"); err != nil {
		return err
	}
	if alone := overlay.FormOf(dir) == overlay.Alone; !overlay.Is(dir) || alone != (form == "FUSE alone") {
		return fmt.Errorf("the branch is %s", snapshots.Form(m.open, dir, true))
	}
	return nil
}

// newUsed makes the project that is worked in.
func newUsed(top, dir string) error {
	w, err := newWorkspace(filepath.Join(top, "small"), usedSmall)
	if err != nil {
		return err
	}
	if err := os.Rename(w.dir, dir); err != nil {
		return err
	}
	write := func(path string, content []byte) {
		path = filepath.Join(dir, path)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o600))
	}
	write("large", w.content(usedLarge))
	write("package.json", []byte(`{"name": "used", "version": "1.0.0", "private": true}`))
	for _, name := range []string{"a", "b"} {
		write("packages/"+name+"/package.json", fmt.Appendf(nil, `{"name": %q, "version": "1.0.0"}`, name))
		for i := range usedPackage {
			write(fmt.Sprintf("packages/%s/lib%d/file%d.js", name, i/100, i), w.content(fileSize))
		}
	}
	write("web/index.html", []byte(`<!doctype html><script type="module" src="/main.js"></script>`))
	var main []byte
	for i := range usedModules {
		write(fmt.Sprintf("web/m%d.js", i), fmt.Appendf(nil, "export const v%d = () => console.log(%q)\n", i, w.content(fileSize)))
		main = fmt.Appendf(main, "import { v%d } from './m%d.js'\nv%d()\n", i, i, i)
	}
	write("web/main.js", main)
	if err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		if err := inDir(filepath.Join(dir, "packages", name), "npm", "pack", "--silent"); err != nil {
			return err
		}
	}
	return inDir(dir, "npm", "install", "--offline", "--silent", "--package-lock-only", "--no-audit", "--no-fund", "--cache", filepath.Join(top, "npm"), "./packages/a/a-1.0.0.tgz", "./packages/b/b-1.0.0.tgz")
}

func inDir(dir, name string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// copyDir copies a directory, and has it on disk.
func copyDir(from, to string) error {
	return errors.Join(inDir("/", "cp", "-a", from, to), inDir("/", "sync"))
}

// dropCaches makes the kernel forget what it has read.
func dropCaches() error {
	return errors.Join(inDir("/", "sync"), os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0))
}

func readLarge(dir string) error {
	f, err := os.Open(filepath.Join(dir, "large"))
	if err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 1<<20))
	if err == nil && n != usedLarge {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, f.Close())
}

func readOften(dir string) error {
	for range 20 {
		if err := readLarge(dir); err != nil {
			return err
		}
	}
	return nil
}

func readSmall(dir string) error {
	read := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "packages" || d.Name() == "web") {
			return cmp.Or(err, fs.SkipDir)
		}
		if filepath.Ext(path) != ".ts" {
			return nil
		}
		read++
		_, err = os.ReadFile(path)
		return err
	})
	if err == nil && read != usedSmall {
		err = fmt.Errorf("%d files were read", read)
	}
	return err
}
