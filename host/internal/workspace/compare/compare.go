// Package compare shows how the files of a workspace changed between two snapshots: as data, as unified text, and line by
// line.
//
// Guarantees:
//   - Every change of content, kind or permissions is in a [Diff], whatever the limits. What was not read, not counted or
//     not shown is marked and counted.
//   - Text leaves the package masked (package redact) and safe for a terminal, unless the caller asks for [Options.Exact].
//     Files that look like secrets are counted and not shown, unless the caller asks for [Options.Secrets].
//   - Where [Diff.Applies] is true, "git apply" turns the first snapshot's files into those of the second one. Without
//     [Options.Binary], "patch" does too.
//   - Work is bounded: by the sizes below, by [Options], and by the context. Nothing is written.
package compare

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Limits of what is read. A file beyond them is reported as large.
const (
	// maxSize is the size in bytes of a file that is compared by line.
	maxSize = 1 << 20
	// maxLines bounds its lines.
	maxLines = 100_000
	// sniffed is how many bytes of a file decide whether it is binary: a zero byte among them, as for Git.
	sniffed = 8000
)

// Source has the snapshots. [tracked.Provider] is one.
type Source interface {
	// List returns the snapshots in their order.
	List() []tracked.Snapshot
	// Diff returns the changes from one snapshot to another one, sorted by [tree.Sort].
	Diff(from, to uint64) ([]tree.Change, error)
	// Entry returns an entry of a snapshot, nil if there is none at the path.
	Entry(number uint64, path string) (*tree.Entry, error)
	// Content writes the content of a file of a snapshot.
	Content(w io.Writer, e *tree.Entry) error
}

// skipper is a source that knows what was left out of its snapshots.
type skipper interface {
	Skip(number uint64) (func(path string) bool, error)
}

// skipped returns a function that reports whether a path was left out of a snapshot.
func (c *Comparer) skipped(number uint64) func(path string) bool {
	if s, ok := c.source.(skipper); ok {
		if skip, err := s.Skip(number); err == nil {
			return func(path string) bool { return tracked.LeftOut(skip, path) != "" }
		}
	}
	return func(string) bool { return false }
}

// changes returns the changes from one snapshot to another one. A path that only one of them leaves out did not change.
func (c *Comparer) changes(from, to uint64) ([]tree.Change, error) {
	changes, err := c.source.Diff(from, to)
	if err != nil {
		return nil, err
	}
	then, now := c.skipped(from), c.skipped(to)
	return slices.DeleteFunc(changes, func(ch tree.Change) bool {
		return c.hides(ch.Path) || ch.Before == nil && then(ch.Path) || ch.After == nil && now(ch.Path)
	}), nil
}

// Comparer compares the snapshots of a source. It is safe for concurrent use if the source is.
type Comparer struct {
	source   Source
	redactor *redact.Redactor
	hidden   func(path string) bool
}

// Hide leaves paths out of every comparison, those of earlier snapshots too. It is called before the comparer is used.
func (c *Comparer) Hide(hidden func(path string) bool) { c.hidden = hidden }

// hides reports whether a path is left out of every comparison.
func (c *Comparer) hides(path string) bool { return c.hidden != nil && c.hidden(path) }

// New returns a comparer that masks with a redactor.
func New(source Source, redactor *redact.Redactor) *Comparer {
	return &Comparer{source: source, redactor: redactor}
}

// Content is what a file is to a reader, and why it is not shown as text.
type Content string

// What a file is.
const (
	Text   Content = "text"
	Binary Content = "binary"
	// Large exceeds 1 MiB or 100,000 lines.
	Large Content = "large"
	// Secret looks like a secret, by its path or its content.
	Secret Content = "secret"
	// Unread has a content that was not recorded, or that the store no longer has.
	Unread Content = "unread"
	// Beyond was neither read nor shown, because more than [Options.MaxFiles] changed.
	Beyond    Content = "beyond_limit"
	Directory Content = "directory"
)

// file is what an entry has to compare.
type file struct {
	text text
	is   Content
	// why says why it cannot be read.
	why string
}

// read reads an entry. Nil and a directory are an empty text; the text of a link is its target.
func (c *Comparer) read(e *tree.Entry) file {
	switch {
	case e == nil || e.Kind == tree.Dir:
		return file{is: Text}
	case e.Kind == tree.Link:
		return file{is: Text, text: newText(e.Target)}
	case e.Unread != "":
		return file{is: Unread, why: e.Unread}
	case e.Size > maxSize:
		return file{is: Large, why: "it is larger than 1 MiB"}
	}
	var s strings.Builder
	s.Grow(int(e.Size))
	if err := c.source.Content(&limited{&s, maxSize}, e); err != nil {
		return file{is: Unread, why: err.Error()}
	}
	content := s.String()
	if strings.IndexByte(content[:min(len(content), sniffed)], 0) >= 0 {
		return file{is: Binary}
	}
	if strings.Count(content, "\n") > maxLines {
		return file{is: Large, why: fmt.Sprintf("it has more than %d lines", maxLines)}
	}
	return file{is: Text, text: newText(content)}
}

// limited refuses a content that is longer than its entry says.
type limited struct {
	to   *strings.Builder
	most int
}

var errLonger = errors.New("its content is longer than recorded")

func (l *limited) Write(b []byte) (int, error) {
	if l.to.Len()+len(b) > l.most {
		return 0, errLonger
	}
	return l.to.Write(b)
}

// ErrNotCounted means that the lines of a file cannot be counted: it is too large, or was not recorded.
var ErrNotCounted = errors.New("its lines are not counted")

// Stat counts the lines added and removed between two states of a path; nil is a path that does not exist. Of a binary
// file it counts nothing. A file that is too large is an [ErrNotCounted]. It reads at most 2 MiB.
func (c *Comparer) Stat(before, after *tree.Entry) (added, removed int, binary bool, err error) {
	if before != nil && after != nil && before.SameContent(after) && before.Unread == "" {
		return 0, 0, false, nil
	}
	a := c.read(before)
	b := c.read(after)
	for _, f := range []file{a, b} {
		if f.is == Large || f.is == Unread {
			return 0, 0, false, fmt.Errorf("%w: %s", ErrNotCounted, f.why)
		}
	}
	if a.is == Binary || b.is == Binary {
		return 0, 0, true, nil
	}
	added, removed = counted(a.text, b.text, match(a.text, b.text))
	return added, removed, false, nil
}
