package compare_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// TestBlameIsTheHistoryOfEachLine, compared with one that is kept while the file is edited. Every line that is written is
// unlike all others, so that it is known which one it is; so are the lines of the other files, so that no rename is taken
// for another one.
func TestBlameIsTheHistoryOfEachLine(t *testing.T) {
	type line struct {
		text string
		at   uint64 // 0 is before the first snapshot
	}
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory()
		next := 0
		fresh := func(at uint64) line {
			next++
			return line{fmt.Sprintf("line %d is %x of its own\n", next, next*7919), at}
		}
		history := map[string][]line{}
		for i := range 3 {
			for range rapid.IntRange(1, 12).Draw(t, "lines") {
				name := fmt.Sprintf("dir/file%d", i)
				history[name] = append(history[name], fresh(0))
			}
		}
		save := func() {
			all := files{}
			for name, lines := range history {
				var b strings.Builder
				for _, l := range lines {
					b.WriteString(l.text)
				}
				all[name] = b.String()
			}
			m.take(all)
		}
		save()
		snapshots := rapid.IntRange(1, 8).Draw(t, "snapshots")
		for i := range snapshots {
			number := uint64(i + 2)
			names := make([]string, 0, len(history))
			for name := range history {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				lines := history[name]
				switch rapid.IntRange(0, 4).Draw(t, name) {
				case 0: // moved as it is
					to := fmt.Sprintf("moved%d/%s", number, name)
					history[to] = lines
					delete(history, name)
				case 1, 2:
					for range rapid.IntRange(1, 3).Draw(t, "edits") {
						at := rapid.IntRange(0, len(lines)).Draw(t, "at")
						if rapid.Bool().Draw(t, "insert") || at == len(lines) || len(lines) == 1 {
							lines = slices.Insert(slices.Clone(lines), at, fresh(number))
						} else {
							lines = slices.Delete(slices.Clone(lines), at, at+1)
						}
					}
					history[name] = lines
				case 3: // moved with one more line
					if len(lines) < 4 {
						continue
					}
					history[name+"x"] = append(slices.Clone(lines), fresh(number))
					delete(history, name)
				}
			}
			save()
		}
		c := compare.New(m, redactor)
		for name, lines := range history {
			b, err := c.Blame(context.Background(), name, compare.BlameOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Lines) != len(lines) || b.Stopped != "" {
				t.Fatalf("%+v", b)
			}
			for i, want := range lines {
				got := b.Lines[i]
				if got.Snapshot != want.at || got.Text+"\n" != want.text || got.Line != i+1 || (got.Age == compare.BeforeFirst) != (want.at == 0) {
					t.Fatalf("%s:%d is of s%d, want s%d: %+v", name, i+1, got.Snapshot, want.at, got)
				}
				was := m.trees[max(got.Snapshot, 1)-1].Lookup(got.Path) // the line is where it was then
				if !strings.HasPrefix(strings.Join(strings.SplitAfter(m.contents[was.Content], "\n")[got.OldLine-1:], ""), want.text) {
					t.Fatalf("%s:%d is not at %s:%d", name, i+1, got.Path, got.OldLine)
				}
			}
			if n := rapid.IntRange(1, len(lines)).Draw(t, "one"); true {
				one, err := c.Blame(context.Background(), name, compare.BlameOptions{First: n})
				if err != nil || len(one.Lines) != 1 || one.Lines[0] != b.Lines[n-1] {
					t.Fatalf("%+v %v, want %+v", one, err, b.Lines[n-1])
				}
			}
		}
	})
}

// TestBlameOfARealWorkspace, with a snapshot in the middle that was deleted.
func TestBlameOfARealWorkspace(t *testing.T) {
	dir := t.TempDir()
	workspace := filepath.Join(dir, "workspace")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "store"), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	var taken []uint64
	for i, content := range []string{"one\ntwo\n", "one\ntwo\nthree\n", "zero\none\ntwo\nthree\n", "zero\none\n2\nthree\n"} {
		if err := os.WriteFile(filepath.Join(workspace, "f"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := p.Take(context.Background(), fmt.Sprint("edit ", i))
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, s.Number)
	}
	if err := p.Delete(taken[1]); err != nil {
		t.Fatal(err)
	}
	b, err := compare.New(p, redactor).Blame(context.Background(), "f", compare.BlameOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []uint64{taken[2], 0, taken[3], taken[2]}
	for i, l := range b.Lines {
		if l.Snapshot != want[i] {
			t.Errorf("%+v", l)
		}
	}
	if len(b.Origins) != 2 || b.Origins[0].Label != "edit 3" || b.Oldest != taken[0] {
		t.Errorf("%+v", b)
	}
}

func TestWhatHasNoBlame(t *testing.T) {
	m := newMemory()
	c := compare.New(m, redactor)
	var unknown *tracked.UnknownError
	if _, err := c.Blame(context.Background(), "a", compare.BlameOptions{}); !errors.As(err, &unknown) {
		t.Error(err)
	}
	m.take(files{"a": "a\n", "bin": "\x00", ".env": "A=1\n", "d/f": "x\n", "gone": "x\n"})
	m.take(files{"a": "a\nb\n", "bin": "\x00", ".env": "A=1\n", "d/f": "x\n"})
	for _, test := range []struct {
		path string
		o    compare.BlameOptions
		want string
	}{
		{"nothing", compare.BlameOptions{}, "there is no such file"},
		{"d", compare.BlameOptions{}, "it is a directory"},
		{"bin", compare.BlameOptions{}, "it is binary"},
		{".env", compare.BlameOptions{}, "it looks like a secret: environment variables"},
		{"gone", compare.BlameOptions{}, "s2 removed it. Name a snapshot before, such as s1."},
		{"./d/../a", compare.BlameOptions{First: 3}, "it has 2 lines, and not the lines 3 to 3"},
		{"a", compare.BlameOptions{First: 2, At: 1}, "it has 1 lines, and not the lines 2 to 2"},
		{"x\x1b[31m", compare.BlameOptions{}, `cannot blame "x\033[31m" in s`},
	} {
		var e *compare.PathError
		if _, err := c.Blame(context.Background(), test.path, test.o); !errors.As(err, &e) || !strings.Contains(err.Error(), test.want) || e.Secret != (test.path == ".env") {
			t.Errorf("%q: %v", test.path, err)
		}
	}
	for _, path := range []string{"", "."} {
		if _, err := c.Blame(context.Background(), path, compare.BlameOptions{}); usererr.CodeOf(err) != usererr.InvalidArgument || !strings.Contains(err.Error(), "Name a file") {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{"../x", "/x", "x\x00"} {
		if _, err := c.Blame(context.Background(), path, compare.BlameOptions{}); usererr.CodeOf(err) != usererr.InvalidArgument {
			t.Errorf("%q: %v", path, err)
		}
		if _, err := c.Diff(context.Background(), 1, 2, compare.Options{Paths: []string{path}}); usererr.CodeOf(err) != usererr.InvalidArgument {
			t.Errorf("%q: %v", path, err)
		}
	}
	if b, err := c.Blame(context.Background(), "gone", compare.BlameOptions{At: 1}); err != nil || len(b.Lines) != 1 || b.Lines[0].Age != compare.BeforeFirst {
		t.Errorf("%+v %v", b, err)
	}
	if _, err := c.Blame(context.Background(), ".env", compare.BlameOptions{Secrets: true}); err != nil {
		t.Error(err)
	}
}

// TestASearchThatStopsSaysWhere.
func TestASearchThatStopsSaysWhere(t *testing.T) {
	m := newMemory()
	content := strings.Repeat("x\n", 600_000)
	m.take(files{"a": content, "b": "0\n"})
	m.take(files{"a": "x\n", "b": "0\n1\n"})
	m.take(files{"a": "x\ny\n", "b": "0\n1\n2\n"})
	c := compare.New(m, redactor)
	b, err := c.Blame(context.Background(), "a", compare.BlameOptions{})
	if err != nil || b.Lines[0].Age != compare.NotSearched || b.Lines[1].Snapshot != 3 || !strings.Contains(b.Stopped, "s2") || !strings.Contains(b.Stopped, "large") {
		t.Errorf("%+v %v", b, err)
	}
	b, err = c.Blame(context.Background(), "b", compare.BlameOptions{MaxSteps: 1})
	if err != nil || b.Lines[0].Age != compare.NotSearched || b.Lines[1].Age != compare.NotSearched || b.Lines[2].Snapshot != 3 || !strings.Contains(b.Stopped, "s2") {
		t.Errorf("%+v %v", b, err)
	}
}

func TestBlameIsMasked(t *testing.T) {
	m := newMemory()
	m.take(files{"a": "// password: correct-horse-battery\n\x1b[31m\n"})
	b, err := compare.New(m, redactor).Blame(context.Background(), "a", compare.BlameOptions{})
	if err != nil || b.Lines[0].Text != "// password: [masked]" || b.Lines[1].Text != `\x1b[31m` || b.Masked != 1 || b.Escaped != 1 {
		t.Errorf("%+v %v", b, err)
	}
}
