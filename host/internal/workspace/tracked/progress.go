package tracked

import "tidemark.dev/tidemark/host/internal/workspace/tree"

// shown is what others see without waiting for a snapshot that is being taken.
type shown struct {
	snapshots []Snapshot
	history   int64 // bytes
	// taking is how far that snapshot is, nil if there is none.
	taking *tree.Progress
}

// show lets others see what has changed. The caller has the lock.
func show(p *Provider, taking *tree.Progress) {
	s := &shown{snapshots: make([]Snapshot, 0, len(p.all)), history: p.history.bytes(), taking: taking}
	for _, one := range p.all {
		if !one.deleted {
			s.snapshots = append(s.snapshots, *one)
		}
	}
	p.shown.Store(s)
}

// List returns the snapshots in their order.
func (p *Provider) List() []Snapshot { return append([]Snapshot{}, p.shown.Load().snapshots...) }

// Size returns what the snapshots take on disk, in bytes.
func (p *Provider) Size() int64 { return p.objects.Size() + p.shown.Load().history }

// Taking returns how far the snapshot is that is being taken, nil if there is none.
func Taking(p *Provider) *tree.Progress { return p.shown.Load().taking }
