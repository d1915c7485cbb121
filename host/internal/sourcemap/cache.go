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

// Script identifies a script that a tab loads from an address. Each load can return different code.
type Script struct {
	// Tab is the host's id of the tab.
	Tab int
	URL string
	// Evaluated is for the maps of the code that the script has as text and evaluates, in place of its own map. See [Map.Evaluated].
	Evaluated bool
	// Served is for the imports in the original files of the code that a development server has now, whatever the tab has loaded.
	// See [Map.Import].
	Served bool
}

// Loaded returns the script as a tab loads it.
func (s Script) Loaded() Script {
	s.Evaluated, s.Served = false, false
	return s
}

// File returns the script without the timestamp that development servers add to force a reload
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

// Holds reports whether a map that was fetched at a time (milliseconds since the epoch) belongs to the requested code.
type Holds func(fetched int64) bool

// ErrNoMap is the error of a [Fetch] for a script that names no map: the script is its own source.
var ErrNoMap = errors.New("the script names no source map")

// Fetch fetches a script's map. It returns the map's bytes and the address that resolves the names of its files. The
// error is [ErrNoMap] if the script has no map.
type Fetch func(ctx context.Context, s Script) (address string, data []byte, err error)

// Limits of a cache.
const (
	// maxFetches is how many maps are fetched or parsed at a time; each can take a multiple of its size in memory.
	maxFetches = 2
	// maxWaiting is how many scripts can wait for a fetch; more are dropped until they are requested again.
	maxWaiting = 64
	// slowFetch is how long a fetch is under way before waiting for it is not worthwhile.
	slowFetch = time.Second
	// failureSize is the size of a remembered failure, in bytes.
	failureSize = 1 << 10
)

// CacheOptions configure a cache.
type CacheOptions struct {
	Fetch Fetch
	// Bytes is the memory limit of all maps together. The last used map is always kept.
	Bytes int
	// Retry is the time until a failed fetch is tried again.
	Retry time.Duration
	Clock func() time.Time
	// Failed is called with the error of a failed fetch, from several goroutines. It may be nil.
	Failed func(s Script, err error)
	// Held is called with the size of all maps together, in bytes, when it has changed. It must not wait. It may be nil.
	Held func(bytes int)
}

// Cache caches the maps of scripts and fetches requested ones in the background. It is safe for concurrent use. Only
// [Cache.Await], [Cache.Rest] and [Cache.Close] wait for a fetch.
type Cache struct {
	o       CacheOptions
	ctx     context.Context
	end     context.CancelFunc
	room    chan struct{}
	running sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	entries map[Script][]*list.Element // of *entry, the oldest first
	order   list.List                  // the last used one is in front
	waiting map[Script]time.Time       // since when
	bytes   int
	came    chan struct{} // closed when a fetch has ended; nil if no one waits for it
	idle    chan struct{} // closed when nothing is being fetched; nil if no one waits for it
}

type entry struct {
	script  Script
	fetched int64     // milliseconds since the epoch
	m       *Map      // nil if there is none
	plain   bool      // the script names no map
	until   time.Time // a failure is forgotten then
	size    int
}

// NewCache returns an empty cache. The caller must close it.
func NewCache(o CacheOptions) *Cache {
	ctx, end := context.WithCancel(context.Background())
	return &Cache{o: o, ctx: ctx, end: end, room: make(chan struct{}, maxFetches), entries: map[Script][]*list.Element{}, waiting: map[Script]time.Time{}}
}

// Close cancels all fetches and returns when they have ended.
func (c *Cache) Close() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
}

// Get returns a script's map, nil if it is not in the cache (yet).
func (c *Cache) Get(s Script, holds Holds) *Map {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.getLocked(s, holds); e != nil {
		return e.m
	}
	return nil
}

// getLocked returns the newest entry for the requested code.
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

// Plain reports whether the last fetched code of a script named no map.
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

// Want starts a fetch of a script's map, unless the map is cached, being fetched, or failed recently. It does nothing if
// the address no longer serves the requested code. It reports whether the map is being fetched, and whether that is worth
// waiting for: a page that has not answered within a second seldom does in the moment that a caller can wait.
func (c *Cache) Want(s Script, holds Holds) (coming, soon bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Clock()
	if since, ok := c.waiting[s]; ok {
		return true, now.Sub(since) < slowFetch
	}
	if c.ended || len(c.waiting) >= maxWaiting || c.getLocked(s, holds) != nil || !holds(now.UnixMilli()) {
		return false, false
	}
	c.waiting[s] = now
	c.running.Go(func() { c.fetch(s) })
	return true, true
}

// Rest waits until no map of the scripts is being fetched, or ctx ends.
func (c *Cache) Rest(ctx context.Context, scripts []Script) {
	for {
		c.mu.Lock()
		coming := slices.ContainsFunc(scripts, func(s Script) bool { _, ok := c.waiting[s]; return ok })
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

// cameLocked returns a channel that is closed when the next fetch has ended.
func (c *Cache) cameLocked() <-chan struct{} {
	if c.came == nil {
		c.came = make(chan struct{})
	}
	return c.came
}

// Await is [Cache.Want] and [Cache.Get] for a caller that can wait. It returns nil if there is no map, or if ctx ends
// first.
func (c *Cache) Await(ctx context.Context, s Script, holds Holds) *Map {
	for {
		c.Want(s, holds)
		c.mu.Lock()
		e := c.getLocked(s, holds)
		if _, coming := c.waiting[s]; e != nil || !coming {
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
		parse := Parse
		switch {
		case s.Evaluated:
			parse = parseEvaluated
		case s.Served:
			parse = parseImports
		}
		if e.m, err = parse(address, data); err == nil {
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
			c.dropLocked(el) // this attempt replaces earlier ones
		}
	}
	c.entries[s] = append(c.entries[s], c.order.PushFront(e))
	for c.bytes += e.size; c.bytes > c.o.Bytes && c.order.Len() > 1; {
		c.dropLocked(c.order.Back())
	}
	if c.o.Held != nil {
		c.o.Held(c.bytes)
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
