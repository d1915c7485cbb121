package sessiontree

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
)

// Limits of the tree in a viewer.
const (
	viewJudged = 50
	viewCalls  = 300
	viewFiles  = 20   // below one call
	viewLoose  = 100  // files of no call
	viewText   = 2000 // characters of a prompt or a last message
	viewTitle  = 300  // characters
)

// View returns the newest part of a session's tree, small enough for a message to a browser.
func (f *Finder) View(ctx context.Context, client *checkpoint.Client, session string) (*Tree, error) {
	t, err := f.tree(ctx, client, moments.Where{Session: session}, viewJudged)
	if err != nil {
		return nil, err
	}
	t.bound()
	return t, nil
}

// bound leaves out older calls, and shortens texts.
func (t *Tree) bound() {
	left, first := viewCalls, len(t.Turns)
	for first > 0 && left > 0 {
		first--
		turn := t.Turns[first]
		turn.Prompt, turn.Said = short(turn.Prompt, viewText), short(turn.Said, viewText)
		turn.Calls = t.newest(turn.Calls, &left)
	}
	for _, turn := range t.Turns[:first] {
		t.omit(turn.Calls)
	}
	t.Turns = t.Turns[first:]
	t.Files = t.Files[max(0, len(t.Files)-viewLoose):]
}

// newest returns the newest calls, as many as are left.
func (t *Tree) newest(calls []*Call, left *int) []*Call {
	first := len(calls)
	for first > 0 && *left > 0 {
		first--
		*left--
		c := calls[first]
		c.Title, c.Summary = short(c.Title, viewTitle), short(c.Summary, viewTitle)
		c.Files = c.Files[:min(len(c.Files), viewFiles)]
		c.Calls = t.newest(c.Calls, left)
	}
	t.omit(calls[:first])
	return calls[first:]
}

// omit counts calls that are left out.
func (t *Tree) omit(calls []*Call) {
	for _, c := range calls {
		t.Omitted++
		t.omit(c.Calls)
	}
}

func short(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// Content returns what a recorded call was given and returned.
func (f *Finder) Content(ctx context.Context, client *checkpoint.Client, recording, call string) (*Content, error) {
	shown, err := f.Conversations.Show(ctx, client, conversation.ShowParams{ID: recording, Call: call})
	if err != nil {
		return nil, err
	}
	return &Content{string(shown.Input), string(shown.Output)}, nil
}
