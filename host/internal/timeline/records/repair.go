package records

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/vmihailenco/msgpack/v5"
	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/boltfile"
	"tidemark.dev/tidemark/installer/safefile"
)

// firstUpdate is the ID of the first transaction in a new file of bbolt.
const firstUpdate = 2

// prepare makes what every file has, and gives the records of an older one their checksums.
func prepare(tx *bbolt.Tx, path string) error {
	had := tx.Bucket(metaBucket)
	if had == nil && tx.ID() > firstUpdate {
		return fmt.Errorf("%w: it says nothing about its format", boltfile.ErrDamaged)
	}
	for _, name := range [][]byte{metaBucket, sessionsBucket, workspacesBucket} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(metaBucket)
	switch written := string(meta.Get(formatKey)); {
	case written == "" && had != nil:
		return fmt.Errorf("%w: it says nothing about its format", boltfile.ErrDamaged)
	case had == nil:
		if err := meta.Put(sumKey, sum{}.bytes()); err != nil {
			return err
		}
	case written == format:
		return nil
	case written != unsealedFormat:
		return fmt.Errorf("%s has format %q, this program reads format %s. Use the program that wrote it.", path, written, format)
	default:
		if err := seal(tx); err != nil {
			return err
		}
	}
	return meta.Put(formatKey, []byte(format))
}

// seal gives each record a checksum, except one that is damaged. That counts in the sum all the same, so that it is missed.
func seal(tx *bbolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta.Get(sumKey) != nil { // format 2, of which the number is damaged
		return nil
	}
	if err := meta.Put(sumKey, sum{}.bytes()); err != nil {
		return err
	}
	damaged := uint32(0)
	if err := tables(tx, func(t table, of any) error {
		type record struct{ k, v []byte }
		var all []record
		if err := t.ForEach(func(k, v []byte) error {
			all = append(all, record{bytes.Clone(k), bytes.Clone(v)})
			return nil
		}); err != nil {
			return err
		}
		for _, r := range all {
			if msgpack.Unmarshal(r.v, of) != nil {
				damaged++
				continue
			}
			if err := t.Delete(r.k); err != nil { // it was not counted
				return err
			}
			if err := t.keep(r.k, r.v); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	all, ok := readSum(meta.Get(sumKey))
	if !ok {
		return fmt.Errorf("%w: the sum of its records is not readable", boltfile.ErrDamaged)
	}
	all.records += damaged
	return meta.Put(sumKey, all.bytes())
}

// tables calls a function for each table of the file, with a value of the type of its records.
func tables(tx *bbolt.Tx, do func(t table, of any) error) error {
	if err := do(sessionsOf(tx), &Session{}); err != nil {
		return err
	}
	all := tx.Bucket(workspacesBucket)
	return all.ForEachBucket(func(space []byte) error {
		for name, of := range map[string]any{string(momentsBucket): &Moment{}, string(operationsBucket): &Operation{}} {
			t := table{all.Bucket(space).Bucket([]byte(name)), pathOf(space, []byte(name)), tx.Bucket(metaBucket)}
			if t.Bucket == nil {
				continue
			}
			if err := do(t, of); err != nil {
				return err
			}
		}
		return nil
	})
}

// repair writes the tables again with what is sound, where anything is damaged or missing. Before that costs a record, a copy of the
// file is kept at aside, and the notice says so.
func (d *DB) repair(aside string) (notice string, err error) {
	var odd bool
	err = d.view(func(tx *bbolt.Tx) error {
		had, ok := readSum(tx.Bucket(metaBucket).Get(sumKey))
		var has sum
		if has, odd, err = examine(tx); err != nil || ok && had == has {
			return err
		}
		odd = true
		lost := "records of the timeline may be missing"
		if ok && had.records > has.records {
			lost = fmt.Sprintf("%d of %d records of the timeline are damaged or missing and no longer listed", had.records-has.records, had.records)
		}
		notice = fmt.Sprintf("%s; a copy of the damaged file is %s", lost, aside)
		var whole bytes.Buffer
		if _, err := tx.WriteTo(&whole); err != nil {
			return err
		}
		return safefile.Write(aside, whole.Bytes(), 0o600)
	})
	if err != nil || !odd {
		return "", err
	}
	if err := d.update(rewrite); err != nil {
		return "", fmt.Errorf("%w: %w", boltfile.ErrDamaged, err)
	}
	return notice, nil
}

// examine returns the sum of the records that are sound. odd says that the file has more than these, that one is not found under
// its key, or that its number would be given again.
func examine(tx *bbolt.Tx) (has sum, odd bool, err error) {
	workspaces := tx.Bucket(workspacesBucket)
	odd = others(workspaces, nil)
	if err := workspaces.ForEachBucket(func(space []byte) error {
		odd = odd || others(workspaces.Bucket(space), [][]byte{momentsBucket, operationsBucket})
		return nil
	}); err != nil {
		return sum{}, false, err
	}
	err = tables(tx, func(t table, of any) error {
		return t.ForEach(func(k, record []byte) error {
			if !t.sound(k, record) {
				odd = true
				return nil
			}
			has.add(record)
			odd = odd || t.Sequence() < numberOf(k, of) || !bytes.Equal(t.Get(k), record)
			return nil
		})
	})
	return has, odd, err
}

// others reports whether a bucket has more than buckets with these names, or with any name.
func others(b *bbolt.Bucket, names [][]byte) (found bool) {
	_ = b.ForEach(func(k, v []byte) error { // the function never fails
		is := func(name []byte) bool { return bytes.Equal(k, name) }
		found = found || v != nil || names != nil && !slices.ContainsFunc(names, is)
		return nil
	})
	return found
}

// rewrite makes the tables again, with the records in them that are sound.
func rewrite(tx *bbolt.Tx) error {
	type contents struct {
		path       [][]byte
		last       uint64
		keys, data [][]byte
	}
	var all []contents
	if err := tables(tx, func(t table, of any) error {
		c := contents{path: t.path, last: t.Sequence()}
		err := t.ForEach(func(k, record []byte) error {
			if t.sound(k, record) {
				c.last = max(c.last, numberOf(k, of))
				c.keys, c.data = append(c.keys, bytes.Clone(k)), append(c.data, bytes.Clone(record[sumBytes:]))
			}
			return nil
		})
		all = append(all, c)
		return err
	}); err != nil {
		return err
	}
	for _, name := range [][]byte{sessionsBucket, workspacesBucket} {
		if err := tx.DeleteBucket(name); err != nil {
			return err
		}
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	if err := tx.Bucket(metaBucket).Put(sumKey, sum{}.bytes()); err != nil {
		return err
	}
	for _, c := range all {
		t := sessionsOf(tx)
		if len(c.path) > 1 {
			var err error
			if t, err = in(tx, string(c.path[1]), c.path[2]); err != nil {
				return err
			}
		}
		if err := t.SetSequence(c.last); err != nil {
			return err
		}
		for i, k := range c.keys {
			if err := t.keep(k, c.data[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// numberOf returns the number in the key of a record of a type.
func numberOf(k []byte, of any) uint64 {
	if _, ok := of.(*Session); ok {
		return (&Session{ID: string(k)}).Number()
	}
	return binary.BigEndian.Uint64(k)
}
