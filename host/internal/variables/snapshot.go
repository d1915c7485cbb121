// Package variables has snapshots of a paused program's variables, and compares them.
//
// It guarantees: a snapshot never changes; the difference of two snapshots, applied to the first, gives the second;
// uncaptured values are counted and never reported as unchanged; the time of a comparison grows with the number of
// values, whatever they contain. It is pure: time and ids are passed in.
package variables

import "time"

// Scopes of variables, in the order of answers.
const (
	ScopeLocal    = "local"
	ScopeArgument = "argument"
	ScopeThis     = "this"
	ScopeBlock    = "block"
	ScopeClosure  = "closure"
	ScopeModule   = "module"
	// ScopeExpression is the scope of expressions in a request.
	ScopeExpression = "expression"
)

// Snapshot has the variables of one frame of a paused thread.
type Snapshot struct {
	// ID is "snap-" and a GUID. Label is chosen by the caller, or "snapshot-N".
	ID, Label string
	At        time.Time
	// Thread is the number of the thread, Frame the index in its stack (0 is the top), Function the frame's function, ""
	// outside of functions.
	Thread   int
	Frame    int
	Function string
	// Place is where the thread was paused: address of a file, line and column.
	Place string
	// Code is the file of the function, with the place of its start if it has no name.
	Code string
	// Depth is the requested number of levels of fields.
	Depth int
	// Variables are in the order of scopes, each with its name as key.
	Variables []Variable
	// Gaps describe the parts of the frame that could not be read.
	Gaps []string
}

// Variable is a variable of a scope.
type Variable struct {
	Scope string
	Value
}

// Value is a value with its captured fields.
type Value struct {
	// Key is the key of the value in its container.
	Key Key
	// Type is the typeof of a primitive, the class name of an object, "null", "accessor" or "unread".
	Type string
	// Text is the value as in code, or the characters of a string. An object with captured fields has no text, unless it
	// is an error.
	Text string
	// Identity is the same for the same object; 0 if unknown.
	Identity int64
	// Reference is the path at which the object was captured first, if that is elsewhere.
	Reference string
	// Size is the number of fields, elements or entries of an object, if it was counted.
	Size int
	// Children are the captured fields of an object, in its order.
	Children []Value
	// Open is true if the object's fields were captured. Children lacks Size - len(Children) fields over the limit.
	Open bool
	// Object is true if the value has fields. Unless it is Open, Text does not show them.
	Object bool
	// Length (in UTF-16 units) and Hash describe a whole text of which only the beginning and the end were kept.
	Length int
	Hash   string
	// Masked is true if the value is a hidden secret, or, with a Text, if parts of it are.
	Masked bool
}

// Count returns the number of variables, without fields.
func (s *Snapshot) Count() int { return len(s.Variables) }

// Totals counts the captured and missing values of a snapshot.
type Totals struct {
	// Paths counts all values, Masked the secrets, Cut the fields over the limit, Closed the objects without captured
	// fields.
	Paths, Masked, Cut, Closed int
}

// Totals counts the values of a snapshot.
func (s *Snapshot) Totals() Totals {
	var t Totals
	for i := range s.Variables {
		t.add(&s.Variables[i].Value)
	}
	return t
}

// sealed are the types of objects that are never opened, because their text is complete.
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

// SamePlace reports whether two snapshots are of the same function at the same index in the stack of the same thread.
func (s *Snapshot) SamePlace(other *Snapshot) bool {
	return other.Thread == s.Thread && other.Function == s.Function && other.Code == s.Code && other.Frame == s.Frame
}

// Missing counts the fields of a captured object that were over the limit.
func (v *Value) Missing() int {
	if !v.Open {
		return 0
	}
	return v.cut()
}

// cut counts the fields of an open value that were over the limit.
func (v *Value) cut() int { return max(0, v.Size-len(v.Children)) }
