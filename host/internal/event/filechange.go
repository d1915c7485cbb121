package event

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/redact"
)

// FileChange is a change of a file between two snapshots of a workspace, which is the subject.
type FileChange struct {
	Head
	// Path is relative to the root of the workspace, From the path that a renamed file had before. Both are as
	// [FilePath] returns them.
	Path, From string
	// Change is one of the changes below. There was no file at the path of one that is added or renamed.
	Change string
	// Added and Removed count lines, of which a file that is added or removed has only one sort. They mean something only
	// where Counted is true: the content of both states was compared.
	Added, Removed int
	Counted        bool
	// Binary is true for content that has no lines.
	Binary bool
	// Size is the size after the change in bytes, 0 for a removed file.
	Size int64
	// Before and After identify the content and the mode, as the beginning of a hash of both. 0 means that they are not
	// known, or that there was no file.
	Before, After uint64
	// Snapshot is the number of the first snapshot with the change.
	Snapshot uint64
	// By names in a few words on one line what made the change, "" where that is not known.
	By string
	// Since is the time in milliseconds since the Unix epoch after which the change was made: the last look that did not find
	// it began then. It is 0 where that is not known. Edited is when the file was written since then, 0 where only Since and the time of the event bound it.
	Since, Edited int64
	// Lines are the runs of lines that were replaced, in their order. There are none where they are not known, or more than
	// [MaxRuns].
	Lines []Run
	// Tail is how the path ends, in whole names, as the path of no other file of the workspace does, outside of
	// node_modules. It is "" where that is not known.
	Tail string
	// Columns are those of each of Lines. There are none where they are not known of any.
	Columns []Columns
}

// Run is a run of lines that were replaced in a file. Old lines before a change are New lines after it, which begin at the
// line At, counted from 1. Where New is 0, they were before that line. On disk it has these fields, neither less nor more.
type Run struct{ At, Old, New int }

// Columns are where a line differs from the one that it replaced: From is the column in UTF-16 units, counted from 1, of the first
// word that differs, and To that behind the last one. Both are 0 where that is not known, and of a run of other than one line.
type Columns struct{ From, To int }

// Replaced adds a run of lines with its columns.
func (e *FileChange) Replaced(r Run, c Columns) {
	e.Lines = append(e.Lines, r)
	if e.Columns != nil || c != (Columns{}) {
		e.Columns = append(append(e.Columns, make([]Columns, len(e.Lines)-1-len(e.Columns))...), c)
	}
}

// ColumnsOf returns the columns of one of Lines.
func (e *FileChange) ColumnsOf(i int) (c Columns) {
	if i < len(e.Columns) {
		c = e.Columns[i]
	}
	return c
}

// MaxRuns bounds the runs of one change.
const MaxRuns = 32

// Changes of files.
const (
	FileAdded    = "added"
	FileModified = "modified" // its content, its mode or its kind
	FileRemoved  = "removed"
	FileRenamed  = "renamed" // its content and mode may have changed too
)

// Line implements [Lined].
func (e *FileChange) Line() (kind, text string) { return e.Change, e.Path }

// FilePath returns a path with "/" as its separator as it is recorded. Characters that [Clean] would remove, ends of
// lines, bytes that are not UTF-8, and backslashes are escaped as in Go, so that no two paths read the same. A directory
// reads the same in the paths of all its files.
func FilePath(path string) string {
	escapes := func(r rune) bool {
		return r == '\\' || r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError || redact.Hidden(r)
	}
	if strings.IndexFunc(path, escapes) < 0 {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, path[i])
		case r == utf8.RuneError || !escapes(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// PlainPath returns the path that [FilePath] was given. Another text is returned as it is.
func PlainPath(recorded string) string {
	if strings.IndexByte(recorded, '\\') < 0 {
		return recorded
	}
	if path, err := strconv.Unquote(`"` + strings.ReplaceAll(recorded, `"`, `\"`) + `"`); err == nil {
		return path
	}
	return recorded
}
