// Package checkpoint keeps named checkpoints and each client's own.
//
// It guarantees: a checkpoint never moves, whatever is asked or captured later; a named one is
// replaced or deleted only when somebody says so, and the answer says what was replaced; a client's
// own checkpoint advances only over what it was told. It is pure: time is passed in.
package checkpoint

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// MaxNamed is how many named checkpoints there can be; MaxName the length of a name in characters.
const (
	MaxNamed = 20
	MaxName  = 50
)

// Now names the present moment wherever a checkpoint can be named, Start the beginning of what is held; no
// checkpoint is called so.
const (
	Now   = "now"
	Start = "start"
)

// Checkpoint is a named moment.
type Checkpoint struct {
	Name string
	Note string
	// Scope is the key of the scope it belongs to; "" is everything.
	Scope string
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

// Restore puts in place what was kept.
func (r *Registry) Restore(list []Checkpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.named = slices.Clone(list)
}

// FullError says that there are as many checkpoints as there can be.
type FullError struct {
	// Oldest is the oldest of those that whoever asked can see.
	Oldest Checkpoint
	// Others is true when they can see none, so that it is another project's.
	Others bool
}

func (e *FullError) Error() string {
	text := fmt.Sprintf("there are %d named checkpoints already, which is the most; delete one first, the oldest is %q of %s",
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
	return fmt.Sprintf("%q cannot be a checkpoint's name: %s. Names are lowercase words joined by underscores, at most %d characters, without date or time: session_start, before_refactor", e.Name, e.Rule, MaxName)
}

// Code is the kind of the error.
func (e *NameError) Code() usererr.Code { return usererr.InvalidArgument }

// UnknownError says that there is no such checkpoint, and which there are, the nearest name first.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no checkpoint %q, and none has been made yet; make one with checkpoint_create, or leave checkpoint out to read what is new since your last call", e.Name)
	}
	if len(e.Known) == 1 {
		return fmt.Sprintf("there is no checkpoint %q; there is %s only", e.Name, e.Known[0])
	}
	return fmt.Sprintf("there is no checkpoint %q; there are %s (the nearest first)", e.Name, strings.Join(e.Known, ", "))
}

// Code is the kind of the error.
func (e *UnknownError) Code() usererr.Code { return usererr.NotFound }

// AmbiguousError says that whoever sees everything named what several scopes have.
type AmbiguousError struct{ Name, Scope, Other string }

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q is the name of checkpoints in several scopes (%s and %s); name one of them, as %s@%s, or narrow yours with `tidemark mcp --origin URL`", e.Name, e.Scope, e.Other, e.Name, e.Scope)
}

// Code is the kind of the error.
func (e *AmbiguousError) Code() usererr.Code { return usererr.Ambiguous }

var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	// A date (20260123, 2026_01_23, 23_01_2026), a time of day (14h30, 2pm, 14_30_00), a Unix time.
	dateOrTime = regexp.MustCompile(`(^|[^0-9])((19|20)\d{2}_?(0[1-9]|1[0-2])(_?([0-2]\d|3[01]))?|([0-2]?\d|3[01])_?(0?[1-9]|1[0-2])_?(19|20)\d{2}|\d{10,}|([01]?\d|2[0-3])h[0-5]\d|([01]\d|2[0-3])_[0-5]\d(_[0-5]\d)?|\d{8}_?t?_?\d{4,6})([^0-9]|$)|(^|[^0-9])(0?\d|1[0-2])_?(am|pm)(_|$)`)
)

// CheckName says which rule a name breaks, nil when it breaks none.
func CheckName(name string) error {
	rule := ""
	switch {
	case name == "":
		rule = "it is empty"
	case utf8.RuneCountInString(name) > MaxName:
		rule = fmt.Sprintf("it has %d characters", utf8.RuneCountInString(name))
	case name == Now:
		rule = "it stands for the present moment"
	case name == Start:
		rule = "it stands for the beginning of what is held"
	case strings.HasPrefix(name, "auto_") || name == "auto":
		rule = "auto_… is reserved for the checkpoints that Tidemark sets by itself"
	case !nameForm.MatchString(name):
		rule = "it must match [a-z][a-z0-9_]*"
	case dateOrTime.MatchString(name):
		rule = "it holds a date or time, which the checkpoint stores anyway"
	default:
		return nil
	}
	return &NameError{name, rule}
}

// Create makes a named checkpoint, and returns the one of the same name and scope that it replaces.
// Errors: *[NameError], *[FullError].
func (r *Registry) Create(c Checkpoint) (*Checkpoint, error) {
	c.Note = strings.Join(strings.Fields(event.Clean(c.Note)), " ") // one line: agents write what pages told them
	if err := CheckName(c.Name); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.indexLocked(c.Scope, c.Name); i >= 0 {
		old := r.named[i]
		r.named = append(slices.Delete(r.named, i, i+1), c)
		r.version++
		return &old, nil
	}
	if len(r.named) >= MaxNamed {
		// Whoever is told of the oldest shall be able to delete it, when there is one of that kind.
		oldest := max(0, slices.IndexFunc(r.named, func(old Checkpoint) bool { return sees(c.Scope, old) }))
		return nil, &FullError{Oldest: r.named[oldest], Others: !sees(c.Scope, r.named[oldest])}
	}
	r.named = append(r.named, c)
	r.version++
	return nil, nil
}

func (r *Registry) indexLocked(scope, name string) int {
	return slices.IndexFunc(r.named, func(c Checkpoint) bool { return c.Scope == scope && c.Name == name })
}

// everything is what the scope of everything is called in an address.
const everything = "all"

// Address is by what whoever sees a scope finds a checkpoint: its name, with "@" and the checkpoint's scope behind it
// where the name alone finds another one, or several.
func (r *Registry) Address(scope string, c Checkpoint) string {
	if found, err := r.Get(scope, c.Name); err == nil && found.Scope == c.Scope {
		return c.Name
	}
	return c.Name + "@" + cmp.Or(c.Scope, everything)
}

// Get finds a checkpoint as a scope sees it: its own first, then that of everything; whoever sees
// everything finds any, when only one scope has that name, or by its [Registry.Address]. Errors: *[UnknownError], *[AmbiguousError].
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
	r.named = slices.Clone(r.named) // what was handed out stays as it was
	r.named[i].Name = to
	r.version++
	return nil
}

// TakenError says that another checkpoint has the name already.
type TakenError struct{ Name string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("there is a checkpoint %q already; delete it first, or take another name", e.Name)
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
