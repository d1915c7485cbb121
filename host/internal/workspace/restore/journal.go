package restore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/installer/safefile"
)

// A restore has one of these files in the store, as far as it has come. The first names the staging directory, in which
// nothing is the user's yet. With the second, the workspace is being changed, and is to be set back. It is renamed to the
// third when everything is done, and what was moved away can be deleted. The fourth takes its place when everything is set
// back, and what was staged can be deleted.
const (
	stagingFile = "restore.staging"
	journalFile = "restore.journal"
	doneFile    = "restore.done"
	undoneFile  = "restore.undone"
	tmpSuffix   = ".tmp"
)

// journalMagic begins each of them. Its last byte is the number of the format.
const journalMagic = "tidemark restore \x00\x01"

// action is how an operation changes the workspace.
type action uint8

// away moves a path into the staging directory. place moves what is staged to a path where nothing is. swap exchanges
// both.
const (
	away action = iota + 1
	place
	swap
)

// operation is a rename. Encoded operations are lists: only add to the end.
type operation struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Action action
	Path   string
	// Old is what the path has before, New what it has after. Only the one that the action moves is set; swap has both.
	Old, New stamp
	// Entry is what New is to be.
	Entry *tree.Entry

	// oldAlone and newAlone are true if no other operation changes the ctime.
	oldAlone, newAlone bool
	// oldCtime and newCtime are those after the operation.
	oldCtime, newCtime int64
}

// wrote reports whether what was moved away changed since then.
func (o *operation) wrote(now stamp) bool {
	return !now.is(o.Old) || o.oldCtime != 0 && now.Ctime != o.oldCtime
}

// staged returns the names of an operation in the staging directory: of what is new and of what was moved away.
func staged(i int) (fresh, old string) { return "n" + strconv.Itoa(i), "o" + strconv.Itoa(i) }

// setting is attributes of a path that the restore sets, or sets back because renames change the times of directories.
// Encoded settings are lists: only add to the end.
type setting struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Path string
	// Is identifies what has the attributes.
	Is stamp
	// Before is nil for a directory that the restore creates, After for one that it deletes.
	Before, After *attributes
}

// of reports whether a stamp is of what has the attributes, before or after they are set. Another name of a file may have
// set them.
func (s *setting) of(now stamp) bool {
	if now.Kind != tree.File {
		return now.is(s.Is)
	}
	after := s.Is
	after.Mtime = s.After.Mtime
	return now.is(s.Is) || now.is(after)
}

// journal is what a restore does to the workspace. Encoded journals are lists: only add to the end.
type journal struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Staging        string
	Target, Safety uint64
	// Operations are in the order in which they are done.
	Operations []operation
	// Settings are sorted, a directory before what is in it.
	Settings []setting
	// Conflicts are the paths that were not set back.
	Conflicts []tree.Problem
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// write makes a file of the store, or replaces it: after a loss of power it is as before, or whole.
func (j *journal) write(store *dir, in, name string) error {
	payload, err := msgpack.Marshal(j)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(journalMagic)
	b.Write(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(payload, castagnoli)))
	b.Write(payload)
	path := filepath.Join(in, name)
	f, err := safefile.Own(path+tmpSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+tmpSuffix, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path+tmpSuffix))
	}
	return store.sync()
}

// readJournal reads a file of the store, nil if there is none.
func readJournal(path string) (*journal, error) {
	f, _, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		return nil, err
	}
	data := b.Bytes()
	head := len(journalMagic)
	switch {
	case len(data) < head+4 || string(data[:head-1]) != journalMagic[:head-1]:
		return nil, fmt.Errorf("%s is not a journal of Tidemark", path)
	case data[head-1] != journalMagic[head-1]:
		return nil, fmt.Errorf("%s has format %d, this program reads format %d. Use the program that wrote it.", path, data[head-1], journalMagic[head-1])
	case crc32.Checksum(data[head+4:], castagnoli) != binary.LittleEndian.Uint32(data[head:]):
		return nil, fmt.Errorf("%s is damaged: its checksum differs", path)
	}
	j := &journal{}
	if err := msgpack.Unmarshal(data[head+4:], j); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return j, nil
}
