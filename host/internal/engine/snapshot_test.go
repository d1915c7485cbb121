package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// pageWith returns a browser's page: a button after enough links, which differ each time.
func pageWith(button string) *protocol.AriaResult {
	f := protocol.AriaFrame{Parent: -1, Document: "d", URL: enginetest.Page + "/", Title: "page", Root: 1, Version: 1}
	root := protocol.AriaNode{ID: 1, Role: "document", Children: []int{2}}
	f.Nodes = []protocol.AriaNode{{ID: 2, Role: "button", Name: button}}
	for i := range 20 {
		root.Children = append(root.Children, 10+i)
		f.Nodes = append(f.Nodes, protocol.AriaNode{ID: 10 + i, Role: "link", Name: fmt.Sprintf("Link %c of the page", 'A'+i)})
	}
	f.Nodes = append(f.Nodes, root)
	return &protocol.AriaResult{Frames: []protocol.AriaFrame{f}}
}

// browser keeps one page as a browser does, and reports the changes since the previous request.
type browser struct {
	button  string
	version int
}

func (b *browser) look(_ context.Context, p protocol.AriaParams) (*protocol.AriaResult, error) {
	b.version++
	r := pageWith(b.button)
	f := &r.Frames[0]
	f.Version = b.version
	if len(p.Known) > 0 {
		f.Since = p.Known[0].Version
		f.Nodes = f.Nodes[:1]
	}
	return r, nil
}

func snapshot(t *testing.T, w *enginetest.World, c *checkpoint.Client, p pages.SnapshotParams) *pages.Snapshot {
	t.Helper()
	s, err := w.Engine.Pages.Snapshot(context.Background(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryClientHearsWhatChangedSinceItsOwnLook(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	b := &browser{button: "One"}
	w.Look = b.look
	one, two := &checkpoint.Client{}, &checkpoint.Client{}
	if s := snapshot(t, w, one, pages.SnapshotParams{}); s.Kind != "full" || s.Tab != 1 {
		t.Errorf("%+v", s)
	}
	b.button = "Two"
	if s := snapshot(t, w, two, pages.SnapshotParams{}); s.Kind != "full" || !strings.Contains(s.Snapshot, `"Two"`) {
		t.Errorf("%+v", s)
	}
	if s := snapshot(t, w, one, pages.SnapshotParams{}); s.Kind != "diff" || !strings.Contains(s.Snapshot, `button "Two" [e2]  # was "One"`) {
		t.Errorf("%+v", s)
	}
	if s := snapshot(t, w, two, pages.SnapshotParams{}); s.Kind != "unchanged" {
		t.Errorf("%+v", s)
	}
}

func TestWithoutATabItIsTheOneUsedLast(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Look = (&browser{button: "b"}).look
	w.SetTab(protocol.Tab{ID: 8, URL: enginetest.Page + "/two", Watched: true, Active: true})
	c := &checkpoint.Client{}
	if s := snapshot(t, w, c, pages.SnapshotParams{}); s.Tab != 2 {
		t.Errorf("the active tab is 2, not %d", s.Tab)
	}
	snapshot(t, w, c, pages.SnapshotParams{Tab: 1})
	if s := snapshot(t, w, c, pages.SnapshotParams{}); s.Tab != 1 {
		t.Errorf("the tab used last is 1, not %d", s.Tab)
	}
	list, err := w.Engine.Actor.BrowserTabs(t.Context(), c, pages.TabsParams{})
	if err != nil || len(list.Tabs) != 2 || !list.Tabs[0].Current || list.Tabs[1].Current || !list.Tabs[1].Active {
		t.Errorf("%+v, %v", list, err)
	}
	w.CloseTab(7)
	if s := snapshot(t, w, c, pages.SnapshotParams{}); s.Tab != 2 {
		t.Errorf("the tab used last is closed, and the other is 2, not %d", s.Tab)
	}
}

func TestUnreadablePagesAreReported(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.SetTab(protocol.Tab{ID: 9, URL: "https://example.com/"})
	c := &checkpoint.Client{}
	for _, test := range []struct {
		params pages.SnapshotParams
		look   error
		want   string
	}{
		{pages.SnapshotParams{Tab: 99}, nil, "there is no tab 99; watched tabs: 1"},
		{pages.SnapshotParams{Tab: 2}, nil, "is not watched"},
		{pages.SnapshotParams{}, &protocol.Error{Code: protocol.CodeInvalid, Message: "no"}, "tab 1: no"},
		{pages.SnapshotParams{}, &protocol.Error{Code: protocol.CodeUnknown}, "too old"},
		{pages.SnapshotParams{}, errors.New("cut"), "cannot read the page of tab 1: cut"},
		{pages.SnapshotParams{Root: "e7x"}, nil, "must be a reference"},
	} {
		w.Look = func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error) { return nil, test.look }
		if _, err := w.Engine.Pages.Snapshot(context.Background(), c, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v; want %q", test.params, err, test.want)
		}
	}
}

func TestChangesOutOfStepAreAskedForAgain(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	b := &browser{button: "b"}
	w.Look = b.look
	c := &checkpoint.Client{}
	snapshot(t, w, c, pages.SnapshotParams{})
	asked := 0
	w.Look = func(ctx context.Context, p protocol.AriaParams) (*protocol.AriaResult, error) {
		r, err := b.look(ctx, p)
		if asked++; asked == 1 {
			r.Frames[0].Since = 77
		}
		return r, err
	}
	if s := snapshot(t, w, c, pages.SnapshotParams{}); asked != 2 || !strings.Contains(s.Snapshot, `"b"`) {
		t.Errorf("asked %d times: %+v", asked, s)
	}
}

// A tab whose browser is gone is not one that a user could turn on.
func TestATabOfABrowserThatEndedNamesTheBrowser(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Store.Disconnected("i", w.Now)
	if _, err := w.Call(w.Agent(), "browser_snapshot", `{"tab":1}`); err == nil || !strings.Contains(err.Error(), "the browser of tab 1 (http://localhost:5173/) is not connected") {
		t.Error(err)
	}
}
