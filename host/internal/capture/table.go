package capture

import (
	"slices"
	"strings"
	"sync"

	"tidemark.dev/tidemark/host/internal/event"
)

// MaxEndpoints bounds a table; when it is full, endpoints that are not in it are not remembered.
const MaxEndpoints = 5000

// Table is every endpoint at one moment. Tables of one store share what is the same in them: the
// endpoints' names, and the chunks of values that have not changed from one to the next.
type Table struct {
	index  *Index
	chunks []*tableChunk
	known  int
	shared bool   // it is changed no more
	made   uint64 // which chunks are its own
}

// tableChunk holds the values of neighbours in the index; it is copied when it is changed by a table
// that did not make it.
type tableChunk struct {
	made   uint64
	values [chunkSize]packedEndpoint
}

// chunkSize is a trade: small chunks are shared more often, large ones cost fewer pointers.
const chunkSize = 16

// packedEndpoint is an [Endpoint] in 16 bytes; all zero for one that is not known.
type packedEndpoint struct {
	totalMs  float64
	measured uint32
	status   uint16 // with failingBit
	err      uint16 // in the index
}

const failingBit = 1 << 15

// Index gives every endpoint of a store a number. It is safe for concurrent use.
type Index struct {
	mu     sync.RWMutex
	ids    map[EndpointKey]int
	keys   []*EndpointKey
	words  map[string]string // parts of keys, each kept once
	errors []string          // the first is ""
	made   uint64
}

// maxErrors bounds the different reasons that an index remembers.
const maxErrors = 1000

// NewIndex makes an index without endpoints.
func NewIndex() *Index {
	return &Index{ids: map[EndpointKey]int{}, words: map[string]string{}, errors: []string{""}}
}

func (x *Index) find(k EndpointKey) (int, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	id, ok := x.ids[k]
	return id, ok
}

// add returns the number of an endpoint, and gives it one when it has none. The parts of the key are
// copied: they may be slices of something much longer.
func (x *Index) add(k EndpointKey) int {
	if id, ok := x.find(k); ok {
		return id
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	k = EndpointKey{Page: x.wordLocked(k.Page), Origin: x.wordLocked(k.Origin), Method: x.wordLocked(k.Method), Path: x.wordLocked(k.Path), Operation: x.wordLocked(k.Operation)}
	x.ids[k] = len(x.keys)
	x.keys = append(x.keys, &k)
	return len(x.keys) - 1
}

func (x *Index) wordLocked(s string) string {
	if known, ok := x.words[s]; ok {
		return known
	}
	s = strings.Clone(s)
	x.words[s] = s
	return s
}

func (x *Index) errorID(s string) uint16 {
	if s == "" {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := slices.Index(x.errors, s); i >= 0 {
		return uint16(i)
	}
	if len(x.errors) == maxErrors {
		return maxErrors - 1
	}
	if len(x.errors) == maxErrors-1 {
		s = "(one of many)"
	}
	x.errors = append(x.errors, strings.Clone(s))
	return uint16(len(x.errors) - 1)
}

func (x *Index) error(id uint16) string {
	if id == 0 {
		return ""
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.errors[id]
}

func (x *Index) key(id int) EndpointKey {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return *x.keys[id]
}

// named is an endpoint's name as the index keeps it, nil for one that the index does not know.
func (x *Index) named(k EndpointKey) *EndpointKey {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if id, ok := x.ids[k]; ok {
		return x.keys[id]
	}
	return nil
}

func (x *Index) next() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.made++
	return x.made
}

// NewTable makes an empty table of an index.
func NewTable(x *Index) *Table { return &Table{index: x, made: x.next()} }

// Get returns what is known of an endpoint.
func (t *Table) Get(k EndpointKey) (Endpoint, bool) {
	if t == nil {
		return Endpoint{}, false
	}
	id, ok := t.index.find(k)
	if !ok {
		return Endpoint{}, false
	}
	p := t.at(id)
	return t.unpack(p), p != packedEndpoint{}
}

func (t *Table) at(id int) packedEndpoint {
	if i := id / chunkSize; i < len(t.chunks) && t.chunks[i] != nil {
		return t.chunks[i].values[id%chunkSize]
	}
	return packedEndpoint{}
}

func (t *Table) unpack(p packedEndpoint) Endpoint {
	return Endpoint{
		Status: int(p.status &^ failingBit), Failing: p.status&failingBit != 0, Error: t.index.error(p.err),
		Measured: int(p.measured), TotalMs: p.totalMs,
	}
}

// Len is the number of endpoints known.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return t.known
}

// All yields every endpoint, in the order in which the index came to know them.
func (t *Table) All(yield func(EndpointKey, Endpoint) bool) {
	if t == nil {
		return
	}
	for i, chunk := range t.chunks {
		if chunk == nil {
			continue
		}
		for j, p := range chunk.values {
			if p != (packedEndpoint{}) && !yield(t.index.key(i*chunkSize+j), t.unpack(p)) {
				return
			}
		}
	}
}

// Set puts an endpoint into a table that nobody else has yet.
func (t *Table) Set(k EndpointKey, e Endpoint) {
	id := t.index.add(k)
	i := id / chunkSize
	for len(t.chunks) <= i {
		t.chunks = append(t.chunks, nil)
	}
	chunk := t.chunks[i]
	switch {
	case chunk == nil:
		chunk = &tableChunk{made: t.made}
	case chunk.made != t.made:
		chunk = &tableChunk{made: t.made, values: chunk.values}
	}
	t.chunks[i] = chunk
	v := &chunk.values[id%chunkSize]
	if *v == (packedEndpoint{}) {
		t.known++
	}
	*v = packedEndpoint{totalMs: e.TotalMs, measured: uint32(min(e.Measured, 1<<32-1)), status: uint16(e.Status) & (failingBit - 1), err: t.index.errorID(e.Error)}
	if e.Failing {
		v.status |= failingBit
	}
}

// apply takes one more request into the table and returns the table to use from now on.
func (t *Table) apply(k EndpointKey, n *event.Network) *Table {
	if !Counts(n) {
		return t
	}
	e, known := t.Get(k)
	if !known && t.Len() >= MaxEndpoints {
		return t
	}
	if t.shared {
		t = &Table{index: t.index, chunks: slices.Clone(t.chunks), known: t.known, made: t.index.next()}
	}
	t.Set(k, e.After(n))
	return t
}

func (t *Table) share() *Table {
	if !t.shared { // a table that is shared is read without the lock
		t.shared = true
	}
	return t
}
