// Package variables keeps what the variables of a paused program were, and says what changed between two
// moments.
//
// It guarantees: a snapshot never changes; the difference of two snapshots, applied to the first, gives
// the second; what was not captured is counted and never taken for unchanged; the time that a comparison
// takes grows with the number of values, whatever they hold. It is pure: time and ids are passed in.
package variables

import "time"

// Scopes of variables, in the order in which answers tell them.
const (
	ScopeLocal    = "local"
	ScopeArgument = "argument"
	ScopeThis     = "this"
	ScopeBlock    = "block"
	ScopeClosure  = "closure"
	ScopeModule   = "module"
	// ScopeExpression is that of expressions that a caller named.
	ScopeExpression = "expression"
)

// Snapshot is what the variables of one frame of a paused thread were.
type Snapshot struct {
	// ID is "snap-" and a guid. Label is the caller's, or "snapshot-N".
	ID, Label string
	At        time.Time
	// Thread is the number of the thread, Frame the place in its stack (0 is the top), Function the
	// frame's function, "" for code outside of functions.
	Thread   int
	Frame    int
	Function string
	// Place is where the thread stood: a file's address, line and column.
	Place string
	// Code is the file that the function is in, with the place where it begins for one without a name.
	Code string
	// Depth is how many levels of fields were asked for.
	Depth int
	// Variables are in the order of the scopes, each with its name as key.
	Variables []Variable
	// Gaps say in words what of the frame could not be read.
	Gaps []string
}

// Variable is a variable of a scope.
type Variable struct {
	Scope string
	Value
}

// Value is a value and what it holds, as far as that was captured.
type Value struct {
	// Key is how what holds the value calls it.
	Key Key
	// Type is what typeof says of a primitive, the name of the class of an object, "null", "accessor" or
	// "unread".
	Type string
	// Text is the value as it reads in code; of a string, its characters. An object whose fields were
	// captured has none, unless it is an error.
	Text string
	// Identity is the same for the same object; 0 when it is not known.
	Identity int64
	// Reference is the path at which the same object was captured first, when that was elsewhere.
	Reference string
	// Size is how many fields, elements or entries an object has, when that was counted.
	Size int
	// Children are what an object holds, in its order.
	Children []Value
	// Open says that the object's fields were captured: Children are all of them, but for Size -
	// len(Children) that were too many.
	Open bool
	// Object says that there is more to a value than its Text, unless it is Open.
	Object bool
	// Length is the length in UTF-16 units of a text of which only begin and end were kept, and Hash stands
	// for the whole of it.
	Length int
	Hash   string
	// Masked says that the value was a secret, and is not known; with a Text, that parts of it were.
	Masked bool
}

// Count is the number of variables, fields not counted.
func (s *Snapshot) Count() int { return len(s.Variables) }

// Totals say what a snapshot holds, and what it does not.
type Totals struct {
	// Paths counts all values; Masked the secrets, Cut the fields that were too many, Closed the objects
	// whose fields were not captured.
	Paths, Masked, Cut, Closed int
}

// Totals counts what a snapshot holds.
func (s *Snapshot) Totals() Totals {
	var t Totals
	for i := range s.Variables {
		t.add(&s.Variables[i].Value)
	}
	return t
}

// sealed are the types of objects that no depth opens: their text tells what there is to tell.
var sealed = map[string]bool{
	"Date": true, "RegExp": true, "Proxy": true, "WeakMap": true, "WeakSet": true, "WeakRef": true, "ArrayBuffer": true, "DataView": true,
}

func (t *Totals) add(v *Value) {
	t.Paths++
	switch {
	case v.Masked:
		t.Masked++
	case v.Open:
		t.Cut += v.cut()
	case v.Object && v.Reference == "" && !sealed[v.Type]:
		t.Closed++
	}
	for i := range v.Children {
		t.add(&v.Children[i])
	}
}

// SamePlace says that two snapshots are of the same function, at the same place in the stack of the same thread.
func (s *Snapshot) SamePlace(other *Snapshot) bool {
	return other.Thread == s.Thread && other.Function == s.Function && other.Code == s.Code && other.Frame == s.Frame
}

// Missing counts the fields of a captured object that were too many to be captured.
func (v *Value) Missing() int {
	if !v.Open {
		return 0
	}
	return v.cut()
}

// cut is how many of an open value's children were too many.
func (v *Value) cut() int { return max(0, v.Size-len(v.Children)) }
