package diff_test

import (
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// past has entries on disk, in blocks: a text of an entry is part of its block, so that whoever keeps one keeps the block.
type past struct {
	section capture.Section
	entry   func(n uint64, block string) event.Event

	base, most uint64 // bytes of live memory, as the reading began and at most
}

const (
	pastEntries = 10_000  // on disk
	pastBlock   = 100     // of them are a block
	blockBytes  = 1 << 20 // are what it takes in memory
)

func (p *past) First() capture.Positions {
	return capture.BySection(func(s capture.Section) uint64 {
		if s == p.section {
			return 1
		}
		return 1<<63 - 1
	})
}

func (p *past) After(int64) capture.Positions {
	return capture.BySection(func(capture.Section) uint64 { return 1 })
}

func (p *past) Endpoints(uint64) *capture.Table   { return nil }
func (p *past) DOMState(uint64) *capture.DOMState { return nil }

func (p *past) Entries(s capture.Section, from, to uint64) iter.Seq2[uint64, event.Event] {
	return func(yield func(uint64, event.Event) bool) {
		if s != p.section {
			return
		}
		for n := from; n < to; {
			block := strings.Repeat("a word of the block, ", blockBytes/21)
			p.measure()
			for end := min(n+pastBlock, to); n < end; n++ {
				if !yield(n, p.entry(n, block)) {
					return
				}
			}
		}
	}
}

func (p *past) measure() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if p.base == 0 {
		p.base = m.HeapAlloc
	}
	p.most = max(p.most, m.HeapAlloc)
}

func TestAReportOfThePastKeepsLittleOfItInMemory(t *testing.T) {
	began := time.Now().Add(-time.Hour).UnixMilli()
	at := func(n uint64) event.Head {
		return event.Head{At: began + int64(n)*20, Subject: event.InTab(7, enginetest.Page)}
	}
	word := strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "i", "9", "j")
	for _, c := range []struct {
		name    string
		section capture.Section
		entry   func(n uint64, block string) event.Event
	}{
		{"requests, each with another body", capture.NetworkSection, func(n uint64, block string) event.Event {
			return &event.Network{Head: at(n), ID: fmt.Sprint(n), Method: "POST", URL: enginetest.Page + "/api/" + fmt.Sprint(n%3), Status: 200, RequestBody: fmt.Sprintf("%d", n) + block[:1], ResponseBody: block}
		}},
		{"requests, each to another address", capture.NetworkSection, func(n uint64, block string) event.Event {
			return &event.Network{Head: at(n), ID: fmt.Sprint(n), Method: "GET", URL: enginetest.Page + "/api?q=" + word.Replace(fmt.Sprint(n)), Status: 200, ResponseBody: block}
		}},
		{"requests that fail", capture.NetworkSection, func(n uint64, block string) event.Event {
			return &event.Network{Head: at(n), ID: fmt.Sprint(n), Method: "GET", URL: enginetest.Page + "/api/" + fmt.Sprint(n%3), Status: 500, ResponseBody: block}
		}},
		{"one error, again and again", capture.ConsoleSection, func(_ uint64, block string) event.Event {
			return &event.Console{Head: at(1), Level: event.Error, Via: "console", Text: block[:40]}
		}},
		{"errors, each another one", capture.ConsoleSection, func(n uint64, block string) event.Event {
			text := block[n%20*21:][:21] + word.Replace(fmt.Sprint(n%2000))
			return &event.Console{Head: at(n), Level: event.Error, Via: "console", Text: text, Request: block[:10]}
		}},
		{"connections that close", capture.WebSocketSection, func(n uint64, block string) event.Event {
			return &event.WebSocket{Head: at(n), ID: fmt.Sprint(n), URL: "ws://localhost/" + fmt.Sprint(n%3), Op: "close", Code: 1006, Reason: block[:21]}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits := capture.DefaultLimits()
			limits[c.section.Track()] = capture.Limit{Count: 1, Bytes: 1 << 20}
			w := enginetest.New(t, limits)
			for range pastEntries {
				switch c.section {
				case capture.NetworkSection:
					w.Request("GET", "/new", 200, 5)
				case capture.ConsoleSection:
					w.Log("error", "new")
				default:
					w.Socket("close", "")
				}
			}
			v := w.Store.View(w.Now)
			p := &past{section: c.section, entry: c.entry}
			deep := v.Behind(p)
			diff.Compute(capture.Moment{At: time.UnixMilli(began), Pos: deep.Start().Pos}, deep, window.Options{
				Include: []capture.Section{c.section}, Noise: noise.Default(), Beginning: true,
				Original: func(*event.Console) (report.Place, bool) { return report.Place{}, false },
			})
			if p.most == 0 {
				t.Fatal("nothing was read")
			}
			took := (p.most - p.base) / blockBytes
			t.Logf("%d blocks of %d", took, pastEntries/pastBlock)
			if took > pastEntries/pastBlock/3 {
				t.Errorf("the report kept %d blocks of %d in memory", took, pastEntries/pastBlock)
			}
		})
	}
}
