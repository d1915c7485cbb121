package sourcemap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/sourcemap/maptest"
)

func always(int64) bool { return true }

func app(i int) Script { return Script{Tab: 1, URL: fmt.Sprintf("http://h/%d.js", i)} }

// mapOf is a map of about so many bytes in memory.
func mapOf(size int) []byte {
	return maptest.Map{Sources: []string{"a.ts"}, Mappings: strings.Repeat(";", size) + "AAAA"}.JSON()
}

func TestMapsTogetherStayWithinTheirBytesAndTheOneUsedLongestAgoGoes(t *testing.T) {
	told := 0
	c := NewCache(CacheOptions{
		Held: func(bytes int) { told = bytes },
		Fetch: func(_ context.Context, s Script) (string, []byte, error) {
			if s == app(9) {
				return s.URL, mapOf(1 << 20), nil
			}
			return s.URL, mapOf(2000), nil
		},
		Bytes: 10_000, Retry: time.Minute, Clock: time.Now,
	})
	defer c.Close()
	held := func() (list []int) {
		for i := range 10 {
			if c.entries[app(i)] != nil {
				list = append(list, i)
			}
		}
		return list
	}
	for i := range 4 {
		c.Want(app(i), always)
		<-c.Idle()
	}
	if c.Get(app(0), always) == nil {
		t.Fatal("the first is gone already")
	}
	for i := 4; i < 6; i++ {
		c.Want(app(i), always)
		<-c.Idle()
	}
	if got := fmt.Sprint(held()); got != "[0 3 4 5]" || c.bytes > 10_000 || told != c.bytes {
		t.Error(got, c.bytes, told)
	}
	c.Want(app(9), always)
	<-c.Idle()
	if got := fmt.Sprint(held()); got != "[9]" || c.Get(app(9), always) == nil || c.bytes < 1<<20 || told != c.bytes {
		t.Error("one that is larger than all together:", got, c.bytes, told)
	}
}

func TestAFewMapsAreFetchedAtATimeAndNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most, fetched := 0, 0, 0
		turn := make(chan struct{}, 1)
		turn <- struct{}{}
		c := NewCache(CacheOptions{
			Fetch: func(context.Context, Script) (string, []byte, error) {
				<-turn
				running++
				fetched++
				most = max(most, running)
				turn <- struct{}{}
				time.Sleep(time.Second)
				<-turn
				running--
				turn <- struct{}{}
				return "", nil, errors.New("none")
			},
			Bytes: 1 << 20, Retry: time.Minute, Clock: time.Now,
		})
		began := time.Now()
		for i := range 100 {
			c.Want(app(i), always)
			c.Want(app(i), always)
			if c.Get(app(i), always) != nil {
				t.Error("a map that was not fetched")
			}
		}
		if time.Since(began) != 0 {
			t.Error("somebody waited")
		}
		<-c.Idle()
		if most != maxFetches || fetched != maxWaiting {
			t.Errorf("%d at a time, %d in all", most, fetched)
		}
		c.Want(app(0), always) // a failure is remembered
		<-c.Idle()
		time.Sleep(time.Minute)
		c.Want(app(0), always)
		<-c.Idle()
		if fetched != maxWaiting+1 {
			t.Error(fetched)
		}
		c.Close()
	})
}

// hang is a fetch that a page never answers.
func hang(ctx context.Context, _ Script) (string, []byte, error) {
	<-ctx.Done()
	return "", nil, ctx.Err()
}

func TestClosingGivesUpWhatIsBeingFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache(CacheOptions{
			Fetch: hang,
			Bytes: 1 << 20, Retry: time.Minute, Clock: time.Now,
			Failed: func(_ Script, err error) { t.Error("told as a failure:", err) },
		})
		for i := range 10 {
			c.Want(app(i), always)
		}
		synctest.Wait()
		c.Close()
		c.Want(app(11), always)
		synctest.Wait()
	})
}

func TestAMapThatDoesNotComeIsNotWorthWaitingFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache(CacheOptions{
			Fetch: hang,
			Bytes: 1 << 20, Retry: time.Minute, Clock: time.Now,
		})
		defer c.Close()
		for _, want := range []bool{true, true, false} {
			if coming, soon := c.Want(app(1), always); !coming || soon != want {
				t.Errorf("coming %t, soon %t; want soon %t", coming, soon, want)
			}
			time.Sleep(slowFetch / 2)
		}
	})
}

func TestEveryVersionOfAScriptHasItsMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := NewCache(CacheOptions{
			Fetch: func(context.Context, Script) (string, []byte, error) {
				n++
				return "http://h/", maptest.Map{Sources: []string{fmt.Sprintf("v%d.ts", n)}, Mappings: "AAAA"}.JSON(), nil
			},
			Bytes: 1 << 20, Retry: time.Minute, Clock: time.Now,
		})
		defer c.Close()
		first := time.Now().UnixMilli()
		old := func(fetched int64) bool { return fetched < first+500 }
		fresh := func(fetched int64) bool { return fetched >= first+500 }
		c.Want(app(0), fresh) // not to be had yet
		c.Want(app(0), old)
		<-c.Idle()
		time.Sleep(time.Second)
		c.Want(app(0), fresh)
		<-c.Idle()
		c.Want(app(0), old)
		c.Want(app(0), fresh)
		<-c.Idle()
		if a, b := place(t, c.Get(app(0), old), 1, 1), place(t, c.Get(app(0), fresh), 1, 1); a != "v1.ts:1:1" || b != "v2.ts:1:1" || n != 2 {
			t.Error(a, b, n)
		}
	})
}
