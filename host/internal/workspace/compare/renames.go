package compare

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Limits of the search for renamed and changed files.
const (
	// minSimilar is the part of the larger file, in percent, that both must have in common, as for Git.
	minSimilar = 50
	// maxPairs bounds the pairs that are compared. Where there are more, only files of one name are, up to as many.
	maxPairs = 250_000
	// maxSigned bounds the files that are read, maxSignedBytes their bytes.
	maxSigned      = 2000
	maxSignedBytes = 32 << 20
	// maxSteps bounds the comparisons of lines.
	maxSteps = 20_000_000
)

// pair is a renamed file: the indexes of the changes that removed and added it.
type pair struct{ from, to, similarity int }

// renames pairs removed files with added ones: of equal content first, then similar ones. No change is in two pairs. The
// result is not complete where limited is true.
func (c *Comparer) renames(ctx context.Context, changes []tree.Change) (pairs []pair, limited bool, err error) {
	var removed, added []int
	for i, ch := range changes {
		switch {
		case ch.After == nil && movable(ch.Before):
			removed = append(removed, i)
		case ch.Before == nil && movable(ch.After):
			added = append(added, i)
		}
	}
	if len(removed) == 0 || len(added) == 0 {
		return nil, false, nil
	}
	pairs, removed, added = equal(changes, removed, added)
	similar, limited, err := c.similar(ctx, changes, removed, added)
	return append(pairs, similar...), limited, err
}

// movable reports whether an entry can be recognized elsewhere.
func movable(e *tree.Entry) bool { return e.Kind == tree.Link || e.Kind == tree.File && e.Unread == "" }

// identity is what two entries of equal content have in common.
type identity struct {
	kind    tree.Kind
	chunked bool // a list of chunks is not the content of a file that has the same bytes
	content objects.ID
	target  string
}

// equal pairs files of equal content, those of one name first, and returns the rest. Empty files are paired only with
// ones of the same name, because nothing else tells them apart.
func equal(changes []tree.Change, removed, added []int) (pairs []pair, restRemoved, restAdded []int) {
	of := func(e *tree.Entry) identity { return identity{e.Kind, e.Chunked, e.Content, e.Target} }
	from := map[identity][]int{}
	for _, i := range removed {
		id := of(changes[i].Before)
		from[id] = append(from[id], i)
	}
	taken := map[int]bool{}
	names := map[identity]map[string][]int{} // made only for contents that several removed files had
	named := func(id identity, base string) []int {
		byName, ok := names[id]
		if !ok {
			byName = map[string][]int{}
			for _, i := range from[id] {
				b := tree.Base(changes[i].Path)
				byName[b] = append(byName[b], i)
			}
			names[id] = byName
		}
		return byName[base]
	}
	take := func(to int, candidates []int) (rest []int, ok bool) {
		for len(candidates) > 0 && taken[candidates[0]] {
			candidates = candidates[1:]
		}
		if len(candidates) == 0 {
			return nil, false
		}
		taken[candidates[0]], taken[to] = true, true
		pairs = append(pairs, pair{candidates[0], to, 100})
		return candidates[1:], true
	}
	for _, to := range added {
		id, base := of(changes[to].After), tree.Base(changes[to].Path)
		if len(from[id]) > 0 {
			rest, _ := take(to, named(id, base))
			names[id][base] = rest
		}
	}
	for _, to := range added {
		e := changes[to].After
		if id := of(e); !taken[to] && (e.Kind == tree.Link || e.Size > 0) {
			from[id], _ = take(to, from[id])
		}
	}
	isTaken := func(i int) bool { return taken[i] }
	return pairs, slices.DeleteFunc(removed, isTaken), slices.DeleteFunc(added, isTaken)
}

// similar pairs files that have most of their lines in common.
func (c *Comparer) similar(ctx context.Context, changes []tree.Change, removed, added []int) (pairs []pair, limited bool, err error) {
	comparable := func(e *tree.Entry) bool { return e.Kind == tree.File && e.Size > 0 && e.Size <= maxSize }
	removed = slices.DeleteFunc(removed, func(i int) bool { return !comparable(changes[i].Before) })
	added = slices.DeleteFunc(added, func(i int) bool { return !comparable(changes[i].After) })
	var candidates []pair
	all := len(removed)*len(added) <= maxPairs
	limited = !all
	visited := 0
	byName := map[string][]int{}
	for _, to := range added {
		base := tree.Base(changes[to].Path)
		byName[base] = append(byName[base], to)
	}
	for _, from := range removed {
		to := added
		if !all {
			to = byName[tree.Base(changes[from].Path)]
		}
		visited += len(to)
		if visited > maxPairs {
			limited = true
			break
		}
		for _, to := range to {
			a, b := changes[from].Before.Size, changes[to].After.Size
			if min(a, b)*100 >= max(a, b)*minSimilar {
				candidates = append(candidates, pair{from, to, 0})
			}
		}
	}
	// Files of one name first, so that a limit costs the least likely pairs.
	sameName := func(p pair) int {
		if tree.Base(changes[p.from].Path) == tree.Base(changes[p.to].Path) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(candidates, func(a, b pair) int { return cmp.Compare(sameName(a), sameName(b)) })
	s := signer{c: c, of: map[int]signature{}}
	found := candidates[:0]
	for _, p := range candidates {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		a, ok := s.sign(p.from, changes[p.from].Before)
		b, more := s.sign(p.to, changes[p.to].After)
		if !ok || !more || s.steps > maxSteps {
			limited = true
			continue
		}
		if p.similarity = s.compare(a, b); p.similarity >= minSimilar {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(sameName(a), sameName(b)))
	})
	taken := map[int]bool{}
	for _, p := range found {
		if !taken[p.from] && !taken[p.to] {
			taken[p.from], taken[p.to] = true, true
			pairs = append(pairs, p)
		}
	}
	return pairs, limited, nil
}

// signature is a content as its pieces: their hashes in order, with the bytes of each. A piece is a line, or 64 bytes of
// a longer one.
type signature []piece

type piece struct {
	hash  uint64
	bytes int
}

var seed = maphash.MakeSeed()

const pieceSize = 64

func sign(s string) signature {
	all := make(signature, 0, strings.Count(s, "\n")+len(s)/pieceSize+1)
	for len(s) > 0 {
		n := min(len(s), pieceSize)
		if i := strings.IndexByte(s[:n], '\n'); i >= 0 {
			n = i + 1
		}
		all = append(all, piece{maphash.String(seed, s[:n]), n})
		s = s[n:]
	}
	slices.SortFunc(all, func(a, b piece) int { return cmp.Compare(a.hash, b.hash) })
	merged := all[:0]
	for _, p := range all {
		if i := len(merged) - 1; i >= 0 && merged[i].hash == p.hash {
			merged[i].bytes += p.bytes
			continue
		}
		merged = append(merged, p)
	}
	return merged
}

func (s signature) size() (n int) {
	for _, p := range s {
		n += p.bytes
	}
	return n
}

// signer reads files within a budget.
type signer struct {
	c            *Comparer
	of           map[int]signature
	bytes, steps int
}

// sign returns the signature of a change's entry, an empty one where the content cannot be read. It reports false where
// the budget is used up.
func (s *signer) sign(i int, e *tree.Entry) (signature, bool) {
	if sig, ok := s.of[i]; ok {
		return sig, true
	}
	if len(s.of) >= maxSigned || s.bytes+int(e.Size) > maxSignedBytes {
		return nil, false
	}
	s.bytes += int(e.Size)
	var content strings.Builder
	var sig signature
	if err := s.c.source.Content(&limited{&content, maxSize}, e); err == nil {
		sig = sign(content.String())
	}
	s.of[i] = sig
	return sig, true
}

// compare returns what two contents have in common, in percent of the larger one.
func (s *signer) compare(a, b signature) int {
	s.steps += len(a) + len(b)
	size := max(a.size(), b.size())
	common := 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].hash < b[0].hash:
			a = a[1:]
		case a[0].hash > b[0].hash:
			b = b[1:]
		default:
			common += min(a[0].bytes, b[0].bytes)
			a, b = a[1:], b[1:]
		}
	}
	return common * 100 / max(size, 1)
}
