// Package lacking says what a copy of a snapshot does not have although the workspace has it.
package lacking

import (
	"path"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// LeftOut reports paths that a snapshot does not have because they were left out, and those whose state was not certain.
func LeftOut(p *tracked.Provider, number uint64) (func(path string) bool, error) {
	skip, err := p.Skip(number)
	if err != nil {
		return nil, err
	}
	var uncertain []string
	for _, s := range p.List() {
		if s.Number == number {
			for _, problem := range s.Problems {
				name, _, _ := strings.Cut(problem, ": ")
				uncertain = append(uncertain, name)
			}
		}
	}
	return func(name string) bool {
		for ; name != "."; name = path.Dir(name) {
			if skip != nil && skip(name) || slices.Contains(uncertain, name) {
				return true
			}
		}
		return false
	}, nil
}
