package engine

import (
	"slices"
)

// Tool is a use case as agents and the command line call it.
type Tool = BoundTool[*Engine]

// Tools are all of them, in the order in which they are listed.
var Tools = slices.Concat(InSet(Observe, observing), InSet(Act, opening), InSet(Act, acting), InSet(Debug, debugging))

// FindTool returns the tool of that name, or nil.
func FindTool(name string) *Tool {
	for _, t := range Tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}
