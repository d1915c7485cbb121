package noise

import (
	"cmp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// gram is the number of bytes of a rule's literal that the index uses.
const gram = minLiteral

// index finds the rules that an event may match by three bytes that each rule requires. It reads a text once, however
// many rules there are.
type index struct {
	// rules are sorted by strength: the first match applies.
	rules []*UserRule
	// seen has a bit for the hash of every gram in byGram.
	seen   [1 << 10]uint64
	byGram map[uint32][]int32
	// always are the rules without a literal, which are tried on every event.
	always []int32
}

// tried are the rules that were already compared with an event.
type tried [(2*MaxUserRules + 63) / 64]uint64

func newIndex(rules []*UserRule) *index {
	x := &index{rules: slices.Clone(rules), byGram: map[uint32][]int32{}}
	// Of two matching rules, the one that may hide more applies.
	slices.SortStableFunc(x.rules, func(a, b *UserRule) int {
		return cmp.Or(-compareBool(a.HideNew, b.HideNew), -compareBool(a.Fingerprint != "", b.Fingerprint != ""), a.Made.Compare(b.Made))
	})
	// A gram of few rules is more selective.
	common := map[uint32]int{}
	for _, r := range x.rules {
		for g := range grams(r.literal()) {
			common[g]++
		}
	}
	for i, r := range x.rules {
		best, found := uint32(0), false
		for g := range grams(r.literal()) {
			if !found || common[g] < common[best] || common[g] == common[best] && g < best {
				best, found = g, true
			}
		}
		if !found {
			x.always = append(x.always, int32(i))
			continue
		}
		x.byGram[best] = append(x.byGram[best], int32(i))
		h := hash(best)
		x.seen[h>>6] |= 1 << (h & 63)
	}
	return x
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// literal returns the longest piece that every matching text contains, "" if no piece is certain.
func (r *UserRule) literal() string {
	best := ""
	for _, p := range r.parts {
		if len(p) > len(best) {
			best = p
		}
	}
	if best != "" || r.Kind != "console" {
		return best // addresses are folded in more ways than messages
	}
	for rest := r.Fingerprint; rest != ""; {
		piece, after, _ := strings.Cut(rest, "{")
		if len(piece) > len(best) {
			best = piece
		}
		_, rest, _ = strings.Cut(after, "}")
	}
	return best
}

func grams(s string) map[uint32]bool {
	found := map[uint32]bool{}
	for i := range len(s) - gram + 1 {
		found[uint32(s[i])<<16|uint32(s[i+1])<<8|uint32(s[i+2])] = true
	}
	return found
}

// hash returns 16 bits for a gram.
func hash(g uint32) uint32 { return g * 2654435761 >> 16 }

// match returns the strongest rule that matches, or nil.
func (x *index) match(ev event.Event, fold Fold) *UserRule {
	if x == nil || len(x.rules) == 0 {
		return nil
	}
	s, ok := subjectOf(ev, fold)
	if !ok {
		return nil
	}
	var done tried
	best := len(x.rules)
	try := func(list []int32) {
		for _, n := range list {
			i := int(n)
			word, bit := i/64, uint64(1)<<(i%64)
			if i < best && done[word]&bit == 0 {
				done[word] |= bit
				if x.rules[i].holds(&s) {
					best = i
				}
			}
		}
	}
	try(x.always)
	for _, text := range [...]string{s.text, s.second} {
		if len(text) < gram {
			continue
		}
		g := uint32(text[0])<<8 | uint32(text[1])
		for i := gram - 1; i < len(text); i++ {
			g = (g<<8 | uint32(text[i])) & 0xffffff
			if h := hash(g); x.seen[h>>6]&(1<<(h&63)) != 0 {
				try(x.byGram[g])
			}
		}
	}
	if best == len(x.rules) {
		return nil
	}
	return x.rules[best]
}
