package store

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"tidemark.dev/tidemark/host/internal/event"
)

// whole reads an entry by the library, which takes only lists of exactly the struct's fields. As by [entryReader.each], fields that
// this program does not know are skipped, and those that an older one did not write are zero.
func (r *entryReader) whole(e event.Event) {
	known, err := fieldsOnDisk(e)
	if err != nil {
		r.err = err
		return
	}
	begin := r.at
	n := r.length(msgpcode.FixedArrayLow, msgpcode.FixedArrayHigh, msgpcode.Array16)
	if n == known || n < 0 {
		r.at = begin
		r.library(func() error { return r.d.Decode(e) })
		return
	}
	from, to := r.at, r.at
	for i := 0; i < n && r.err == nil; i++ {
		if r.library(r.d.Skip); i < known {
			to = r.at
		}
	}
	if r.err != nil {
		return
	}
	list := binary.BigEndian.AppendUint16([]byte{msgpcode.Array16}, uint16(known)) //nolint:gosec // a struct has few fields
	list = append(list, r.data[from:to]...)
	for range known - n {
		list = append(list, msgpcode.Nil)
	}
	r.err = msgpack.Unmarshal(list, e)
}

// fields has the number of fields of each type of entries, as it is on disk.
var fields sync.Map

// fieldsOnDisk returns how many fields an entry has on disk.
func fieldsOnDisk(e event.Event) (int, error) {
	kind := reflect.TypeOf(e).Elem()
	if n, ok := fields.Load(kind); ok {
		return n.(int), nil
	}
	data, err := marshal(reflect.New(kind).Interface())
	if err != nil {
		return 0, fmt.Errorf("cannot find the fields of %v: %w", kind, err)
	}
	r := entryReader{data: data}
	n := r.length(msgpcode.FixedArrayLow, msgpcode.FixedArrayHigh, msgpcode.Array16)
	if r.err == nil {
		fields.Store(kind, n)
	}
	return n, r.err
}
