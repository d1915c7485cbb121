package variables

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func number(n any) Value      { return Value{Type: "number", Text: fmt.Sprint(n)} }
func str(s string) Value      { return Value{Type: "string", Text: s} }
func of(kind, s string) Value { return Value{Type: kind, Text: s} }

// field, index, entry, member name a value.
func field(name string, v Value) Value { v.Key = Key{Name: name}; return v }
func entry(key string, v Value) Value  { v.Key = Key{Kind: KeyEntry, Name: key}; return v }

// object is one whose fields were captured.
func object(kind string, children ...Value) Value {
	return Value{Type: kind, Object: true, Open: true, Size: len(children), Children: children}
}

func array(elements ...Value) Value {
	for i := range elements {
		elements[i].Key = Key{Kind: KeyIndex, Index: i}
	}
	return object("Array", elements...)
}

func known(identity int64, v Value) Value { v.Identity = identity; return v }
func reference(identity int64, kind, path string) Value {
	return Value{Type: kind, Object: true, Identity: identity, Reference: path}
}

func snap(variables ...Value) *Snapshot {
	s := &Snapshot{ID: "snap-x", At: time.Unix(0, 0), Thread: 1, Function: "f"}
	for _, v := range variables {
		scope := ScopeLocal
		if at := strings.Index(v.Key.Name, ":"); at >= 0 {
			scope, v.Key.Name = v.Key.Name[:at], v.Key.Name[at+1:]
		}
		s.Variables = append(s.Variables, Variable{Scope: scope, Value: v})
	}
	return s
}

// lines write a difference: "- path type value", "+ …", "~ path old → new", sorted.
func lines(d *Diff) []string {
	var out []string
	for _, e := range d.Removed {
		out = append(out, fmt.Sprintf("- %s %s %s", e.Path, e.Old.Type, e.Old.Literal(0)))
	}
	for _, e := range d.Added {
		out = append(out, fmt.Sprintf("+ %s %s %s", e.Path, e.New.Type, e.New.Literal(0)))
	}
	for _, e := range d.Modified {
		before, after := e.Change()
		out = append(out, fmt.Sprintf("~ %s %s → %s", e.Path, before, after))
	}
	slices.Sort(out)
	return out
}

var long = strings.Repeat("lorem ipsum dolor ", 40)

func TestCompare(t *testing.T) {
	user := func(city string) Value {
		return object("User", field("Name", str("Ada")), field("Address", object("Object", field("City", str(city)))))
	}
	item := func(sku string, n int) Value { return object("Object", field("sku", str(sku)), field("n", number(n))) }
	many := func(values ...int) Value {
		var all []Value
		for _, v := range values {
			all = append(all, number(v))
		}
		return array(all...)
	}
	for _, c := range []struct {
		name     string
		from, to *Snapshot
		want     []string
	}{
		// The specification's scenarios.
		{"retryCount changed from 2 to 3", snap(field("retryCount", number(2))), snap(field("retryCount", number(3))), []string{"~ retryCount 2 → 3"}},
		{"a new variable result appeared", snap(), snap(field("result", str("ok"))), []string{`+ result string "ok"`}},
		{"tempBuffer existed in the first but not the second", snap(field("tempBuffer", of("Uint8Array", "Uint8Array(4)"))), snap(), []string{"- tempBuffer Uint8Array Uint8Array(4)"}},
		{"two identical snapshots", snap(field("a", number(1)), field("u", user("Warsaw"))), snap(field("a", number(1)), field("u", user("Warsaw"))), nil},
		{"user.Address.City changed from Warsaw to Krakow", snap(field("user", user("Warsaw"))), snap(field("user", user("Krakow"))), []string{`~ user.Address.City "Warsaw" → "Krakow"`}},
		{"a variable's type changes: removed and added", snap(field("x", number(2))), snap(field("x", str("2"))), []string{`+ x string "2"`, "- x number 2"}},
		{"no local variables", snap(), snap(), nil},
		// Values of JavaScript.
		{"NaN is NaN", snap(field("x", number("NaN"))), snap(field("x", number("NaN"))), nil},
		{"-0 is not 0", snap(field("x", number("-0"))), snap(field("x", number("0"))), []string{"~ x -0 → 0"}},
		{"undefined is not null", snap(field("x", of("undefined", "undefined"))), snap(field("x", of("null", "null"))), []string{"+ x null null", "- x undefined undefined"}},
		{"BigInt is not a number", snap(field("x", of("bigint", "1n"))), snap(field("x", number(1))), []string{"+ x number 1", "- x bigint 1n"}},
		{"BigInt", snap(field("x", of("bigint", "9007199254740993n"))), snap(field("x", of("bigint", "9007199254740992n"))), []string{"~ x 9007199254740993n → 9007199254740992n"}},
		{"another symbol of the same description", snap(field("x", known(1, of("symbol", "Symbol(a)")))), snap(field("x", known(2, of("symbol", "Symbol(a)")))), []string{"~ x Symbol(a) → Symbol(a) (another symbol)"}},
		{"the same symbol", snap(field("x", known(1, of("symbol", "Symbol(a)")))), snap(field("x", known(1, of("symbol", "Symbol(a)")))), nil},
		{"dates", snap(field("d", of("Date", "2026-01-01T00:00:00.000Z"))), snap(field("d", of("Date", "2026-01-01T00:00:00.001Z"))), []string{"~ d 2026-01-01T00:00:00.000Z → 2026-01-01T00:00:00.001Z"}},
		{"functions", snap(field("f", of("function", "(a) => a + 1"))), snap(field("f", of("function", "(a) => a + 2"))), []string{"~ f (a) => a + 1 → (a) => a + 2"}},
		{"a function made anew", snap(field("f", known(1, of("function", "() => 1")))), snap(field("f", known(2, of("function", "() => 1")))), nil},
		{"an accessor stays one", snap(field("o", object("Object", field("x", of("accessor", "get"))))), snap(field("o", object("Object", field("x", of("accessor", "get"))))), nil},
		// Arrays, Maps and Sets.
		{"an element put in front is one addition", snap(field("a", many(1, 2, 3, 4))), snap(field("a", many(0, 1, 2, 3, 4))), []string{"+ a[0] number 0"}},
		{"an element in the middle", snap(field("a", many(1, 2, 3, 4))), snap(field("a", many(1, 2, 9, 3, 4))), []string{"+ a[2] number 9"}},
		{"an element taken out", snap(field("a", many(1, 2, 3, 4))), snap(field("a", many(1, 3, 4))), []string{"- a[1] number 2"}},
		{"an element replaced", snap(field("a", many(1, 2, 3))), snap(field("a", many(1, 5, 3))), []string{"~ a[1] 2 → 5"}},
		{"an element of another type", snap(field("a", array(number(1), number(2)))), snap(field("a", array(number(1), str("2")))), []string{`+ a[1] string "2"`, "- a[1] number 2"}},
		{"elements known by a key", snap(field("items", array(item("a", 1), item("b", 1), item("c", 1)))), snap(field("items", array(item("x", 1), item("a", 1), item("b", 2), item("c", 1)))), []string{"+ items[0] Object Object {…2}", "~ items[2].n 1 → 2"}},
		{"an element of another key is another element", snap(field("items", array(item("a", 1)))), snap(field("items", array(item("b", 1)))), []string{"+ items[0] Object Object {…2}", "- items[0] Object Object {…2}"}},
		{"elements known by identity", snap(field("p", array(known(1, object("P", field("x", number(1)))), known(2, object("P", field("x", number(1))))))), snap(field("p", array(known(3, object("P", field("x", number(1)))), known(1, object("P", field("x", number(1)))), known(2, object("P", field("x", number(7))))))), []string{"+ p[0] P P {…1}", "~ p[2].x 1 → 7"}},
		{"elements rearranged", snap(field("p", array(item("a", 1), item("b", 1), item("c", 1)))), snap(field("p", array(item("c", 1), item("a", 1), item("b", 1)))), []string{"~ p order 0 1 2 → order 2 0 1"}},
		{"a Map's entry", snap(field("cache", object("Map", entry(`"k"`, number(1))))), snap(field("cache", object("Map", entry(`"k"`, number(2)), entry("3", number(1))))), []string{`+ cache.get(3) number 1`, `~ cache.get("k") 1 → 2`}},
		{"a field whose name is no identifier", snap(field("o", object("Object", field("first name", str("a"))))), snap(field("o", object("Object", field("first name", str("b"))))), []string{`~ o["first name"] "a" → "b"`}},
		// Scopes, references, cuts, secrets.
		{"variables of the same name in different scopes", snap(field("i", number(1)), field("block:i", number(5))), snap(field("i", number(1)), field("block:i", number(6))), []string{"~ i 5 → 6"}},
		{"shadowed variables of one scope", snap(field("block:i", number(1)), field("block:i", number(2))), snap(field("block:i", number(1)), field("block:i", number(3))), []string{"~ i 2 → 3"}},
		{"a cycle", snap(field("a", known(1, object("A", field("self", reference(1, "A", "a")))))), snap(field("a", known(1, object("A", field("self", reference(1, "A", "a")))))), nil},
		{"a reference to another object", snap(field("a", reference(1, "A", "x"))), snap(field("a", reference(2, "A", "y"))), []string{"~ a → x → → y"}},
		{"an object captured in another place than before", snap(field("a", known(1, object("A", field("n", number(1)))))), snap(field("first", known(1, object("A", field("n", number(2))))), field("a", reference(1, "A", "first"))), []string{"+ first A A {…1}", "~ a.n 1 → 2"}},
		{"an object that was not opened changes its preview", snap(field("o", Value{Type: "Object", Text: "{a: 1}", Object: true})), snap(field("o", Value{Type: "Object", Text: "{a: 2}", Object: true})), []string{"~ o {a: 1} → {a: 2}"}},
		{"a cut array grows", snap(field("a", Value{Type: "Array", Object: true, Open: true, Size: 9, Children: many(1, 2).Children})), snap(field("a", Value{Type: "Array", Object: true, Open: true, Size: 10, Children: many(1, 2).Children})), []string{"~ a Array(9) → Array(10)"}},
		{"an element put in front of a cut array", snap(field("a", Value{Type: "Array", Object: true, Open: true, Size: 4, Children: many(1, 2).Children})), snap(field("a", Value{Type: "Array", Object: true, Open: true, Size: 5, Children: many(0, 1).Children})), []string{"+ a[0] number 0", "~ a Array(4) → Array(5)"}},
		{"a secret stays masked", snap(field("token", Value{Type: "string", Masked: true})), snap(field("token", Value{Type: "string", Masked: true})), nil},
		{"a long string is shown by its differing part", snap(field("s", str(long+"old"+long))), snap(field("s", str(long+"new"+long))), []string{`~ s …"rem ipsum dolor oldlorem ipsum dolo"… (at 704 of 1443 characters) → …"rem ipsum dolor newlorem ipsum dolo"… (at 704 of 1443 characters)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Compare(c.from, c.to)
			if got := lines(d); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if d.Empty() != (len(c.want) == 0) {
				t.Errorf("empty is %v", d.Empty())
			}
		})
	}
}

func TestADifferenceSaysWhatItDoesNotKnow(t *testing.T) {
	closed := Value{Key: Key{Name: "o"}, Type: "Object", Text: "{…}", Object: true}
	a, b := snap(closed, Value{Key: Key{Name: "token"}, Type: "string", Masked: true}), snap(field("o", object("Object", field("x", number(1)))))
	b.Thread, b.Function, b.At = 2, "g", a.At.Add(1500*time.Millisecond)
	d := Compare(a, b)
	if !d.ThreadMismatch || !d.FunctionMismatch || d.Elapsed != 1500*time.Millisecond {
		t.Errorf("threads and time: %+v", d)
	}
	if d.Unlike != 1 || d.Masked != 1 || d.Closed != 1 {
		t.Errorf("not compared: %+v", d)
	}
	if d := Compare(b, a); d.Elapsed != -1500*time.Millisecond {
		t.Errorf("backwards: %v", d.Elapsed)
	}
}

func TestABookHoldsTheSnapshotsOfASession(t *testing.T) {
	var b Book
	if len(b.All()) != 0 {
		t.Error("a new book is not empty")
	}
	if _, err := b.Find("snap-1"); err == nil || !strings.Contains(err.Error(), `"snap-1"`) {
		t.Errorf("an unknown snapshot: %v", err)
	}
	for i := range 4 {
		b.Add(&Snapshot{ID: fmt.Sprint("snap-", i), Thread: 1})
	}
	if s, err := b.Find("snap-3"); err != nil || s.Label != "snapshot-4" {
		t.Errorf("the fourth: %+v, %v", s, err)
	}
	if s, err := b.Find("snapshot-2"); err != nil || s.ID != "snap-1" {
		t.Errorf("by label: %+v, %v", s, err)
	}
	if s := b.Before(b.All()[3]); s != b.All()[2] {
		t.Errorf("before the fourth: %+v", s)
	}
	if _, err := b.Delete("snap-2"); err != nil || len(b.All()) != 3 {
		t.Errorf("deleted: %v, %d are left", err, len(b.All()))
	}
	if _, err := b.Delete("snap-2"); err == nil || !strings.Contains(err.Error(), "snap-3") {
		t.Errorf("deleted twice: %v", err)
	}
	b.Add(&Snapshot{ID: "snap-9"})
	if got := b.All()[3].Label; got != "snapshot-5" {
		t.Errorf("the label after a deletion is %s", got)
	}
	if n := b.Clear(); n != 4 || len(b.All()) != 0 {
		t.Errorf("cleared %d", n)
	}
	for range MaxSnapshots {
		b.Add(&Snapshot{})
	}
	if w := b.Warning(); w != "" {
		t.Errorf("a warning at %d: %s", MaxSnapshots, w)
	}
	b.Add(&Snapshot{})
	if w := b.Warning(); !strings.Contains(w, "101 snapshots") {
		t.Errorf("beyond: %q", w)
	}
}

func TestPathsReadAsCode(t *testing.T) {
	for text, p := range map[string]Path{
		"order.Customer.Name":   {{Name: "order"}, {Name: "Customer"}, {Name: "Name"}},
		"items[3].sku":          {{Name: "items"}, {Kind: KeyIndex, Index: 3}, {Name: "sku"}},
		`cache.get("k")`:        {{Name: "cache"}, {Kind: KeyEntry, Name: `"k"`}},
		`cache.get("a)]\"b").x`: {{Name: "cache"}, {Kind: KeyEntry, Name: `"a)]\"b"`}, {Name: "x"}},
		`tags.has(3)`:           {{Name: "tags"}, {Kind: KeyMember, Name: "3"}},
		"set.values()[2].x":     {{Name: "set"}, {Kind: KeyPosition, Index: 2}, {Name: "x"}},
		`o["first name"]`:       {{Name: "o"}, {Name: "first name"}},
		`o[""]`:                 {{Name: "o"}, {Name: ""}},
		"o[Symbol(id)]":         {{Name: "o"}, {Kind: KeySymbol, Name: "Symbol(id)"}},
		"this.#count":           {{Name: "this"}, {Kind: KeyPrivate, Name: "#count"}},
		"größe":                 {{Name: "größe"}},
	} {
		if got := p.String(); got != text {
			t.Errorf("%v is %s, not %s", []Key(p), got, text)
		}
		if got, ok := ParsePath(text); !ok || !slices.Equal(got, p) {
			t.Errorf("%s is read as %v, %v", text, []Key(got), ok)
		}
	}
	for _, bad := range []string{"", ".a", "a.", "a[", "a]", "a.get(", "a b.c[", "a..b", "a[1"} {
		if p, ok := ParsePath(bad); ok {
			t.Errorf("%q is read as %v", bad, []Key(p))
		}
	}
}
