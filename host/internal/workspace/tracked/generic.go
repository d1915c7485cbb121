package tracked

import (
	"strconv"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

// UnknownError is the answer to a request for a snapshot that does not exist.
type UnknownError = provider.UnknownError

// Snapshots returns the snapshots in their order, in the form that all providers have in common.
func (p *Provider) Snapshots() []provider.Snapshot {
	list := p.List()
	all := make([]provider.Snapshot, len(list))
	for i := range list {
		all[i] = list[i].common()
	}
	return all
}

func (s *Snapshot) common() provider.Snapshot {
	return provider.Snapshot{
		Number: s.Number, At: s.At, Label: s.Label, Reference: strconv.FormatUint(s.Number, 10), Problems: s.Problems, Files: s.Files, Changed: s.Changed,
	}
}
