package records

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/boltfile"
	"tidemark.dev/tidemark/installer/safefile"
)

// format is the layout of the file. It changes only with one that older programs cannot read. The records of unsealedFormat had no
// checksums.
const (
	format         = "2"
	unsealedFormat = "1"
)

// The file has a bucket of sessions by ID, and for each workspace a bucket with its moments and operations by number.
// Values are msgpack with the names of their fields, each after a checksum. See [table].
var (
	metaBucket       = []byte("meta")
	sessionsBucket   = []byte("sessions")
	workspacesBucket = []byte("workspaces")
	momentsBucket    = []byte("moments")
	operationsBucket = []byte("operations")
	formatKey        = []byte("format")
	sumKey           = []byte("sum")
)

// DB is the file of sessions, moments and operations. What a method wrote survives the end of the process and a loss of
// power.
type DB struct {
	bolt *bbolt.DB
	// reserve is the path of a file that is given up for what frees room on a full disk.
	reserve string
}

// Open opens the file at a path, and creates it. A notice is what [boltfile.Open] says, or that of a damaged file a copy was kept
// and only what is whole was taken over, now or earlier, until the user removes the copy.
func Open(path string, now time.Time) (_ *DB, notice string, err error) {
	aside := fmt.Sprintf("%s%s%s", path, asideSuffix, now.UTC().Format("20060102T150405.000"))
	d, notice, err := tryOpen(path, aside)
	if !errors.Is(err, boltfile.ErrDamaged) {
		return d, cmp.Or(notice, setAside(path)), err
	}
	if renamed := os.Rename(path, aside); renamed != nil {
		return nil, "", errors.Join(err, renamed)
	}
	d, _, opened := tryOpen(path, "")
	return d, fmt.Sprintf("the timeline could not be read (%v) and was set aside as %s; its sessions and moments are no longer listed", err, aside), opened
}

// asideSuffix begins what follows the name of the file in that of a damaged one, before the time.
const asideSuffix = ".damaged-"

// setAside returns a notice of the newest damaged file that was set aside, "" for none.
func setAside(path string) (notice string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	for _, e := range entries { // by their names
		if strings.HasPrefix(e.Name(), filepath.Base(path)+asideSuffix) {
			notice = fmt.Sprintf("an earlier timeline was damaged and was set aside as %s; sessions and moments of it are no longer listed. To end this notice, move that file elsewhere", filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return notice
}

// tryOpen opens the file. If records are damaged or missing, it is copied to aside, and continues without them.
func tryOpen(path, aside string) (_ *DB, notice string, err error) {
	b, notice, err := boltfile.Open(path)
	if errors.Is(err, boltfile.ErrDamaged) {
		return nil, "", err
	} else if err != nil {
		return nil, "", fmt.Errorf("cannot open the timeline: %w", err)
	}
	d := &DB{bolt: b, reserve: path + reserveSuffix}
	err = d.update(func(tx *bbolt.Tx) error { return prepare(tx, path) })
	if err == nil {
		var repaired string
		repaired, err = d.repair(aside)
		notice = cmp.Or(repaired, notice)
	}
	if err != nil {
		_ = boltfile.Guard(b.Close) // this may fail on a damaged file
		return nil, "", err
	}
	d.KeepReserve()
	return d, notice, nil
}

// The reserve is a file beside that of the timeline. Its content means nothing, and takes reserveSize bytes on any filesystem.
const (
	reserveSuffix = ".reserve"
	reserveSize   = 256 << 10
)

// KeepReserve makes the reserve, where there is none and the disk has room.
func (d *DB) KeepReserve() {
	if info, err := os.Lstat(d.reserve); err == nil && info.Mode().IsRegular() && info.Size() == reserveSize {
		return
	}
	content := make([]byte, reserveSize)
	_, _ = rand.Read(content) // it never fails
	if safefile.Overwrite(d.reserve, content) != nil {
		_ = os.Remove(d.reserve)
	}
}

// Freeing does what frees room on the disk, or is recorded before that. After an error it is tried once more without the reserve.
func (d *DB) Freeing(do func() error) error {
	err := do()
	if err == nil || os.Remove(d.reserve) != nil {
		return err
	}
	return do()
}

// Close closes the file.
func (d *DB) Close() error { return boltfile.Guard(d.bolt.Close) }

// view and update run a transaction. A damaged file is [boltfile.ErrDamaged].
func (d *DB) view(do func(*bbolt.Tx) error) error {
	return boltfile.Guard(func() error { return d.bolt.View(do) })
}

func (d *DB) update(do func(*bbolt.Tx) error) error {
	return boltfile.Guard(func() error { return d.bolt.Update(do) })
}

func key(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func sessionsOf(tx *bbolt.Tx) table {
	return table{tx.Bucket(sessionsBucket), [][]byte{sessionsBucket}, tx.Bucket(metaBucket)}
}

// pathOf returns the path of what is in the bucket of a workspace.
func pathOf(space []byte, in ...[]byte) [][]byte {
	return append([][]byte{workspacesBucket, bytes.Clone(space)}, in...)
}

// in returns a table of a workspace, which is created if the transaction writes; else one without a bucket.
func in(tx *bbolt.Tx, space string, name []byte) (table, error) {
	t := table{path: pathOf([]byte(space), name), meta: tx.Bucket(metaBucket)}
	all := tx.Bucket(workspacesBucket)
	if !tx.Writable() {
		if b := all.Bucket([]byte(space)); b != nil {
			t.Bucket = b.Bucket(name)
		}
		return t, nil
	}
	b, err := all.CreateBucketIfNotExists([]byte(space))
	if err == nil {
		t.Bucket, err = b.CreateBucketIfNotExists(name)
	}
	return t, err
}

// Sessions returns all sessions.
func (d *DB) Sessions() (list []*Session, err error) {
	err = d.view(func(tx *bbolt.Tx) error {
		return sessionsOf(tx).each(func(_, data []byte) error {
			s := &Session{}
			list = append(list, s)
			return msgpack.Unmarshal(data, s)
		})
	})
	return list, err
}

// Begin keeps a new session, and gives it an ID that begins with slug.
func (d *DB) Begin(s *Session, slug string) error {
	return d.update(func(tx *bbolt.Tx) error {
		t := sessionsOf(tx)
		n, err := t.NextSequence()
		if err != nil {
			return err
		}
		s.ID = fmt.Sprintf("%s-%d", slug, n)
		return t.put([]byte(s.ID), s)
	})
}

// Save keeps a session that has changed.
func (d *DB) Save(s *Session) error {
	return d.update(func(tx *bbolt.Tx) error { return sessionsOf(tx).put([]byte(s.ID), s) })
}

// Remove removes a session. Its moments stay, without being listed.
func (d *DB) Remove(id string) error {
	return d.update(func(tx *bbolt.Tx) error { return sessionsOf(tx).remove([]byte(id)) })
}

// Add keeps a new moment of a workspace and numbers it.
func (d *DB) Add(space string, m *Moment) error {
	return d.update(func(tx *bbolt.Tx) error {
		t, err := in(tx, space, momentsBucket)
		if err != nil {
			return err
		}
		if m.Number, err = t.NextSequence(); err != nil {
			return err
		}
		return t.put(key(m.Number), m)
	})
}

// Update keeps moments that have changed.
func (d *DB) Update(space string, moments ...*Moment) error {
	return d.update(func(tx *bbolt.Tx) error {
		t, err := in(tx, space, momentsBucket)
		for _, m := range moments {
			if err == nil {
				err = t.put(key(m.Number), m)
			}
		}
		return err
	})
}

// Moments returns the moments of a workspace in their order.
func (d *DB) Moments(space string) (list []*Moment, err error) {
	err = d.view(func(tx *bbolt.Tx) error {
		t, err := in(tx, space, momentsBucket)
		if t.Bucket == nil {
			return err
		}
		return t.each(func(k, data []byte) error {
			m := &Moment{}
			list = append(list, m)
			err := msgpack.Unmarshal(data, m)
			m.Number = binary.BigEndian.Uint64(k)
			return err
		})
	})
	return list, err
}

// Log keeps an operation of a workspace. It numbers a new one, unless it fails.
func (d *DB) Log(space string, o *Operation) error {
	number := o.Number
	err := d.update(func(tx *bbolt.Tx) error {
		t, err := in(tx, space, operationsBucket)
		if err != nil {
			return err
		}
		if o.Number == 0 {
			if o.Number, err = t.NextSequence(); err != nil {
				return err
			}
		}
		return t.put(key(o.Number), o)
	})
	if err != nil {
		o.Number = number // another one gets that which was not kept
	}
	return err
}

// Operations returns the operations of a workspace in their order.
func (d *DB) Operations(space string) (list []*Operation, err error) {
	err = d.view(func(tx *bbolt.Tx) error {
		t, err := in(tx, space, operationsBucket)
		if t.Bucket == nil {
			return err
		}
		return t.each(func(_, data []byte) error {
			o := &Operation{}
			list = append(list, o)
			return msgpack.Unmarshal(data, o)
		})
	})
	return list, err
}

// Move keeps sessions that have moved to another workspace, with the moments and operations of the workspace.
func (d *DB) Move(sessions []*Session, from, to string) error {
	return d.update(func(tx *bbolt.Tx) error {
		for _, s := range sessions {
			if err := sessionsOf(tx).put([]byte(s.ID), s); err != nil {
				return err
			}
		}
		return moveSpace(tx, from, to)
	})
}

// moveSpace gives what is kept of a workspace to another one. What that one had is of no session.
func moveSpace(tx *bbolt.Tx, from, to string) error {
	all := tx.Bucket(workspacesBucket)
	if all.Bucket([]byte(from)) == nil {
		return nil // an earlier call did it
	}
	for _, name := range [][]byte{momentsBucket, operationsBucket} {
		old, err := in(tx, from, name)
		if err != nil {
			return err
		}
		there, err := in(tx, to, name)
		if err != nil {
			return err
		}
		if err := there.clear(); err != nil {
			return err
		}
		if err := old.each(there.keep); err != nil {
			return err
		}
		if err := errors.Join(there.SetSequence(old.Sequence()), old.clear()); err != nil {
			return err
		}
	}
	return all.DeleteBucket([]byte(from))
}
