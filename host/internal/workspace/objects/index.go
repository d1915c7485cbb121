package objects

import "encoding/binary"

// pageRows is how many rows of the index are allocated at once, so that it grows without a copy.
const pageRows = 1024

// row is a content in the index.
type row struct {
	id ID
	at place
}

// index finds contents by their ID. It takes about 55 bytes for one. The zero value is empty.
type index struct {
	pages []*[pageRows]row
	// rows counts the rows in use and the unused ones, which unused has.
	rows   uint32
	unused []uint32
	// slots have the number of a row plus one, or 0, at the place that its ID gives or behind it. Their number is a power
	// of two. IDs are hashes.
	slots []uint32
	used  int
}

func (x *index) row(n uint32) *row { return &x.pages[n/pageRows][n%pageRows] }

func (x *index) home(id *ID) int {
	return int(binary.LittleEndian.Uint64(id[:]) & uint64(len(x.slots)-1)) //nolint:gosec // less than the slots
}

func (x *index) next(slot int) int { return (slot + 1) & (len(x.slots) - 1) }

// find returns the slot of an ID, or the empty one where it would be. There must be slots.
func (x *index) find(id *ID) int {
	slot := x.home(id)
	for x.slots[slot] != 0 && x.row(x.slots[slot]-1).id != *id {
		slot = x.next(slot)
	}
	return slot
}

// get returns where a content is.
func (x *index) get(id ID) (place, bool) {
	if x.used == 0 {
		return place{}, false
	}
	if n := x.slots[x.find(&id)]; n != 0 {
		return x.row(n - 1).at, true
	}
	return place{}, false
}

// set notes where a content is.
func (x *index) set(id ID, at place) {
	if x.used+1 > len(x.slots)*7/8 {
		x.grow()
	}
	slot := x.find(&id)
	if n := x.slots[slot]; n != 0 {
		x.row(n - 1).at = at
		return
	}
	var n uint32
	if last := len(x.unused) - 1; last >= 0 {
		n, x.unused = x.unused[last], x.unused[:last]
	} else {
		if x.rows%pageRows == 0 {
			x.pages = append(x.pages, new([pageRows]row))
		}
		n = x.rows
		x.rows++
	}
	*x.row(n) = row{id, at}
	x.slots[slot] = n + 1
	x.used++
}

func (x *index) grow() {
	old := x.slots
	x.slots = make([]uint32, max(64, 2*len(old)))
	for _, n := range old {
		if n != 0 {
			x.slots[x.find(&x.row(n-1).id)] = n
		}
	}
}

// in returns the contents that are in a pack.
func (x *index) in(pack uint32) (rows []row) {
	for _, n := range x.slots {
		if n != 0 && x.row(n-1).at.pack == pack {
			rows = append(rows, *x.row(n - 1))
		}
	}
	return rows
}

// remove forgets a content.
func (x *index) remove(id ID) {
	if x.used == 0 {
		return
	}
	slot := x.find(&id)
	if x.slots[slot] == 0 {
		return
	}
	x.unused = append(x.unused, x.slots[slot]-1)
	x.used--
	// Those behind it move up, so that none is behind an empty slot that comes after its home.
	for hole := slot; ; {
		slot = x.next(slot)
		n := x.slots[slot]
		if n == 0 {
			x.slots[hole] = 0
			return
		}
		home := x.home(&x.row(n - 1).id)
		if mask := len(x.slots) - 1; (slot-home)&mask >= (slot-hole)&mask {
			x.slots[hole], hole = n, slot
		}
	}
}
