package store

import (
	"fmt"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/boltfile"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
)

// moment is a [capture.Moment]; its endpoints are numbers in a list of keys beside it.
type moment struct {
	At        int64
	Pos       capture.Positions
	Endpoints []endpointRow
	Page      pageState
}

// checkpointFile holds all named checkpoints. Shared values are written once.
type checkpointFile struct {
	Keys endpointKeys
	Rows []checkpointRow
}

type checkpointRow struct {
	Name, Note, Scope string
	Moment            moment
	Call              string
	Replaced          time.Time
}

// DecodeMsgpack implements [msgpack.CustomDecoder].
func (r *checkpointRow) DecodeMsgpack(d *msgpack.Decoder) error {
	return decodeFields(d, &r.Name, &r.Note, &r.Scope, &r.Moment, &r.Call, &r.Replaced)
}

// clientFile holds all clients that may return.
type clientFile struct {
	Keys endpointKeys
	Rows []clientRow
}

type clientRow struct {
	ID, Name string
	Origins  []string
	Auto     moment
	Told     map[capture.Section]checkpoint.Told
	Calls    int
	Seen     int64
	Held     bool
	Given    []alike.Entry
}

// DecodeMsgpack implements [msgpack.CustomDecoder].
func (r *clientRow) DecodeMsgpack(d *msgpack.Decoder) error {
	return decodeFields(d, &r.ID, &r.Name, &r.Origins, &r.Auto, &r.Told, &r.Calls, &r.Seen, &r.Held, &r.Given)
}

func (l *keyList) moment(m capture.Moment) moment {
	return moment{m.At.UnixMilli(), m.Pos, l.rows(m.Endpoints), pageOf(m.DOMState)}
}

func (l *keyList) restore(m moment, index *capture.Index) capture.Moment {
	return capture.Moment{At: time.UnixMilli(m.At).UTC(), Pos: m.Pos, Endpoints: l.table(m.Endpoints, index), DOMState: m.Page.page()}
}

// EncodeCheckpoints encodes named checkpoints for [Store.Commit] under CheckpointsKey.
func EncodeCheckpoints(list []checkpoint.Checkpoint) ([]byte, error) {
	var keys keyList
	var f checkpointFile
	for _, c := range list {
		f.Rows = append(f.Rows, checkpointRow{c.Name, c.Note, c.Scope, keys.moment(c.Moment), c.Call, c.Replaced})
	}
	f.Keys = keys.Keys
	return marshal(f)
}

// EncodeClients encodes clients for [Store.Commit] under ClientsKey.
func EncodeClients(list []checkpoint.ClientState) ([]byte, error) {
	var keys keyList
	var f clientFile
	for _, c := range list {
		f.Rows = append(f.Rows, clientRow{c.ID, c.Name, c.Scope.Origins, keys.moment(c.Auto), c.Told, c.Calls, c.Seen.UnixMilli(), c.Held, c.Given.Entries()})
	}
	f.Keys = keys.Keys
	return marshal(f)
}

// State reads the saved state of the capture, nil if there is none yet. It omits a damaged part and reports it in
// problems. The rest is valid.
func (s *Store) State() (st *capture.State, problems []error) {
	st, problems = &capture.State{}, s.missing()
	if !s.read(stateKey, "the capture state", &stateFile{st}, &problems) {
		return nil, problems
	}
	var gaps gapFile
	if s.read(gapsKey, "the list of gaps", &gaps, &problems) {
		st.Gaps = gaps.state()
	}
	var live []capture.LiveElement
	if s.read(liveKey, "the visible error elements", &live, &problems) {
		st.Live = &live
	}
	return st, problems
}

// missing reports what the file held after the last commit and no longer holds. A journal that was written before there was a
// tally has nothing to compare.
func (s *Store) missing() (problems []error) {
	var held tallyFile
	if !s.read(tallyKey, "what the journal held", &held, &problems) {
		return problems
	}
	for _, key := range held.Keys {
		if !s.has(key) {
			problems = append(problems, &LostError{"a part of the journal", fmt.Errorf("%w: %s is missing", boltfile.ErrDamaged, key)})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, section := range capture.Sections {
		if n := s.logs[section].entries(); n < held.Entries[section] {
			problems = append(problems, fmt.Errorf("%w: %d entries of %s are missing", boltfile.ErrDamaged, held.Entries[section]-n, section))
		}
	}
	return problems
}

// Readers reads the named checkpoints and the clients' cursors. Index is the index of the store whose tables they
// share.
func (s *Store) Readers(index *capture.Index) (named []checkpoint.Checkpoint, readers []checkpoint.ClientState, problems []error) {
	var checkpoints checkpointFile
	if s.read(CheckpointsKey, "the named checkpoints", &checkpoints, &problems) {
		keys := &keyList{Keys: checkpoints.Keys}
		for _, r := range checkpoints.Rows {
			named = append(named, checkpoint.Checkpoint{Name: r.Name, Note: r.Note, Scope: r.Scope, Call: r.Call, Replaced: r.Replaced, Moment: keys.restore(r.Moment, index)})
		}
	}
	var clients clientFile
	if s.read(ClientsKey, "the clients' cursors", &clients, &problems) {
		keys := &keyList{Keys: clients.Keys}
		for _, r := range clients.Rows {
			readers = append(readers, checkpoint.ClientState{
				ID: r.ID, Name: r.Name, Scope: checkpoint.Scope{Origins: r.Origins}, Auto: keys.restore(r.Auto, index), Told: r.Told, Calls: r.Calls, Seen: time.UnixMilli(r.Seen), Held: r.Held, Given: alike.NewGiven(r.Given),
			})
		}
	}
	return named, readers, problems
}

// read reads a value. It returns false if the value is missing or damaged.
func (s *Store) read(key, what string, into any, problems *[]error) bool {
	data, err := s.value(key)
	if err == nil && data != nil {
		err = unmarshal(data, into)
	}
	if err != nil {
		*problems = append(*problems, &LostError{what, err})
	}
	return err == nil && data != nil
}

// LostError says which part of the saved data could not be read.
type LostError struct {
	What string
	Err  error
}

func (e *LostError) Error() string { return "cannot read " + e.What + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }
