package debugger

import (
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

func number(name string, n int) variables.Value {
	return variables.Value{Key: variables.Key{Name: name}, Type: "number", Text: fmt.Sprint(n)}
}

func object(name string, fields ...variables.Value) variables.Value {
	return variables.Value{Key: variables.Key{Name: name}, Type: "Object", Object: true, Open: true, Size: len(fields), Children: fields}
}

func list(name string, elements ...variables.Value) variables.Value {
	for i := range elements {
		elements[i].Key = variables.Key{Kind: variables.KeyIndex, Index: i}
	}
	v := object(name, elements...)
	v.Type = "Array"
	return v
}

func local(all ...variables.Value) *variables.Snapshot {
	s := &variables.Snapshot{}
	for _, v := range all {
		s.Variables = append(s.Variables, variables.Variable{Scope: variables.ScopeLocal, Value: v})
	}
	return s
}

// outline is a tree in lines.
func outline(scopes []protocol.ViewScope) string {
	var b strings.Builder
	var add func(indent string, v *protocol.ViewValue)
	add = func(indent string, v *protocol.ViewValue) {
		fmt.Fprintf(&b, "%s%s", indent, v.Name)
		if v.Change != "" {
			fmt.Fprintf(&b, " %s", v.Change)
		}
		if v.Old != "" {
			fmt.Fprintf(&b, " %s →", v.Old)
		}
		fmt.Fprintf(&b, " %s", v.Value)
		if v.Same+v.More > 0 {
			fmt.Fprintf(&b, " (%d same, %d more)", v.Same, v.More)
		}
		b.WriteString("\n")
		for i := range v.Children {
			add(indent+"  ", &v.Children[i])
		}
	}
	for i := range scopes {
		fmt.Fprintf(&b, "%s\n", scopes[i].Scope)
		for j := range scopes[i].Values {
			add("  ", &scopes[i].Values[j])
		}
	}
	return b.String()
}

func TestADifferenceIsATreeInTheOrderOfTheNewerSnapshot(t *testing.T) {
	text := func(name, s string) variables.Value {
		return variables.Value{Key: variables.Key{Name: name}, Type: "string", Text: s}
	}
	from := local(number("tries", 2), object("order", object("Customer", text("Name", "Ada"), text("City", "Warsaw")), number("Total", 3)),
		number("result", 0), number("tempBuffer", 9), list("items", number("", 1), number("", 2)))
	to := local(number("tries", 3), number("same", 1), object("order", object("Customer", text("Name", "Grace"), text("City", "Warsaw")), number("Total", 3)),
		text("result", "ok"), list("items", number("", 1), number("", 7), number("", 2)), object("made", number("a", 1)))
	from.Variables = append(from.Variables, variables.Variable{Scope: variables.ScopeLocal, Value: number("same", 1)})
	want := `local
  tries modified 2 → 3
  order Object {…2} (1 same, 0 more)
    Customer Object {…2} (1 same, 0 more)
      Name modified "Ada" → "Grace"
  result retyped 0 → "ok"
  items Array(3) (2 same, 0 more)
    [1] added 7
  made added Object {…1}
    a 1
  tempBuffer removed 9 → 
`
	if got := outline(diffTree(variables.Compare(from, to), to)); got != want {
		t.Errorf("%s", got)
	}
	if got := outline(diffTree(variables.Compare(to, to), to)); got != "" {
		t.Errorf("%s", got)
	}
}

func TestALargeTreeIsCutLevelByLevel(t *testing.T) {
	var deep []variables.Value
	for i := range 100 {
		deep = append(deep, number(fmt.Sprintf("f%d", i), i))
	}
	tree := snapshotTree(local(object("first", object("inner", deep...)), object("second", number("a", 1), number("b", 2))))
	if cut := prune(tree, 7); cut != 98 {
		t.Errorf("cut %d", cut)
	}
	want := `local
  first Object {…1}
    inner Object {…100} (0 same, 98 more)
      f0 0
      f1 1
  second Object {…2}
    a 1
    b 2
`
	if got := outline(tree); got != want {
		t.Errorf("%s", got)
	}
}
