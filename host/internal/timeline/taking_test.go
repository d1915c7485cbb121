package timeline_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAListSaysThatASnapshotIsBeingTaken, and how far it is, instead of waiting for it or being empty: the first one of a large
// workspace takes seconds.
func TestAListSaysThatASnapshotIsBeingTaken(t *testing.T) {
	w := timelinetest.New(t)
	const files = 60
	for i := range files {
		w.Write(filepath.Join("src", fmt.Sprint(i)), fmt.Sprint(i))
	}
	w.Stop()
	var asked atomic.Int64
	stalled, goOn := make(chan struct{}), make(chan struct{})
	w.Clocked = func() {
		if asked.Add(1) == files/2 { // in the scan: it asks for each file
			close(stalled)
			<-goOn
		}
	}
	w.Start()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Edit("first")
	}()
	<-stalled
	list := w.Listed()
	close(goOn)
	<-done
	switch {
	case list.Taking == nil:
		t.Errorf("%d moments, and no word about the snapshot", len(list.Moments))
	case list.Taking.Since.IsZero() || list.Taking.Found != files+1:
		t.Errorf("%+v", list.Taking)
	}
	if list = w.Listed(); list.Taking != nil || len(list.Moments) != 2 {
		t.Errorf("after that: %+v", list)
	}
}
