package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// turns is how often each program has its turn.
const turns = 3

// compare builds an older commit and runs the parts with its program and with the checkout's in turn, A B A B. Parts
// that measure inside this program are run by the older commit's own bench; of one that it does not have, only
// today's figures are shown. The last column is today's figure divided by the older one's, of medians.
func (r *run) compare(rev string, wanted []string) (err error) {
	dir, err := os.MkdirTemp("", "tmb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Printf("building %s …\n", rev)
	old := filepath.Join(dir, "old")
	if err := buildCommit(rev, old); err != nil {
		return fmt.Errorf("%s cannot be built: %w", rev, err)
	}
	fmt.Println("building the checkout …")
	binary, err := testbed.Build(dir)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i, name := range wanted {
		part := parts[slices.IndexFunc(parts, func(p part) bool { return p.name == name })]
		args := []string{"-only", name}
		if r.quick {
			args = append(args, "-quick")
		}
		theirs, ours := newFigures(), newFigures()
		for turn := range turns {
			fmt.Printf("[%d/%d] %s, turn %d of %d\n", i+1, len(wanted), name, turn+1, turns)
			bench, in, with := self, "", append(args, "-binary", filepath.Join(old, "bin", "tidemark"))
			if part.inside {
				bench, in, with = filepath.Join(old, "bin", "bench"), old, args
			}
			got, bad := measured(bench, in, with...)
			if bad != nil {
				err = errors.Join(err, fmt.Errorf("%s of %s could not be measured: %w", name, rev, bad))
			} else {
				theirs.add(got)
			}
			if got, bad = measured(self, "", append(args, "-binary", binary)...); bad != nil {
				err = errors.Join(err, fmt.Errorf("%s could not be measured: %w", name, bad))
			} else {
				ours.add(got)
			}
		}
		if bad := ours.print(rev, theirs); bad != nil {
			return errors.Join(err, bad)
		}
	}
	return err
}

// buildCommit puts a commit into a directory of its own, and builds its program and its bench there.
func buildCommit(rev, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	archive := dir + ".tar"
	for _, step := range [][]string{
		{"", "git", "archive", "--output", archive, rev},
		{"", "tar", "-xf", archive, "-C", dir},
		{dir, "make", "build"},
		{dir, "go", "build", "-o", filepath.Join("bin", "bench"), "./host/bench"},
	} {
		cmd := exec.Command(step[1], step[2:]...)
		cmd.Dir = step[0]
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", step[1], err, out)
		}
	}
	return nil
}

// figures are what several turns of a part measured, by what was measured.
type figures struct {
	order  []string
	values map[string][]float64
}

func newFigures() *figures { return &figures{values: map[string][]float64{}} }

// leading is the number that a figure begins with.
var leading = regexp.MustCompile(`^-?\d+(\.\d+)?`)

func (f *figures) add(r *results) {
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			n, err := strconv.ParseFloat(leading.FindString(row.Measured), 64)
			if err != nil {
				continue // it is no number
			}
			if f.values[row.What] == nil {
				f.order = append(f.order, row.What)
			}
			f.values[row.What] = append(f.values[row.What], n)
		}
	}
}

func (f *figures) print(rev string, before *figures) error {
	t := render.Table{Indent: "  "}
	t.Row("what", rev, "checkout", "ratio")
	for _, what := range f.order {
		now := quantile(f.values[what], .5)
		then, ratio := "not measured", ""
		if list := before.values[what]; len(list) > 0 {
			was := quantile(list, .5)
			then = plain(was)
			if was != 0 {
				ratio = fmt.Sprintf("%.2f", now/was)
			}
		}
		t.Row(what, then, plain(now), ratio)
	}
	fmt.Printf("  medians of %d turns on %s/%s\n", turns, runtime.GOOS, runtime.GOARCH)
	return t.Write(os.Stdout)
}
