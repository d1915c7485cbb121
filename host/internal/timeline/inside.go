package timeline

import (
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// Inside is the recording of a terminal in which an agent's hook says that it runs, with the key that only programs in that
// terminal have.
type Inside struct {
	Recording string `json:"recording"`
	Key       string `json:"key"`
}

const (
	// placeWithin bounds the wait until a recorder has written what the terminal showed before a moment, and placeEvery is how
	// often that is looked at. A recorder writes each 0.1 s, but keeps an incomplete line until it ends.
	placeWithin = time.Second
	placeEvery  = 100 * time.Millisecond
	// maxTails bounds the recordings that are followed.
	maxTails = 16
)

// placeTime is a time by both clocks of [recording.Header.Elapsed].
type placeTime struct {
	at    time.Time
	clock time.Duration
}

func placeNow() placeTime { return placeTime{time.Now(), recording.Clock()} }

// placer returns what finds the place of a hook's moment in a recording once the moment is recorded, false if there is none to
// find: the hook must run in a recording that is being written now, and the user must allow that for its directory. A moment
// that was reported later has no place.
func placer(t *Timeline, h *HookMoment, now placeTime) (place func(*moments.Line, *records.Moment), ok bool) {
	if h.Inside.Recording == "" || !h.Happened.IsZero() {
		return nil, false
	}
	header, ok := t.o.Terminals.Holds(h.Inside.Recording, h.Inside.Key)
	if !ok {
		return nil, false
	}
	if _, err := t.o.Workspaces.Root(h.Dir, grants.Terminal); err != nil {
		return nil, false
	}
	return func(l *moments.Line, m *records.Moment) {
		place, err := find(t, header.ID, header.Elapsed(now.at, now.clock))
		if err == nil {
			err = moments.SetTerminal(t.lines, l, m.Number, place)
		} else {
			_ = moments.SetTerminal(t.lines, l, m.Number, nil)
		}
		if err != nil {
			t.o.Log.Warn("cannot find an agent's moment in the recording of its terminal", "moment", m.ID(), "recording", header.ID, "error", err)
		}
	}, true
}

// find returns the place of a time in a recording. It waits until everything that the terminal showed before is recorded, but not
// for long.
func find(t *Timeline, id string, at time.Duration) (*records.Terminal, error) {
	tail := t.tails.of(t.o.Terminals, id)
	again := time.NewTicker(placeEvery)
	defer again.Stop()
	late := time.NewTimer(placeWithin)
	defer late.Stop()
	for {
		whole, err := tail.reaches(at)
		if err != nil {
			return nil, err
		}
		if whole {
			break
		}
		select {
		case <-again.C:
			continue
		case <-late.C:
		case <-t.lines.Life().Done():
		}
		break
	}
	offset, err := tail.offsetAt(at)
	return &records.Terminal{Recording: id, Offset: offset}, err
}

// tails are the recordings in which agents run.
type tails struct {
	mu  sync.Mutex
	all map[string]*tail
}

// tail is one of them.
type tail struct {
	mu   sync.Mutex
	tail *recording.Tail
}

func (t *tails) of(s recording.Store, id string) *tail {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.all[id]
	if one == nil {
		if len(t.all) >= maxTails || t.all == nil {
			t.all = map[string]*tail{} // they are read again
		}
		one = &tail{tail: s.Follow(id)}
		t.all[id] = one
	}
	return one
}

func (t *tail) reaches(at time.Duration) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tail.Reaches(at)
}

func (t *tail) offsetAt(at time.Duration) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tail.OffsetAt(at, 2*placeWithin)
}
