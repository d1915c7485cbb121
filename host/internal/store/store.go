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
	"io/fs"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"tidemark.dev/tidemark/host/internal/capture"
)

// Limits bound the journal.
type Limits struct {
	// Bytes on disk, compressed; Age of the newest entry of a block.
	Bytes int64
	Age   time.Duration
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

// errDamaged says that the file's content is not as it was written.
var errDamaged = errors.New("the file is damaged")

// Open opens the database at a path, and creates a missing one. It renames a damaged one, starts with an empty store,
// and reports this to the user in notice.
func Open(path string, limits Limits, now time.Time) (s *Store, notice string, err error) {
	s, err = open(path, limits)
	if err == nil || !errors.Is(err, errDamaged) {
		return s, "", err
	}
	aside := fmt.Sprintf("%s.damaged-%s", path, now.UTC().Format("20060102T150405.000"))
	if renameErr := os.Rename(path, aside); renameErr != nil {
		return nil, "", errors.Join(err, renameErr)
	}
	notice = fmt.Sprintf("the journal could not be read (%v) and was set aside as %s; its entries are no longer available", err, aside)
	s, err = open(path, limits)
	return s, notice, err
}

func open(path string, limits Limits) (_ *Store, err error) {
	s := &Store{path: path, limits: limits, logs: map[capture.Section]*sectionLog{}}
	if s.packer, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockBytes), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true)); err != nil {
		return nil, err
	}
	if s.opener, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true)); err != nil {
		return nil, err
	}
	// A panic leaves the file open, and Windows does not rename an open file.
	var file *os.File
	open := func(name string, flag int, mode os.FileMode) (*os.File, error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	}
	if err := guard(func() error {
		if err := plausible(path); err != nil {
			return err
		}
		s.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, OpenFile: open})
		return err
	}); err != nil {
		_ = file.Close() // nil has nothing to close
		switch {
		case errors.Is(err, bolterrors.ErrTimeout):
			return nil, fmt.Errorf("%s is in use by another program: %w", path, err)
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.EISDIR):
			return nil, fmt.Errorf("cannot open the journal: %w", err)
		case errors.Is(err, errDamaged):
			return nil, err
		}
		return nil, fmt.Errorf("cannot open the journal: %w", err)
	}
	if err := s.load(); err != nil {
		_ = guard(s.db.Close) // this may fail on a damaged file
		_ = file.Close()
		return nil, err
	}
	return s, nil
}

// plausible returns an error for a file that is cut off: reading beyond its end would crash.
func plausible(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case info.Size() > 0 && info.Size() < 4*int64(os.Getpagesize()):
		return fmt.Errorf("%w: it has only %d bytes", errDamaged, info.Size())
	}
	return nil
}

// load makes the buckets and reads which blocks there are. It walks every page of the trees once.
func (s *Store) load() error {
	complete := false
	err := guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			if info, err := os.Stat(s.path); err != nil {
				return err
			} else if info.Size() < tx.Size() {
				return fmt.Errorf("%w: it is cut off at %d of %d bytes", errDamaged, info.Size(), tx.Size())
			}
			if b := tx.Bucket(metaBucket); b != nil {
				switch f := string(b.Get(formatKey)); f {
				case format:
					complete = true
				case oldFormat:
				default:
					return fmt.Errorf("%w: its format is %q, not %q", errDamaged, f, format)
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
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if complete {
		return nil
	}
	if s.id == "" {
		s.id = rand.Text()
	}
	return guard(func() error {
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

// guard calls into the database. A damaged file makes bbolt refuse it or panic, or the system fault where
// the file is shorter than it says; all of these become errDamaged.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	err = do()
	for _, sign := range []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch, bolterrors.ErrIncompatibleValue} {
		if errors.Is(err, sign) {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	return err
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
	return errors.Join(s.packer.Close(), guard(s.db.Close))
}

// value reads a value of the meta bucket, nil if it is missing.
func (s *Store) value(key string) (data []byte, err error) {
	err = guard(func() error {
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
