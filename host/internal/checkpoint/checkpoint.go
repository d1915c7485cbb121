// Package checkpoint keeps named checkpoints and each client's own.
//
// Guarantees:
//   - A checkpoint never moves, whatever is requested or captured later.
//   - A named one is replaced or deleted only on request, and the answer names a replaced one.
//   - A client's own checkpoint advances only over entries that the client received.
//   - The package is pure: callers pass in the time.
package checkpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// MaxNamed is how many named checkpoints there can be; MaxName the length of a name in characters.
const (
	MaxNamed = 20
	MaxName  = 50
)

// Now, Start and Buffers are accepted wherever a checkpoint can be named. Now is the present moment, Start the beginning
// of the history, Buffers the beginning of what is in memory. No checkpoint may have these names.
const (
	Now     = "now"
	Start   = "start"
	Buffers = "auto_0"
)

// automatic begins the names of clients' read positions.
const automatic = "auto_"

// Checkpoint is a named moment.
type Checkpoint struct {
	Name string
	Note string
	// Scope is the key of the scope it belongs to; "" is everything.
	Scope string
	// Call is the ID of the request that created it, "" where that had none. Replaced is the time of the one that it replaced, zero for
	// none. With them, a request that is repeated is answered as before.
	Call     string
	Replaced time.Time
	capture.Moment
}

// Registry holds the named checkpoints. It is safe for concurrent use.
type Registry struct {
	mu      sync.Mutex
	named   []Checkpoint // in the order of their making
	version uint64       // grows with every change
}

// All returns all checkpoints, in the order of their making, and a number that grows with every change.
func (r *Registry) All() ([]Checkpoint, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.named), r.version
}

// Restore replaces the checkpoints with saved ones.
func (r *Registry) Restore(list []Checkpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.named = slices.Clone(list)
}

// FullError says that the maximum number of checkpoints is reached.
type FullError struct {
	// Oldest is the oldest checkpoint that the client can see.
	Oldest Checkpoint
	// Others is true if the client can see no checkpoint, so that Oldest belongs to another project.
	Others bool
}

func (e *FullError) Error() string {
	text := fmt.Sprintf("there are already %d named checkpoints, the maximum; delete one first. The oldest is %q from %s",
		MaxNamed, e.Oldest.Name, e.Oldest.At.UTC().Format(time.RFC3339))
	if e.Others {
		text += fmt.Sprintf(", which belongs to %s: `tidemark checkpoint rm %s` deletes it there", e.Oldest.Scope, e.Oldest.Name)
	}
	return text
}

// Code is the kind of the error.
func (e *FullError) Code() usererr.Code { return usererr.LimitReached }

// NameError says which naming rule a name breaks.
type NameError struct{ Name, Rule string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q is not a valid checkpoint name: %s. Use lowercase words joined by underscores, at most %d characters, without date or time: session_start, before_refactor", e.Name, e.Rule, MaxName)
}

// Code is the kind of the error.
func (e *NameError) Code() usererr.Code { return usererr.InvalidArgument }

// UnknownError says that a checkpoint does not exist, and lists the existing ones, the nearest name first.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	if strings.HasPrefix(e.Name, automatic) {
		return fmt.Sprintf("there is no checkpoint %q: such a name is your read position, which moves on with each call. Omit checkpoint to read changes since your last call, pass %q for everything in memory, or a time such as an answer's checkpoint_from", e.Name, Buffers)
	}
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no checkpoint %q, and none has been created yet; create one with checkpoint_create, or omit checkpoint to read changes since your last call", e.Name)
	}
	if len(e.Known) == 1 {
		return fmt.Sprintf("there is no checkpoint %q; the only one is %s", e.Name, e.Known[0])
	}
	return fmt.Sprintf("there is no checkpoint %q; checkpoints are %s (nearest first)", e.Name, strings.Join(e.Known, ", "))
}

// Code is the kind of the error.
func (e *UnknownError) Code() usererr.Code { return usererr.NotFound }

// AmbiguousError says that a client that sees all scopes used a name that exists in several of them.
type AmbiguousError struct{ Name, Scope, Other string }

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("checkpoint %q exists in several scopes (%s and %s); name one, as in %s@%s, or narrow your scope with `tidemark mcp --origin URL`", e.Name, e.Scope, e.Other, e.Name, e.Scope)
}

// Code is the kind of the error.
func (e *AmbiguousError) Code() usererr.Code { return usererr.Ambiguous }

var (
	nameForm = lazyregexp.New(`^[a-z][a-z0-9_]*$`)
	// An ID of a moment or of a file snapshot.
	momentForm = lazyregexp.New(`^[ms]\d+$`)
	// A date (20260123, 2026_01_23, 23_01_2026), a time of day (14h30, 2pm, 14_30_00), a Unix time.
	dateOrTime = lazyregexp.New(`(^|[^0-9])((19|20)\d{2}_?(0[1-9]|1[0-2])(_?([0-2]\d|3[01]))?|([0-2]?\d|3[01])_?(0?[1-9]|1[0-2])_?(19|20)\d{2}|\d{10,}|([01]?\d|2[0-3])h[0-5]\d|([01]\d|2[0-3])_[0-5]\d(_[0-5]\d)?|\d{8}_?t?_?\d{4,6})([^0-9]|$)|(^|[^0-9])(0?\d|1[0-2])_?(am|pm)(_|$)`)
)

// CheckName returns a [*NameError] with the rule that a name breaks, or nil.
func CheckName(name string) error {
	rule := ""
	switch {
	case name == "":
		rule = "it is empty"
	case utf8.RuneCountInString(name) > MaxName:
		rule = fmt.Sprintf("it has %d characters", utf8.RuneCountInString(name))
	case name == Now:
		rule = "it is reserved for the present moment"
	case name == Start:
		rule = "it is reserved for the beginning of the history"
	case strings.HasPrefix(name, automatic) || name == "auto":
		rule = "auto_… is reserved for automatic checkpoints"
	case momentForm().MatchString(name):
		rule = "it is reserved for the moments and file snapshots of the timeline"
	case !nameForm().MatchString(name):
		rule = "it must match [a-z][a-z0-9_]*"
	case dateOrTime().MatchString(name):
		rule = "it contains a date or time, which the checkpoint stores anyway"
	default:
		return nil
	}
	return &NameError{name, rule}
}

// Create makes a named checkpoint, in place of the one of the same name and scope. It returns that one as it is where the same request
// made it. Errors: *[NameError], *[FullError].
func (r *Registry) Create(c Checkpoint) (*Checkpoint, error) {
	c.Note = strings.Join(strings.Fields(event.Clean(c.Note)), " ") // one line: agents may copy text from pages
	if err := CheckName(c.Name); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.indexLocked(c.Scope, c.Name); i >= 0 {
		if old := r.named[i]; c.Call != "" && c.Call == old.Call {
			return &old, nil
		}
		c.Replaced = r.named[i].At
		r.named = append(slices.Delete(r.named, i, i+1), c)
		r.version++
		return &c, nil
	}
	if len(r.named) >= MaxNamed {
		// Name an oldest checkpoint that the client can delete, if there is one.
		oldest := max(0, slices.IndexFunc(r.named, func(old Checkpoint) bool { return sees(c.Scope, old) }))
		return nil, &FullError{Oldest: r.named[oldest], Others: !sees(c.Scope, r.named[oldest])}
	}
	r.named = append(r.named, c)
	r.version++
	return &c, nil
}

func (r *Registry) indexLocked(scope, name string) int {
	return slices.IndexFunc(r.named, func(c Checkpoint) bool { return c.Scope == scope && c.Name == name })
}

// everything is the name of the unrestricted scope in an address.
const everything = "all"

// Address returns the name under which a client of a scope finds a checkpoint. If the name alone finds another one, or
// several, "@" and the checkpoint's scope follow it.
func (r *Registry) Address(scope string, c Checkpoint) string {
	if found, err := r.Get(scope, c.Name); err == nil && found.Scope == c.Scope {
		return c.Name
	}
	return c.Name + "@" + cmp.Or(c.Scope, everything)
}

// Get finds a checkpoint as a scope sees it: its own first, then one of the unrestricted scope. The unrestricted scope
// finds any checkpoint if only one scope has that name, or by its [Registry.Address]. Errors: *[UnknownError],
// *[AmbiguousError].
func (r *Registry) Get(scope, name string) (Checkpoint, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, err := r.findLocked(scope, name)
	if err != nil {
		return Checkpoint{}, err
	}
	return r.named[i], nil
}

func (r *Registry) findLocked(scope, name string) (int, error) {
	if bare, of, isAddress := strings.Cut(name, "@"); isAddress {
		if of == everything {
			of = ""
		}
		if i := r.indexLocked(of, bare); i >= 0 && sees(scope, r.named[i]) {
			return i, nil
		}
	}
	if i := r.indexLocked(scope, name); i >= 0 {
		return i, nil
	}
	if i := r.indexLocked("", name); i >= 0 {
		return i, nil
	}
	if scope == "" {
		found := -1
		for i, c := range r.named {
			if c.Name == name {
				if found >= 0 {
					return 0, &AmbiguousError{name, r.named[found].Scope, c.Scope}
				}
				found = i
			}
		}
		if found >= 0 {
			return found, nil
		}
	}
	return 0, &UnknownError{name, r.nearestLocked(scope, name)}
}

// Rename gives a checkpoint, found as by [Registry.Get], another name. Errors: *[NameError], *[UnknownError],
// *[AmbiguousError], *[TakenError].
func (r *Registry) Rename(scope, name, to string) error {
	if err := CheckName(to); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i, err := r.findLocked(scope, name)
	if err != nil {
		return err
	}
	if other := r.indexLocked(r.named[i].Scope, to); other >= 0 && other != i {
		return &TakenError{to}
	}
	r.named = slices.Clone(r.named) // copies that were handed out must not change
	r.named[i].Name = to
	r.version++
	return nil
}

// TakenError says that another checkpoint already has the name.
type TakenError struct{ Name string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("checkpoint %q already exists; delete it first or use another name", e.Name)
}

// Code is the kind of the error.
func (e *TakenError) Code() usererr.Code { return usererr.AlreadyExists }

// Delete removes a checkpoint, found as by [Registry.Get].
func (r *Registry) Delete(scope, name string) (Checkpoint, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, err := r.findLocked(scope, name)
	if err != nil {
		return Checkpoint{}, err
	}
	old := r.named[i]
	r.named = slices.Delete(r.named, i, i+1)
	r.version++
	return old, nil
}

// sees says whether a scope sees a checkpoint: its own, that of everything, and everything sees all.
func sees(scope string, c Checkpoint) bool { return scope == "" || c.Scope == scope || c.Scope == "" }

// List returns the checkpoints that a scope sees, oldest first.
func (r *Registry) List(scope string) []Checkpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Checkpoint
	for _, c := range r.named {
		if sees(scope, c) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b Checkpoint) int { return a.At.Compare(b.At) })
	return list
}

func (r *Registry) nearestLocked(scope, name string) []string {
	var names []string
	for _, c := range r.named {
		if sees(scope, c) && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(a, name), distance(b, name)), cmp.Compare(a, b))
	})
	return names
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := prev
			if a[i] != b[j] {
				cost++
			}
			prev, row[j+1] = row[j+1], min(cost, prev+1, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
