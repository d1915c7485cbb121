package variables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// apply changes a snapshot by a difference: removals in the old places, from the last; then the order, then
// what was added in the new places, then what was modified.
func apply(s *Snapshot, d *Diff) *Value {
	root := rooted(s)
	removed, added := slices.Clone(d.Removed), slices.Clone(d.Added)
	slices.SortStableFunc(removed, func(a, b Entry) int { return -compare(a.full(), b.full()) })
	for _, e := range removed {
		parent := e.full()
		holder := root.at(parent[:len(parent)-1])
		last := parent[len(parent)-1]
		i := slices.IndexFunc(holder.Children, func(v Value) bool { return v.Key == last })
		holder.Children = slices.Delete(holder.Children, i, i+1)
	}
	// The remaining elements take the places of the second snapshot: those that are not added there.
	var taken []Path
	for _, e := range d.Added {
		taken = append(taken, e.full())
	}
	orders := map[string][]int{}
	for _, e := range d.Modified {
		if e.Order != nil {
			orders[fmt.Sprint(e.full())] = e.Order
		}
	}
	root.renumber(nil, taken, orders)
	slices.SortStableFunc(added, func(a, b Entry) int { return compare(a.full(), b.full()) })
	for _, e := range added {
		p := e.full()
		holder := root.at(p[:len(p)-1])
		v := clone(*e.New)
		v.Key = p[len(p)-1]
		holder.Children = append(holder.Children, v)
	}
	for _, e := range d.Modified {
		if e.Order == nil {
			p := e.full()
			v := clone(*e.New)
			v.Key = p[len(p)-1]
			*root.at(p) = v
		}
	}
	return root
}

func variableKey(scope, name string, nth int) Key {
	return Key{Name: scope + " " + name + " " + strconv.Itoa(nth)}
}

// full is the path with the variable named among all.
func (e *Entry) full() Path {
	p := slices.Clone(e.Path)
	p[0] = variableKey(e.Scope, e.Path[0].Name, e.Nth)
	return p
}

func compare(a, b Path) int {
	return slices.CompareFunc(a, b, func(k, l Key) int {
		return cmp.Or(cmp.Compare(k.Kind, l.Kind), cmp.Compare(k.Name, l.Name), cmp.Compare(k.Index, l.Index))
	})
}

func clone(v Value) Value {
	v.Children = slices.Clone(v.Children)
	for i := range v.Children {
		v.Children[i] = clone(v.Children[i])
	}
	return v
}

// at is the value at a path.
func (v *Value) at(p Path) *Value {
	for _, k := range p {
		i := slices.IndexFunc(v.Children, func(c Value) bool { return c.Key == k })
		v = &v.Children[i]
	}
	return v
}

// renumber gives the elements that stayed their order and the places at which nothing is added.
func (v *Value) renumber(at Path, taken []Path, orders map[string][]int) {
	var stayed []Value
	rest := v.Children[:0:0]
	for _, c := range v.Children {
		if c.Key.ordered() {
			stayed = append(stayed, c)
		} else {
			rest = append(rest, c)
		}
	}
	slices.SortFunc(stayed, func(a, b Value) int { return a.Key.Index - b.Key.Index })
	if order := orders[fmt.Sprint(at)]; order != nil {
		old := slices.Clone(stayed)
		for i, o := range order {
			stayed[i] = old[o]
		}
	}
	next := 0
	for i := range stayed {
		k := stayed[i].Key
		for k.Index = next; slices.ContainsFunc(taken, func(p Path) bool { return slices.Equal(p, append(slices.Clone(at), k)) }); k.Index++ {
		}
		stayed[i].Key, next = k, k.Index+1
	}
	v.Children = append(rest, stayed...)
	for i := range v.Children {
		v.Children[i].renumber(append(slices.Clone(at), v.Children[i].Key), taken, orders)
	}
}

// rooted is a snapshot as one value, its variables named among all.
func rooted(s *Snapshot) *Value {
	root := Value{Open: true}
	nth := map[variable]int{}
	for _, v := range s.Variables {
		id := variable{scope: v.Scope, name: v.Key.Name}
		value := clone(v.Value)
		value.Key = variableKey(v.Scope, v.Key.Name, nth[id])
		nth[id]++
		root.Children = append(root.Children, value)
	}
	return &root
}

// dump is a value as text that is the same for equal values: in which order fields stand does not matter, nor
// which object it is.
func (v *Value) dump() string {
	children := slices.Clone(v.Children)
	slices.SortFunc(children, func(a, b Value) int { return compare(Path{a.Key}, Path{b.Key}) })
	out := fmt.Sprintf("%v %s %q", v.Key, v.Type, v.Text)
	if v.Type == "symbol" {
		out += fmt.Sprint(v.Identity)
	}
	for _, c := range children {
		out += "{" + c.dump() + "}"
	}
	return out
}

// values draws values of few shapes, so that two of them often have something in common.
func values(identities *int64) *rapid.Generator[Value] {
	var at func(depth int) *rapid.Generator[Value]
	at = func(depth int) *rapid.Generator[Value] {
		return rapid.Custom(func(t *rapid.T) Value {
			kind := rapid.IntRange(0, 8).Draw(t, "kind")
			if depth == 0 {
				kind %= 5
			}
			switch kind {
			case 0:
				return Value{Type: "number", Text: strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "n"))}
			case 1:
				return Value{Type: "string", Text: rapid.SampledFrom([]string{"", "a", "b", "0"}).Draw(t, "s")}
			case 2:
				return Value{Type: "undefined", Text: "undefined"}
			case 3:
				return Value{Type: "symbol", Text: "Symbol(a)", Identity: rapid.Int64Range(1, 3).Draw(t, "symbol")}
			case 4:
				return Value{Type: "Closed", Text: rapid.SampledFrom([]string{"{a: 1}", "{a: 2}"}).Draw(t, "preview"), Object: true}
			}
			v := Value{Type: "Object", Open: true, Object: true}
			if rapid.Bool().Draw(t, "known") {
				*identities++
				v.Identity = 10 + *identities%7 // some are the same, which real ones never are: all the harder
			}
			inner := at(depth - 1)
			if kind >= 7 {
				v.Type = "Array"
				for i, c := range rapid.SliceOfN(inner, 0, 6).Draw(t, "elements") {
					c.Key = Key{Kind: KeyIndex, Index: i}
					v.Children = append(v.Children, c)
				}
			}
			names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"id", "a", "b", "c d"}), 0, 3, rapid.ID).Draw(t, "names")
			for _, n := range names {
				c := inner.Draw(t, "field")
				c.Key = Key{Name: n}
				v.Children = append(v.Children, c)
			}
			v.Size = len(v.Children)
			return v
		})
	}
	return at(3)
}

func drawSnapshot(t *rapid.T, identities *int64) *Snapshot {
	s := &Snapshot{}
	for range rapid.IntRange(0, 5).Draw(t, "variables") {
		v := values(identities).Draw(t, "value")
		v.Key = Key{Name: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name")}
		s.Variables = append(s.Variables, Variable{Scope: rapid.SampledFrom([]string{ScopeLocal, ScopeBlock}).Draw(t, "scope"), Value: v})
	}
	return s
}

// mutate changes some of a snapshot, as a program does.
func mutate(t *rapid.T, s *Snapshot, identities *int64) *Snapshot {
	out := &Snapshot{}
	var change func(v *Value)
	change = func(v *Value) {
		if !v.Open {
			if rapid.IntRange(0, 4).Draw(t, "replaced") == 0 {
				k := v.Key
				*v = values(identities).Draw(t, "by")
				v.Key = k
			}
			return
		}
		var fields, elements []Value
		for _, c := range v.Children {
			change(&c)
			if c.Key.ordered() {
				elements = append(elements, c)
			} else {
				fields = append(fields, c)
			}
		}
		if v.Type == "Array" {
			switch rapid.IntRange(0, 5).Draw(t, "to elements") {
			case 0:
				elements = rapid.Permutation(elements).Draw(t, "order")
			case 1:
				at := rapid.IntRange(0, len(elements)).Draw(t, "at")
				elements = slices.Insert(elements, at, values(identities).Draw(t, "element"))
			case 2:
				if len(elements) > 0 {
					at := rapid.IntRange(0, len(elements)-1).Draw(t, "at")
					elements = slices.Delete(elements, at, at+1)
				}
			}
			for i := range elements {
				elements[i].Key = Key{Kind: KeyIndex, Index: i}
			}
		}
		v.Children = append(elements, fields...)
		v.Size = len(v.Children)
	}
	for _, v := range s.Variables {
		v.Value = clone(v.Value)
		change(&v.Value)
		out.Variables = append(out.Variables, v)
	}
	return out
}

func TestADifferenceAppliedToTheFirstGivesTheSecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		identities := int64(0)
		a := drawSnapshot(t, &identities)
		var b *Snapshot
		if rapid.Bool().Draw(t, "related") {
			b = mutate(t, a, &identities)
		} else {
			b = drawSnapshot(t, &identities)
		}
		d := Compare(a, b)
		want := rooted(b).dump()
		if got := apply(a, d).dump(); got != want {
			t.Fatalf("a applied gives\n%s\nbut b is\n%s\nremoved %+v\nadded %+v\nmodified %+v", got, want, d.Removed, d.Added, d.Modified)
		}
		if same := rooted(a).dump() == want; d.Empty() != same {
			t.Fatalf("empty is %v, the same is %v: %+v", d.Empty(), same, d)
		}
		if d := Compare(a, a); !d.Empty() {
			t.Fatalf("a differs from itself in %+v", d)
		}
	})
}
