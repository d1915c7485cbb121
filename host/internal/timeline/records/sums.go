package records

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/vmihailenco/msgpack/v5"
	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/boltfile"
)

const sumBytes = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// table is a bucket of records. Each record begins with the CRC-32C of the bucket's path, the key and the content, so that one that
// belongs elsewhere in the file is damaged, too.
type table struct {
	*bbolt.Bucket
	// path is the names of the buckets that it is in, and its own.
	path [][]byte
	// meta has the [sum].
	meta *bbolt.Bucket
}

func (t table) checksum(k, data []byte) []byte {
	s := uint32(0)
	for _, name := range t.path {
		s = crc32.Update(crc32.Update(s, castagnoli, name), castagnoli, []byte{0})
	}
	s = crc32.Update(s, castagnoli, k)
	return binary.BigEndian.AppendUint32(nil, crc32.Update(s, castagnoli, data))
}

// sound reports whether a record has its checksum.
func (t table) sound(k, record []byte) bool {
	return len(record) >= sumBytes && string(record[:sumBytes]) == string(t.checksum(k, record[sumBytes:]))
}

// put keeps a value under a key.
func (t table) put(k []byte, v any) error {
	data, err := msgpack.Marshal(v)
	if err != nil {
		return err
	}
	return t.keep(k, data)
}

func (t table) keep(k, data []byte) error {
	record := append(t.checksum(k, data), data...)
	if err := t.replaced(t.Get(k), record); err != nil {
		return err
	}
	return t.Put(k, record)
}

// remove removes what is under a key, if anything is.
func (t table) remove(k []byte) error {
	if err := t.replaced(t.Get(k), nil); err != nil {
		return err
	}
	return t.Delete(k)
}

// replaced changes the sum of the file for a record in place of another. Either may be nil.
func (t table) replaced(old, record []byte) error {
	s, ok := readSum(t.meta.Get(sumKey))
	if !ok {
		return fmt.Errorf("%w: the sum of its records is not readable", boltfile.ErrDamaged)
	}
	if old != nil {
		s.take(old)
	}
	if record != nil {
		s.add(record)
	}
	return t.meta.Put(sumKey, s.bytes())
}

// clear removes every record.
func (t table) clear() error {
	var keys [][]byte
	if err := t.each(func(k, _ []byte) error {
		keys = append(keys, bytes.Clone(k))
		return nil
	}); err != nil {
		return err
	}
	for _, k := range keys {
		if err := t.remove(k); err != nil {
			return err
		}
	}
	return nil
}

// each calls a function for each record, without its checksum.
func (t table) each(do func(k, data []byte) error) error {
	return t.ForEach(func(k, record []byte) error {
		if !t.sound(k, record) {
			return fmt.Errorf("%w: a record in %s has a wrong checksum", boltfile.ErrDamaged, bytes.Join(t.path, []byte("/")))
		}
		return do(k, record[sumBytes:])
	})
}

// sum is of all records in the file: how many they are, and the exclusive or of their checksums. It tells of a record that is
// missing.
type sum struct{ records, xor uint32 }

func (s *sum) add(record []byte) {
	s.records++
	s.xor ^= binary.BigEndian.Uint32(record)
}

func (s *sum) take(record []byte) {
	s.records--
	s.xor ^= binary.BigEndian.Uint32(record)
}

func (s sum) bytes() []byte {
	b := binary.BigEndian.AppendUint32(nil, s.records)
	b = binary.BigEndian.AppendUint32(b, s.xor)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readSum reads what [sum.bytes] wrote. ok is false where that is damaged or missing.
func readSum(b []byte) (s sum, ok bool) {
	if len(b) != 3*sumBytes {
		return sum{}, false
	}
	s = sum{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[sumBytes:])}
	return s, string(s.bytes()) == string(b)
}
