package debugger

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// wireKinds maps kinds of keys to their names in the protocol.
var wireKinds = map[variables.KeyKind]string{
	variables.KeyField: protocol.KeyField, variables.KeyIndex: protocol.KeyIndex, variables.KeyEntry: protocol.KeyEntry,
	variables.KeyMember: protocol.KeyMember, variables.KeyPosition: protocol.KeyPosition, variables.KeySymbol: protocol.KeySymbol,
	variables.KeyPrivate: protocol.KeyPrivate,
}

var keyKinds = func() map[string]variables.KeyKind {
	kinds := map[string]variables.KeyKind{}
	for k, wire := range wireKinds {
		kinds[wire] = k
	}
	return kinds
}()

func wirePath(p variables.Path) []protocol.DebugKey {
	keys := make([]protocol.DebugKey, len(p))
	for i, k := range p {
		keys[i] = protocol.DebugKey{Kind: wireKinds[k.Kind], Name: k.Name, Index: k.Index}
	}
	return keys
}

// snapshot converts the variables that the extension read to a snapshot.
func (c *debugCall) snapshot(ctx context.Context, read *protocol.DebugVariables, depth int) *variables.Snapshot {
	s := &variables.Snapshot{
		ID: "snap-" + uuid.NewString(), At: c.inspector.clock(), Thread: read.Thread, Frame: read.Frame, Depth: depth, Gaps: read.Gaps,
	}
	for _, at := range c.stack(ctx, []protocol.DebugFrame{read.At}) {
		s.Function, s.Place = at.Function, report.Marked(at.Source, at.Generated)
	}
	if s.Code = read.At.URL; read.At.Function == "" {
		s.Code = fmt.Sprintf("%s:%d:%d", read.At.URL, read.At.NameLine, read.At.NameColumn)
	}
	s.Variables = scoped(read.Variables)
	return s
}

// scoped converts the variables that the extension read.
func scoped(read []protocol.DebugVariable) []variables.Variable {
	places := map[int64]string{}
	for i := range read {
		remember(places, nil, &read[i].Value)
	}
	out := make([]variables.Variable, len(read))
	for i := range read {
		out[i] = variables.Variable{Scope: read[i].Scope, Value: value(&read[i].Value, places)}
	}
	return out
}

func key(k protocol.DebugKey) variables.Key {
	return variables.Key{Kind: keyKinds[k.Kind], Name: k.Name, Index: k.Index}
}

// remember records the path of each object, for other places that refer to it by number only.
func remember(places map[int64]string, at variables.Path, f *protocol.DebugField) {
	at = append(at, key(f.DebugKey))
	if f.ID != 0 && f.Object && !f.Reference {
		places[f.ID] = at.String()
	}
	for i := range f.Fields {
		remember(places, at, &f.Fields[i])
	}
}

func value(f *protocol.DebugField, places map[int64]string) variables.Value {
	v := variables.Value{
		Key: key(f.DebugKey), Type: f.Type, Text: f.Text, Identity: f.ID, Size: f.Size, Open: f.Open, Object: f.Object,
		Length: f.Length, Hash: f.Hash, Masked: f.Masked,
	}
	if f.Reference {
		v.Reference = places[f.ID]
	}
	if len(f.Fields) > 0 {
		v.Children = make([]variables.Value, len(f.Fields))
		for i := range f.Fields {
			v.Children[i] = value(&f.Fields[i], places)
		}
	}
	return v
}
