package tracked

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
)

// Check reads everything that the snapshots need, and returns the damages, one line each.
func (p *Provider) Check() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	damages := p.objects.Check()
	if p.lost > 0 {
		damages = append(damages, fmt.Sprintf("%d snapshots were lost: the machine ended before their contents were on disk", p.lost))
	}
	if p.history.cut > 0 {
		damages = append(damages, fmt.Sprintf("%s has an end of %d bytes that was not whole; a copy is in %s", p.history.file.Name(), p.history.cut, p.history.file.Name()+cutSuffix))
	}
	for i, s := range p.all {
		if s.deleted {
			continue
		}
		t, err := p.treeAt(i)
		if err != nil {
			damages = append(damages, err.Error())
			continue
		}
		var missing []string
		for path, n := range t.All() {
			ids, err := p.idsOf(&n.Entry)
			for _, id := range ids {
				if !p.objects.Has(id) {
					err = objects.ErrMissing
				}
			}
			if err != nil {
				missing = append(missing, path)
			}
		}
		if len(missing) > 0 {
			damages = append(damages, fmt.Sprintf("s%d: %d files have no content, such as %s", s.Number, len(missing), strings.Join(missing[:1], "")))
		}
	}
	return damages
}
