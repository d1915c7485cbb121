package variables

import (
	"hash/maphash"
	"slices"
	"strconv"
)

// keyFields are the fields that identify elements of an array, the most reliable first.
var keyFields = [...]string{"id", "_id", "key", "uuid", "guid", "sku", "code", "name"}

// longestKeyField is the length of the longest of them.
const longestKeyField = 4

// exact bounds the exact longest common subsequence, in elements times elements. Larger lists are aligned by the
// elements that occur only once.
const exact = 1 << 16

// align returns for each new element the index of its old element, or -1. Elements are matched by identity, then by a
// key field, then by content, and last by their place between matched ones. If the kept elements have another order,
// order has for each of them, in the new order, its index among the kept elements before.
func (c *comparison) align(olds, news []Value) (of, order []int) {
	a, b := c.digests(olds), c.digests(news)
	of = make([]int, len(news))
	for i := range of {
		of[i] = -1
	}
	head := 0
	same := func(i, j int) bool {
		x, y := olds[i].Identity, news[j].Identity
		return a[i] == b[j] && (x == y || x == 0 || y == 0)
	}
	for head < len(a) && head < len(b) && same(head, head) {
		of[head] = head
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && same(len(a)-1-tail, len(b)-1-tail) {
		tail++
		of[len(b)-tail] = len(a) - tail
	}
	c.known(olds[head:len(olds)-tail], news[head:len(news)-tail], of[head:len(of)-tail], head)
	kept := increasing(of)
	// The rest is aligned between elements that kept their order.
	i, j := 0, 0
	used := make([]bool, len(olds))
	for _, o := range of {
		if o >= 0 {
			used[o] = true
		}
	}
	fill := func(endOld, endNew int) {
		c.fill(olds, news, a, b, of, used, i, endOld, j, endNew)
	}
	for _, n := range kept {
		fill(of[n], n)
		i, j = of[n]+1, n+1
	}
	fill(len(olds), len(news))
	return of, rearranged(of)
}

// known pairs elements by identity or key. from is the index of the first element of olds.
func (c *comparison) known(olds, news []Value, of []int, from int) {
	if len(olds) == 0 || len(news) == 0 {
		return
	}
	taken := make([]bool, len(olds))
	pair := func(a, b []named) {
		const several = -1
		index := make(map[string]int, len(a))
		for _, o := range a {
			at := o.at
			if _, twice := index[o.name]; twice {
				at = several
			}
			index[o.name] = at
		}
		twice := make(map[string]int, len(b))
		for _, n := range b {
			twice[n.name]++
		}
		for _, n := range b {
			o, found := index[n.name]
			if of[n.at] >= 0 || !found || o == several || twice[n.name] > 1 || taken[o] || olds[o].Type != news[n.at].Type {
				continue
			}
			of[n.at], taken[o] = from+o, true
		}
	}
	pair(identities(olds), identities(news))
	a, b := keysOf(olds), keysOf(news)
	for field := range keyFields {
		if len(a[field]) > 0 && len(b[field]) > 0 {
			pair(a[field], b[field])
		}
	}
}

// named is the index of an element with its identity or key.
type named struct {
	at   int
	name string
}

func identities(all []Value) []named {
	var out []named
	for i := range all {
		if v := &all[i]; v.Identity != 0 && v.Type != "symbol" && v.Object {
			out = append(out, named{i, strconv.FormatInt(v.Identity, 36)})
		}
	}
	return out
}

// keysOf returns for each key field the elements that have it, in one pass over the elements.
func keysOf(all []Value) (by [len(keyFields)][]named) {
	for i := range all {
		for j := range all[i].Children {
			f := &all[i].Children[j]
			if field := f.keyField(); field >= 0 && !slices.ContainsFunc(last(by[field]), func(n named) bool { return n.at == i }) {
				by[field] = append(by[field], named{i, f.Type + ":" + f.Text})
			}
		}
	}
	return by
}

// last returns the last element of a list as a list, empty for an empty list.
func last(all []named) []named { return all[max(0, len(all)-1):] }

// keyField returns the index of this field in keyFields, -1 if it is not a key field or has no usable value.
func (v *Value) keyField() int {
	if v.Key.Kind != KeyField || len(v.Key.Name) > longestKeyField || v.Object || v.Masked || v.Hash != "" {
		return -1
	}
	if v.Type != "string" && v.Type != "number" && v.Type != "bigint" {
		return -1
	}
	return slices.Index(keyFields[:], v.Key.Name)
}

// key returns the value of the element's most reliable key field.
func (v *Value) key() string {
	best, text := len(keyFields), ""
	for i := range v.Children {
		f := &v.Children[i]
		if field := f.keyField(); field >= 0 && field < best {
			best, text = field, f.Type+":"+f.Text
		}
	}
	return text
}

// fill pairs the unmatched elements in a part of both lists.
func (c *comparison) fill(olds, news []Value, a, b []uint64, of []int, used []bool, fromOld, toOld, fromNew, toNew int) {
	var restOld, restNew []int
	for i := fromOld; i < toOld; i++ {
		if !used[i] {
			restOld = append(restOld, i)
		}
	}
	for i := fromNew; i < toNew; i++ {
		if of[i] < 0 {
			restNew = append(restNew, i)
		}
	}
	if len(restOld) == 0 || len(restNew) == 0 {
		return
	}
	pairs := common(pick(a, restOld), pick(b, restNew))
	// Between equal elements, the rest is paired by place, unless types or keys differ.
	place := func(endOld, endNew int, i, j int) {
		for ; i < endOld && j < endNew; i, j = i+1, j+1 {
			o, n := restOld[i], restNew[j]
			if olds[o].Type == news[n].Type && olds[o].key() == news[n].key() {
				of[n], used[o] = o, true
			}
		}
	}
	i, j := 0, 0
	for _, p := range pairs {
		place(p[0], p[1], i, j)
		of[restNew[p[1]]], used[restOld[p[0]]] = restOld[p[0]], true
		i, j = p[0]+1, p[1]+1
	}
	place(len(restOld), len(restNew), i, j)
}

func pick(all []uint64, at []int) []uint64 {
	out := make([]uint64, len(at))
	for i, k := range at {
		out[i] = all[k]
	}
	return out
}

// common returns the longest common subsequence of two lists as pairs of indexes. It is exact if that is cheap.
func common(a, b []uint64) (pairs [][2]int) {
	var walk func(fromA, toA, fromB, toB, level int)
	walk = func(fromA, toA, fromB, toB, level int) {
		for fromA < toA && fromB < toB && a[fromA] == b[fromB] {
			pairs = append(pairs, [2]int{fromA, fromB})
			fromA, fromB = fromA+1, fromB+1
		}
		tail := 0
		for fromA < toA-tail && fromB < toB-tail && a[toA-1-tail] == b[toB-1-tail] {
			tail++
		}
		toA, toB = toA-tail, toB-tail
		switch n, m := toA-fromA, toB-fromB; {
		case n == 0 || m == 0:
		case n*m <= exact:
			pairs = longest(a[fromA:toA], b[fromB:toB], fromA, fromB, pairs)
		case level > 0:
			i, j := fromA, fromB
			for _, p := range anchors(a[fromA:toA], b[fromB:toB]) {
				x, y := fromA+p[0], fromB+p[1]
				walk(i, x, j, y, level-1)
				pairs = append(pairs, [2]int{x, y})
				i, j = x+1, y+1
			}
			if i > fromA {
				walk(i, toA, j, toB, level-1)
			}
		}
		for k := range tail {
			pairs = append(pairs, [2]int{toA + k, toB + k})
		}
	}
	walk(0, len(a), 0, len(b), 8)
	return pairs
}

// longest adds the exact longest common subsequence, with a table of all lengths.
func longest(a, b []uint64, baseA, baseB int, pairs [][2]int) [][2]int {
	w := len(b) + 1
	table := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*w+j] = table[(i+1)*w+j+1] + 1
			} else {
				table[i*w+j] = max(table[(i+1)*w+j], table[i*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{baseA + i, baseB + j})
			i, j = i+1, j+1
		case table[(i+1)*w+j] >= table[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// anchors returns the elements that occur once in each list and have the same order in both.
func anchors(a, b []uint64) (pairs [][2]int) {
	type places struct{ inA, inB, at int }
	count := make(map[uint64]places, len(a))
	for i, d := range a {
		p := count[d]
		count[d] = places{p.inA + 1, p.inB, i}
	}
	for _, d := range b {
		if p, ok := count[d]; ok {
			p.inB++
			count[d] = p
		}
	}
	of := make([]int, len(b))
	for j, d := range b {
		of[j] = -1
		if p := count[d]; p.inA == 1 && p.inB == 1 {
			of[j] = p.at
		}
	}
	for _, j := range increasing(of) {
		pairs = append(pairs, [2]int{of[j], j})
	}
	return pairs
}

// increasing returns the indexes of the longest increasing subsequence of the non-negative numbers.
func increasing(of []int) []int {
	var ends []int // for each length, the index of the smallest number that ends a subsequence
	before := make([]int, len(of))
	for i, o := range of {
		if o < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, o, func(at, o int) int { return of[at] - o })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	out := make([]int, len(ends))
	for i, at := len(ends)-1, ends[len(ends)-1]; i >= 0; i, at = i-1, before[at] {
		out[i] = at
	}
	return out
}

// rearranged returns the order of the kept elements, as indexes among the kept old ones; nil if it is unchanged.
func rearranged(of []int) []int {
	var stayed []int
	for _, o := range of {
		if o >= 0 {
			stayed = append(stayed, o)
		}
	}
	if slices.IsSorted(stayed) {
		return nil
	}
	sorted := slices.Clone(stayed)
	slices.Sort(sorted)
	order := make([]int, len(stayed))
	for i, o := range stayed {
		order[i], _ = slices.BinarySearch(sorted, o)
	}
	return order
}

// digests returns a hash of each value and its content.
func (c *comparison) digests(all []Value) []uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	out := make([]uint64, len(all))
	for i := range all {
		h.Reset()
		all[i].write(&h, true)
		out[i] = h.Sum64()
	}
	return out
}

// write adds to the hash everything that decides whether two values are equal.
func (v *Value) write(h *maphash.Hash, top bool) {
	var number [4]byte
	n := func(i int) {
		number = [4]byte{byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24)}
		_, _ = h.Write(number[:])
	}
	text := func(s string) {
		n(len(s))
		_, _ = h.WriteString(s)
	}
	if !top {
		n(int(v.Key.Kind)<<24 + v.Key.Index)
		text(v.Key.Name)
	}
	text(v.Type)
	switch {
	case v.Reference != "" && v.Identity != 0, v.Type == "symbol":
		n(int(v.Identity))
	case v.Reference != "":
		text(v.Reference)
	}
	text(v.Text)
	text(v.Hash)
	n(v.Length)
	n(v.Size)
	flags := 0
	for i, f := range []bool{v.Open, v.Object, v.Masked, v.Reference != ""} {
		if f {
			flags |= 1 << i
		}
	}
	n(flags)
	for i := range v.Children {
		v.Children[i].write(h, false)
	}
}
