package compare

import (
	"context"
	"fmt"
	"time"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// BlameOptions select the lines of a file. The zero value selects all of them, in the last snapshot.
type BlameOptions struct {
	// At is the snapshot whose file is meant. 0 is the last one.
	At uint64
	// First and Last are the first and the last line, from 1. A Last of 0 is First; both 0 is the whole file.
	First, Last int
	// MaxSteps bounds the snapshots in which the file changed. 0 is 1,000, a negative one is no limit.
	MaxSteps int
	// Secrets and Exact are those of [Options].
	Secrets, Exact bool
}

// Blame is which snapshot last changed each line of a file.
type Blame struct {
	Path  string      `json:"path"`
	At    uint64      `json:"at"`
	Lines []BlameLine `json:"lines"`
	// Origins are the snapshots that the lines name, the latest first.
	Origins []Origin `json:"origins"`
	// Oldest is the first snapshot that there is. Lines of [BeforeFirst] are in it.
	Oldest uint64 `json:"oldest"`
	// Stopped says why lines are [NotSearched], and from which snapshot on.
	Stopped string `json:"stopped,omitempty"`
	// RenamesLimited is true where too many files were removed to compare all of them with one that came. Lines that it
	// was renamed with are then shown as changed.
	RenamesLimited bool `json:"renames_limited,omitempty"`
	Masked         int  `json:"masked,omitempty"`
	Escaped        int  `json:"escaped,omitempty"`
}

// Origin is a snapshot that changed lines.
type Origin struct {
	Number uint64    `json:"number"`
	At     time.Time `json:"at"`
	// Since is the time of the snapshot before.
	Since time.Time `json:"since"`
	Label string    `json:"label,omitempty"`
}

// Age is what is known about when a line was changed last.
type Age string

// What is known about a line.
const (
	// Changed lines were changed by a snapshot: they are in it, and were not in the one before.
	Changed Age = "changed"
	// BeforeFirst lines are older than the first snapshot.
	BeforeFirst Age = "before_first"
	// NotSearched lines are older than the snapshot where the search stopped.
	NotSearched Age = "not_searched"
)

// BlameLine is a line of a file.
type BlameLine struct {
	Line int `json:"line"`
	Age  Age `json:"age"`
	// Snapshot is the one that changed the line, where Age is [Changed].
	Snapshot uint64 `json:"snapshot,omitempty"`
	// Path and OldLine are where the line was in the oldest snapshot in which it was found.
	Path    string `json:"path"`
	OldLine int    `json:"old_line"`
	Text    string `json:"text"`
}

// PathError says why a path has no lines to blame.
type PathError struct {
	Path     string
	Snapshot uint64
	Reason   string
	Kind     usererr.Code
	// Secret is true where [BlameOptions.Secrets] is needed.
	Secret bool
}

func (e *PathError) Error() string {
	return fmt.Sprintf("cannot blame %s in s%d: %s", Quote(e.Path), e.Snapshot, e.Reason)
}

// Code returns the code of the error.
func (e *PathError) Code() usererr.Code { return e.Kind }

// walk goes back through the history of one file.
type walk struct {
	c    *Comparer
	list []tracked.Snapshot
	// at is the index of the snapshot whose file is now is: entry at path.
	at    int
	path  string
	entry *tree.Entry
	now   text
	// open are the lines whose origin is not known yet, by the line in the file that now is.
	open  map[int]int // from the line now to the index in the result
	lines []BlameLine
	used  map[uint64]bool
	stop  string
	// secret is true for a file that looks like a secret.
	secret bool
	// limited is [Blame.RenamesLimited].
	limited bool
}

// Blame returns which snapshot last changed the lines of a file. It goes back through the snapshots, and through renames.
func (c *Comparer) Blame(ctx context.Context, path string, o BlameOptions) (*Blame, error) {
	path, err := clean(path)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, usererr.Invalid("cannot blame the whole workspace. Name a file, with / as separator.")
	}
	list := c.source.List()
	at := len(list) - 1
	for at >= 0 && o.At != 0 && list[at].Number != o.At {
		at--
	}
	if at < 0 {
		e := &tracked.UnknownError{Number: o.At}
		for _, s := range list {
			if s.Number < o.At || e.Nearest == 0 {
				e.Nearest = s.Number
			}
		}
		return nil, e
	}
	b := &Blame{Path: path, At: list[at].Number, Oldest: list[0].Number}
	w := &walk{c: c, list: list, at: at, path: path, used: map[uint64]bool{}}
	if err := w.begin(ctx, o); err != nil {
		return nil, err
	}
	whole := shown{c: c, text: w.now, exact: o.Exact, limit: limit(-1, 0), strict: w.secret || structured(w.now.s)}
	if len(w.lines) > 0 {
		for i, line := range whole.lines(w.lines[0].Line-1, len(w.lines), limit(-1, 0)) {
			w.lines[i].Text = line.text
			b.Masked += line.masked
			b.Escaped += line.escaped
		}
	}
	if err := w.back(ctx, limit(o.MaxSteps, 1000)); err != nil {
		return nil, err
	}
	b.Lines, b.Stopped, b.RenamesLimited = w.lines, w.stop, w.limited
	for i := at; i >= 0; i-- {
		if s := list[i]; w.used[s.Number] {
			b.Origins = append(b.Origins, Origin{s.Number, s.At, list[i-1].At, s.Label})
		}
	}
	return b, nil
}

// begin finds the file and the lines that are asked for.
func (w *walk) begin(ctx context.Context, o BlameOptions) error {
	number := w.list[w.at].Number
	fail := func(kind usererr.Code, reason string) error {
		return &PathError{Path: w.path, Snapshot: number, Kind: kind, Reason: reason}
	}
	if w.c.hides(w.path) {
		return fail(usererr.NotAllowed, "the user denied its directory")
	}
	entry, err := w.c.source.Entry(number, w.path)
	if err != nil {
		return err
	}
	if entry == nil && w.path != "" && w.c.skipped(number)(w.path) {
		return fail(usererr.NotFound, "it was excluded from that snapshot. Name a snapshot with it.")
	}
	if entry == nil || w.path == "" {
		at, err := w.removal(ctx)
		switch {
		case err != nil:
			return err
		case at > 0:
			return fail(usererr.NotFound, fmt.Sprintf("s%d removed it. Name a snapshot before, such as s%d.", w.list[at].Number, w.list[at-1].Number))
		}
		return fail(usererr.NotFound, "there is no such file. Name a path of the workspace, with / as separator.")
	}
	if entry.Kind == tree.Dir {
		return fail(usererr.InvalidArgument, "it is a directory. Name a file.")
	}
	file := w.c.read(entry)
	if file.is != Text {
		reason := "it is " + string(file.is)
		if file.why != "" {
			reason += ": " + file.why
		}
		return fail(usererr.InvalidArgument, reason)
	}
	reason := SecretPath(w.path)
	if reason == "" {
		reason = secretContent(file.text.s)
	}
	if w.secret = reason != ""; w.secret && !o.Secrets {
		return &PathError{Path: w.path, Snapshot: number, Kind: usererr.NotAllowed, Reason: "it looks like a secret: " + reason, Secret: true}
	}
	w.entry, w.now = entry, file.text
	first, last := o.First, max(o.First, o.Last)
	if first == 0 && last == 0 {
		first, last = 1, w.now.len()
	} else if first < 1 || last > w.now.len() {
		return fail(usererr.InvalidArgument, fmt.Sprintf("it has %d lines, and not the lines %d to %d", w.now.len(), first, last))
	}
	w.open = make(map[int]int, last-first+1)
	for n := first; n <= last; n++ {
		w.open[n-1] = len(w.lines)
		w.lines = append(w.lines, BlameLine{Line: n})
	}
	return nil
}

// removal returns the place in the list of the snapshot that removed the path, 0 if none did.
func (w *walk) removal(ctx context.Context) (int, error) {
	for at := w.at; at > 0; at-- {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		changes, err := w.c.changes(w.list[at-1].Number, w.list[at].Number)
		if err != nil {
			return 0, err
		}
		if ch := changeOf(changes, w.path); ch != nil && ch.After == nil {
			return at, nil
		}
	}
	return 0, nil
}

func changeOf(changes []tree.Change, path string) *tree.Change {
	for i := range changes {
		if changes[i].Path == path {
			return &changes[i]
		}
	}
	return nil
}

// back goes back until every line has an origin.
func (w *walk) back(ctx context.Context, steps int) error {
	for ; w.at > 0 && len(w.open) > 0; w.at-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		number := w.list[w.at].Number
		last := w.before()
		changes, err := w.c.changes(w.list[last].Number, number)
		if err != nil {
			return err
		}
		w.at = last + 1 // the loop goes on there
		ch := changeOf(changes, w.path)
		if ch == nil {
			continue
		}
		before, from := ch.Before, w.path
		if before == nil {
			var limited bool
			before, from, limited = w.c.origin(changes, ch.After, w.path, w.now.s)
			w.limited = w.limited || limited
			if before == nil {
				w.settle(Changed, number)
				return nil
			}
		}
		if before.SameContent(w.entry) {
			w.path, w.entry = from, before
			continue
		}
		if steps--; steps < 0 {
			w.stop = fmt.Sprintf("the search stopped at s%d: the file changed in too many snapshots", number)
			w.settle(NotSearched, 0)
			return nil
		}
		file := w.c.read(before)
		switch {
		case before.Kind != w.entry.Kind || file.is == Binary:
			w.settle(Changed, number)
			return nil
		case file.is != Text:
			w.stop = fmt.Sprintf("the search stopped at s%d: before, the file is %s: %s", number, file.is, file.why)
			w.settle(NotSearched, 0)
			return nil
		}
		w.step(number, file.text)
		w.path, w.entry, w.now = from, before, file.text
	}
	w.settle(BeforeFirst, 0)
	return nil
}

// before returns the place in the list of the last snapshot before the present one that did not exclude the file, or 0.
func (w *walk) before() int {
	at := w.at - 1
	for at > 0 && w.c.skipped(w.list[at].Number)(w.path) {
		at--
	}
	return at
}

// step goes to the file as it was before a snapshot. Lines that were not in it have their origin.
func (w *walk) step(number uint64, before text) {
	older := make(map[int]int, len(w.open))
	for _, m := range match(before, w.now) {
		for i := range m.n {
			if line, ok := w.open[m.y+i]; ok {
				older[m.x+i] = line
				delete(w.open, m.y+i)
			}
		}
	}
	w.settle(Changed, number)
	w.open = older
}

// settle gives the open lines their origin.
func (w *walk) settle(age Age, number uint64) {
	for now, line := range w.open {
		l := &w.lines[line]
		l.Age, l.Snapshot, l.Path, l.OldLine = age, number, w.path, now+1
		if age == Changed {
			w.used[number] = true
		}
	}
	clear(w.open)
}

// origin returns the removed file that an added one comes from: one of equal content, or the most similar one.
func (c *Comparer) origin(changes []tree.Change, added *tree.Entry, path, content string) (before *tree.Entry, from string, limited bool) {
	if added.Kind != tree.File || added.Size == 0 {
		return nil, "", false
	}
	best, bestSame := minSimilar-1, false
	s := signer{c: c, of: map[int]signature{}}
	var mine signature
	for i := range changes {
		ch := &changes[i]
		if ch.After != nil || ch.Before.Kind != tree.File || ch.Before.Unread != "" {
			continue
		}
		similarity := 100
		if !ch.Before.SameContent(added) {
			a, b := ch.Before.Size, added.Size
			if min(a, b)*100 < max(a, b)*minSimilar || max(a, b) > maxSize {
				continue
			}
			theirs, ok := s.sign(i, ch.Before)
			if !ok || s.steps > maxSteps {
				limited = true
				continue
			}
			if mine == nil {
				mine = sign(content)
			}
			similarity = min(99, s.compare(theirs, mine))
		}
		same := tree.Base(ch.Path) == tree.Base(path)
		if similarity > best || similarity == best && same && !bestSame {
			best, bestSame, before, from = similarity, same, ch.Before, ch.Path
		}
	}
	return before, from, limited
}
