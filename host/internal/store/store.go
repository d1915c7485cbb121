// Package store keeps the data on disk that survives the daemon: the journal of events, the state of the capture,
// checkpoints and clients.
//
// Guarantees:
//   - After a successful [Store.Commit] the data survives any end of the process. It survives a loss of power if the disk
//     keeps the data that it reports as written.
//   - A commit is complete or does not exist.
//   - Damaged data is recognized by its checksum, set aside or skipped, and reported. It never ends the process.
//   - The journal stays within its limits of bytes and age by dropping the oldest data.
//
// The file is a bbolt database. Each section has a bucket of blocks: entries in msgpack, compressed, with a CRC-32C. The
// entries of a block are consecutive, and its key has their positions.
package store

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/boltfile"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/retention"
)

// Limits bound the journal.
type Limits struct {
	// Bytes on disk, compressed; Age of the newest entry of a block, as Aged tells it. Nil is [retention.Never].
	Bytes int64
	Age   time.Duration
	Aged  retention.Age
}

// DefaultLimits are enough for some days of work.
func DefaultLimits() Limits { return Limits{Bytes: 64 << 20, Age: 7 * 24 * time.Hour} }

// Store is an open database. It is safe for concurrent use, but only one goroutine may commit.
type Store struct {
	path   string
	limits Limits
	db     *bbolt.DB
	id     string
	packer *zstd.Encoder
	opener *zstd.Decoder

	mu      sync.Mutex
	logs    map[capture.Section]*sectionLog
	damaged []Damage // not yet asked for
}

// Damage is a block that could not be read.
type Damage struct {
	Section capture.Section
	Entries int
	// Last is the time of its newest entry, in milliseconds.
	Last int64
	Err  error
}

var (
	metaBucket = []byte("meta")
	formatKey  = []byte("format")
	idKey      = []byte("id")
)

// format is the layout of the file. It changes only with one that older programs cannot read. Files of oldFormat are
// read, and have the present format from then on: their positions are arrays, see [capture.Positions.DecodeMsgpack].
const (
	format    = "3"
	oldFormat = "2"
)

// Open opens the database at a path, and creates a missing one. It renames a damaged one, starts with an empty store,
// and reports this to the user in notice, as it does what [boltfile.Open] says.
func Open(path string, limits Limits, now time.Time) (s *Store, notice string, err error) {
	s, notice, err = open(path, limits)
	if err == nil || !errors.Is(err, boltfile.ErrDamaged) {
		return s, notice, err
	}
	aside := fmt.Sprintf("%s.damaged-%s", path, now.UTC().Format("20060102T150405.000"))
	if renameErr := os.Rename(path, aside); renameErr != nil {
		return nil, "", errors.Join(err, renameErr)
	}
	notice = fmt.Sprintf("the journal could not be read (%v) and was set aside as %s; its entries are no longer available", err, aside)
	s, _, err = open(path, limits)
	return s, notice, err
}

func open(path string, limits Limits) (_ *Store, notice string, err error) {
	if limits.Aged == nil {
		limits.Aged = retention.Never
	}
	s := &Store{path: path, limits: limits, logs: map[capture.Section]*sectionLog{}}
	if s.packer, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockBytes), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true)); err != nil {
		return nil, "", err
	}
	if s.opener, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true)); err != nil {
		return nil, "", err
	}
	if s.db, notice, err = boltfile.Open(path); errors.Is(err, boltfile.ErrDamaged) {
		return nil, "", err
	} else if err != nil {
		return nil, "", fmt.Errorf("cannot open the journal: %w", err)
	}
	if err := s.load(); err != nil {
		_ = boltfile.Guard(s.db.Close) // this may fail on a damaged file
		return nil, "", err
	}
	return s, notice, nil
}

// load makes the buckets and reads which blocks there are. It walks every page of the trees once.
func (s *Store) load() error {
	complete, named, blocks := false, false, 0
	err := boltfile.Guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			if b := tx.Bucket(metaBucket); b != nil {
				named = true
				switch f := string(b.Get(formatKey)); f {
				case format:
					complete = true
				case oldFormat:
				default:
					return fmt.Errorf("%w: its format is %q, not %q", boltfile.ErrDamaged, f[:min(len(f), 2*len(format))], format)
				}
				s.id = string(b.Get(idKey))
			}
			for _, section := range capture.Sections {
				log := &sectionLog{}
				s.logs[section] = log
				b := tx.Bucket([]byte(section))
				if b == nil { // its track is newer than the file
					complete = false
					continue
				}
				if err := b.ForEach(func(k, v []byte) error { return log.load(k, v) }); err != nil {
					return err
				}
				blocks += len(log.blocks)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if blocks > 0 && !named {
		return fmt.Errorf("%w: it does not say its format", boltfile.ErrDamaged)
	}
	if complete {
		return nil
	}
	if s.id == "" {
		s.id = rand.Text()
	}
	return boltfile.Guard(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			for _, section := range capture.Sections {
				if _, err := tx.CreateBucketIfNotExists([]byte(section)); err != nil {
					return err
				}
			}
			meta, err := tx.CreateBucketIfNotExists(metaBucket)
			if err != nil {
				return err
			}
			return errors.Join(meta.Put(formatKey, []byte(format)), meta.Put(idKey, []byte(s.id)))
		})
	})
}

// ID identifies this store. Positions of one store mean nothing in another.
func (s *Store) ID() string { return s.id }

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// Bytes returns the size of the journal, in bytes.
func (s *Store) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int64
	for _, log := range s.logs {
		n += log.bytes
	}
	return n
}

// Damaged returns the blocks that were found damaged since it was last called.
func (s *Store) Damaged() []Damage {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.damaged
	s.damaged = nil
	return list
}

// Close closes the file. No reading may be open.
func (s *Store) Close() error {
	s.opener.Close()
	return errors.Join(s.packer.Close(), boltfile.Guard(s.db.Close))
}

// value reads a value of the meta bucket, nil if it is missing.
func (s *Store) value(key string) (data []byte, err error) {
	err = boltfile.Guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			data = bytes.Clone(tx.Bucket(metaBucket).Get([]byte(key)))
			return nil
		})
	})
	if err != nil || data == nil {
		return nil, err
	}
	return s.unseal([]byte(key), data, nil)
}

// has says whether the meta bucket has a key.
func (s *Store) has(key string) (found bool) {
	_ = boltfile.Guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			found = tx.Bucket(metaBucket).Get([]byte(key)) != nil
			return nil
		})
	})
	return found
}
