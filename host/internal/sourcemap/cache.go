package sourcemap

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Script names generated code: what a tab loads from an address. After every load it may be other code.
type Script struct {
	// Tab is the host's id of the tab.
	Tab int
	URL string
}

// File is the script without the time stamp by which a development server has a browser load a file anew
// (`/src/App.tsx?t=1769164200000`).
func (s Script) File() Script {
	path, query, _ := strings.Cut(s.URL, "?")
	if !strings.Contains(query, "t=") {
		return s
	}
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(part string) bool {
		stamp, ok := strings.CutPrefix(part, "t=")
		return ok && stamp != "" && strings.Trim(stamp, "0123456789") == ""
	})
	if s.URL = path; len(kept) > 0 {
		s.URL += "?" + strings.Join(kept, "&")
	}
	return s
}

// Holds says whether a map that was fetched at a time (milliseconds since the epoch) is that of the code that
// somebody asks about.
type Holds func(fetched int64) bool

// ErrNoMap is what a [Fetch] fails with when it read a script and that names no map: the script is its own source.
var ErrNoMap = errors.New("the script names no source map")

// Fetch fetches a script's map: the map's bytes, and the address by which its files are named. The error is
// [ErrNoMap] when there is none to be had.
type Fetch func(ctx context.Context, s Script) (address string, data []byte, err error)

// Limits of a cache.
const (
	// maxFetches is how many maps are fetched or read at a time; each may take a multiple of its size meanwhile.
	maxFetches = 2
	// maxWaiting is how many scripts may wait for that; more are asked for again another time.
	maxWaiting = 64
	// failureSize is what a remembered failure counts for, in bytes.
	failureSize = 1 << 10
)

// CacheOptions make a cache.
type CacheOptions struct {
	Fetch Fetch
	// Bytes is the most memory that maps may take together; the one that was used last is kept in any case.
	Bytes int
	// Retry is how long a map that could not be had is not asked for again.
	Retry time.Duration
	Clock func() time.Time
	// Failed is told why a map could not be had; may be nil. It is called from several goroutines.
	Failed func(s Script, err error)
}

// Cache holds the maps of scripts and fetches those that it is asked for in the background. It is safe for
// concurrent use; nothing in it waits for a fetch but [Cache.Await], [Cache.Rest] and [Cache.Close].
type Cache struct {
	o       CacheOptions
	ctx     context.Context
	end     context.CancelFunc
	room    chan struct{}
	running sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	entries map[Script][]*list.Element // of *entry, the oldest first
	order   list.List                  // the one used last is in front
	waiting map[Script]bool
	bytes   int
	came    chan struct{} // closed when a fetch has ended; nil when nobody waits for that
	idle    chan struct{} // closed when nothing is being fetched; nil when nobody waits for that
}

type entry struct {
	script  Script
	fetched int64     // milliseconds since the epoch
	m       *Map      // nil when there is none
	plain   bool      // the script names no map
	until   time.Time // a failure is forgotten then
	size    int
}

// NewCache makes an empty cache. It is to be closed.
func NewCache(o CacheOptions) *Cache {
	ctx, end := context.WithCancel(context.Background())
	return &Cache{o: o, ctx: ctx, end: end, room: make(chan struct{}, maxFetches), entries: map[Script][]*list.Element{}, waiting: map[Script]bool{}}
}

// Close gives up what is being fetched and returns when that has ended.
func (c *Cache) Close() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
}

// Get is a script's map, nil when it is not there (yet).
func (c *Cache) Get(s Script, holds Holds) *Map {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.getLocked(s, holds); e != nil {
		return e.m
	}
	return nil
}

// getLocked is the newest entry of the code that is asked about.
func (c *Cache) getLocked(s Script, holds Holds) *entry {
	for _, el := range slices.Backward(c.entries[s]) {
		e := el.Value.(*entry)
		if e.m == nil && !e.plain && !c.o.Clock().Before(e.until) || !holds(e.fetched) {
			continue
		}
		c.order.MoveToFront(el)
		return e
	}
	return nil
}

// Plain says whether a script names no map, as far as is known: the code that was fetched last did not.
func (c *Cache) Plain(s Script) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, el := range slices.Backward(c.entries[s]) {
		if e := el.Value.(*entry); e.m != nil || e.plain {
			return e.plain
		}
	}
	return false
}

// Want has a script's map fetched, unless it is there, on its way, or could not be had a short while ago; and
// unless what would be fetched now is no longer the code that is asked about. It says whether the map is on its way.
func (c *Cache) Want(s Script, holds Holds) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[s] {
		return true
	}
	if c.ended || len(c.waiting) >= maxWaiting || c.getLocked(s, holds) != nil || !holds(c.o.Clock().UnixMilli()) {
		return false
	}
	c.waiting[s] = true
	c.running.Go(func() { c.fetch(s) })
	return true
}

// Rest waits until none of the scripts' maps is on its way, or ctx ends.
func (c *Cache) Rest(ctx context.Context, scripts []Script) {
	for {
		c.mu.Lock()
		coming := slices.ContainsFunc(scripts, func(s Script) bool { return c.waiting[s] })
		came := c.cameLocked()
		c.mu.Unlock()
		if !coming {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-c.ctx.Done():
			return
		case <-came:
		}
	}
}

// cameLocked is closed when the next fetch has ended.
func (c *Cache) cameLocked() <-chan struct{} {
	if c.came == nil {
		c.came = make(chan struct{})
	}
	return c.came
}

// Await is [Cache.Want] and [Cache.Get] for somebody who has the time to wait: nil when the map cannot be had, or
// not until ctx ends.
func (c *Cache) Await(ctx context.Context, s Script, holds Holds) *Map {
	for {
		c.Want(s, holds)
		c.mu.Lock()
		e := c.getLocked(s, holds)
		if e != nil || !c.waiting[s] {
			c.mu.Unlock()
			if e == nil {
				return nil
			}
			return e.m
		}
		came := c.cameLocked()
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-c.ctx.Done():
			return nil
		case <-came:
		}
	}
}

func (c *Cache) fetch(s Script) {
	select {
	case c.room <- struct{}{}:
		defer func() { <-c.room }()
	case <-c.ctx.Done():
	}
	e := &entry{script: s, fetched: c.o.Clock().UnixMilli(), size: failureSize}
	address, data, err := c.o.Fetch(c.ctx, s)
	if err == nil {
		if e.m, err = Parse(address, data); err == nil {
			e.size = e.m.Size()
		}
	}
	if e.plain = errors.Is(err, ErrNoMap); err != nil && !e.plain && c.o.Failed != nil && c.ctx.Err() == nil {
		c.o.Failed(s, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.until = c.o.Clock().Add(c.o.Retry)
	delete(c.waiting, s)
	for _, el := range slices.Clone(c.entries[s]) {
		if old := el.Value.(*entry); old.m == nil && (!old.plain || e.plain) {
			c.dropLocked(el) // this attempt stands for those before it
		}
	}
	c.entries[s] = append(c.entries[s], c.order.PushFront(e))
	for c.bytes += e.size; c.bytes > c.o.Bytes && c.order.Len() > 1; {
		c.dropLocked(c.order.Back())
	}
	if c.came != nil {
		close(c.came)
		c.came = nil
	}
	if c.idle != nil && len(c.waiting) == 0 {
		close(c.idle)
		c.idle = nil
	}
}

func (c *Cache) dropLocked(el *list.Element) {
	e := el.Value.(*entry)
	left := slices.DeleteFunc(c.entries[e.script], func(other *list.Element) bool { return other == el })
	if c.entries[e.script] = left; len(left) == 0 {
		delete(c.entries, e.script)
	}
	c.order.Remove(el)
	c.bytes -= e.size
}

// Idle returns a channel that is closed when nothing is being fetched, for tests and benchmarks.
func (c *Cache) Idle() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	return c.idle
}
