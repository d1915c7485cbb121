package recording_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/recording/screen"
)

// TestAnOffsetIsFoundByItsTime, in a recording that is being written, and the frame there is that of the output before it.
func TestAnOffsetIsFoundByItsTime(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	s := recording.Store{Dir: t.TempDir()}
	w, err := s.Create(header)
	if err != nil {
		t.Fatal(err)
	}
	tail := s.Follow(header.ID)
	all := ""
	offsets := map[time.Duration]int{}
	for i := range 4000 {
		at := time.Duration(i+1) * 10 * time.Millisecond
		text := fmt.Sprintf("\x1b[3%dm%d %s\r\n", i%8, i, strings.Repeat(string(rune('a'+i%26)), r.IntN(300)))
		add(t, w, at, recording.Output, text)
		all += text
		offsets[at] = len(all)
		if i%50 != 49 {
			continue
		}
		commit(t, w)
		for _, back := range []int{0, 1, 7, 30} {
			want := at - time.Duration(back)*10*time.Millisecond
			whole, err := tail.Reaches(want + 5*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tail.OffsetAt(want+5*time.Millisecond, 300*time.Millisecond)
			if err != nil || got != uint64(offsets[want]) || whole != (back > 0) {
				t.Fatalf("at %s: %d (%v), want %d; %v", want, got, whole, offsets[want], err)
			}
		}
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	if whole, err := tail.Reaches(time.Hour); !whole || err != nil {
		t.Errorf("more is expected of a recording that ended: %v", err)
	}
	rec, err := s.Open(header.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rec.Close() }()
	for range 30 {
		offset := r.IntN(len(all) + 1)
		got, at, err := rec.FrameAt(uint64(offset))
		if err != nil {
			t.Fatal(err)
		}
		want := screen.New(header.Cols, header.Rows)
		_, _ = want.Write([]byte(all[:offset]))
		if got.Dump() != want.Dump() {
			t.Fatalf("the frame at %d (%s) differs", offset, at)
		}
		if next := at + 10*time.Millisecond; offsets[at] < offset || offset > 0 && offsets[at-10*time.Millisecond] >= offset {
			t.Errorf("%d is at %s and not before %s", offset, at, next)
		}
	}
	if _, _, err := rec.FrameAt(uint64(len(all) + 1)); err == nil {
		t.Error("a frame behind the end is shown")
	}
}

// TestOnlyALiveRecordingHoldsItsKey.
func TestOnlyALiveRecordingHoldsItsKey(t *testing.T) {
	s := recording.Store{Dir: t.TempDir()}
	mine, other := header, header
	mine.Proof, other.ID, other.Proof = recording.ProofOf("mine"), "t20260102-030405-beef", recording.ProofOf("other")
	w, err := s.Create(mine)
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Create(other)
	if err != nil {
		t.Fatal(err)
	}
	bare := header
	bare.ID = "t20260102-030405-0000"
	b, err := s.Create(bare)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id, key string
		want    bool
	}{
		{mine.ID, "mine", true},
		{other.ID, "other", true},
		{mine.ID, "other", false},
		{other.ID, "mine", false},
		{mine.ID, mine.Proof, false},
		{mine.ID, "", false},
		{bare.ID, "", false},
		{bare.ID, "mine", false},
		{"t20260102-030405-ffff", "mine", false},
		{"../" + filepath.Base(s.Dir) + "/" + mine.ID, "mine", false},
		{"", "mine", false},
	} {
		if h, got := s.Holds(c.id, c.key); got != c.want || got && h.ID != c.id {
			t.Errorf("%q with %q: %v", c.id, c.key, got)
		}
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	if err := o.Abandon(); err != nil { // as a kill does
		t.Fatal(err)
	}
	_, first := s.Holds(mine.ID, "mine")
	_, second := s.Holds(other.ID, "other")
	if first || second || s.Live(mine.ID) || s.Live(other.ID) || !s.Live(bare.ID) {
		t.Error("a recording that ended holds its key")
	}
	if err := b.Finish(0); err != nil {
		t.Fatal(err)
	}
}
