package sessiontree

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// world is a recorded conversation of an agent's session "one", a second an event.
type world struct {
	*testing.T
	store *conversation.Store
	root  string
	start time.Time
	clock atomic.Int64 // in nanoseconds
}

func (w *world) now() time.Time { return time.Unix(0, w.clock.Load()) }

func (w *world) pass(d time.Duration) { w.clock.Add(int64(d)) }

func newWorld(t *testing.T) *world {
	t.Helper()
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	w := &world{T: t, root: t.TempDir(), start: start}
	w.clock.Store(start.UnixNano())
	root, err := filepath.EvalSymlinks(w.root)
	if err != nil {
		t.Fatal(err)
	}
	w.root = root
	w.store, err = conversation.Open(conversation.Options{
		Dir: filepath.Join(t.TempDir(), "recordings"), Redactor: redact.Default(), Clock: w.now, Log: slog.New(slog.DiscardHandler),
		Decided: func(string) grants.Decision { return grants.Decision{State: grants.Allowed} },
		Root:    func(string, ...string) (string, error) { return root, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.store.Close)
	return w
}

func (w *world) record(e conversation.Event) {
	w.Helper()
	w.pass(time.Second)
	e.Agent, e.Session, e.Dir, e.At = "claude", "one", w.root, w.now().UnixMilli()
	e.Describe()
	if err := w.store.Record(e); err != nil {
		w.Fatal(err)
	}
}

// call records a call that took 0.9 s, of a subagent if it has a name.
func (w *world) call(id, sub, tool string, input map[string]string) {
	w.Helper()
	data, err := json.Marshal(input)
	if err != nil {
		w.Fatal(err)
	}
	w.record(conversation.Event{Kind: conversation.Result, Turn: "t1", Call: id, Sub: sub, Tool: tool, Input: data, Outcome: conversation.OK, DurationMs: 900})
}

func (w *world) edit(id, sub, path string) {
	w.Helper()
	w.call(id, sub, "Edit", map[string]string{"file_path": filepath.Join(w.root, path)})
}

// change is a change of a file at so many seconds of the session.
func (w *world) change(path string, seconds float64, snapshot uint64) *event.FileChange {
	at := w.start.Add(time.Duration(seconds * float64(time.Second)))
	return &event.FileChange{
		Head: event.Head{At: at.Add(2 * time.Second).UnixMilli(), Subject: event.InWorkspace(w.root)}, Path: path, Change: event.FileModified,
		Snapshot: snapshot, Since: at.Add(-time.Second).UnixMilli(), Edited: at.UnixMilli(), Added: 1, Counted: true,
	}
}

// tree builds the tree of moments and changes.
func (w *world) tree(moments []answers.ListMoment, changes ...*event.FileChange) *Tree {
	w.Helper()
	b := &builder{tree: &Tree{Turns: []*Turn{}}, calls: map[string]*Call{}}
	outlines := w.store.Outlines(w.root, w.start.UnixMilli(), w.now().UnixMilli())
	for _, o := range outlines {
		b.addConversation(o, w.start, w.now())
	}
	b.addMoments(moments)
	b.sort()
	for _, c := range changes {
		b.addFile(c, outlines)
	}
	return b.tree
}

// lines are the rows of a tree.
func lines(t *Tree) (all []string) {
	var add func(prefix string, calls []*Call)
	add = func(prefix string, calls []*Call) {
		for _, c := range calls {
			line := prefix + c.Title
			if c.Moment != "" {
				line += " " + c.Moment
			}
			for _, f := range c.Files {
				line += " [" + f.Path + " " + f.FsSnapshot + " " + strings.Join(f.OneOf, "|") + "]"
			}
			all = append(all, line)
			add(prefix+"> ", c.Calls)
		}
	}
	for _, turn := range t.Turns {
		all = append(all, strings.TrimSpace(turn.Prompt+" "+turn.Moment))
		add("- ", turn.Calls)
	}
	for _, f := range t.Files {
		all = append(all, "no call: "+f.Path)
	}
	return all
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the tree is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (w *world) at(seconds float64) report.Time {
	return report.Time{Time: w.start.Add(time.Duration(seconds * float64(time.Second)))}
}

// Each prompt, call and change is in the tree once: a change below the call that names its file, or below the last of those of
// which one made it.
func TestATreeHasCallsWithTheirFiles(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.Event{Kind: conversation.Prompt, Turn: "t1", Text: "make it blue"})                                                                   // 1 s
	w.edit("e1", "", "a.css")                                                                                                                                   // until 2 s
	w.call("b1", "", "Bash", map[string]string{"command": "npm run build"})                                                                                     // until 3 s
	w.record(conversation.Event{Kind: conversation.Result, Turn: "t1", Call: "task", Tool: "Agent", Outcome: conversation.OK, DurationMs: 900, Spawned: "sub"}) // until 4 s
	w.edit("s1", "sub", "sub.js")                                                                                                                               // until 5 s
	w.pass(-500 * time.Millisecond)                                                                                                                             // the next one overlaps
	w.call("b2", "", "Bash", map[string]string{"command": "make x"})                                                                                            // until 5.5 s
	w.pass(-800 * time.Millisecond)                                                                                                                             //
	w.call("b3", "", "Bash", map[string]string{"command": "touch y"})                                                                                           // until 5.7 s
	moments := []answers.ListMoment{
		{ID: "m1", At: w.at(1), Source: records.FromPrompt, Anchor: &answers.Anchor{Agent: "claude", Session: "one", Turn: "t1"}},
		{ID: "m2", At: w.at(2), Source: records.FromEdit, Label: "Edit a.css", FsSnapshot: "s1", Anchor: &answers.Anchor{Agent: "claude", Session: "one", Message: "e1"}},
		{ID: "m3", At: w.at(3), Source: records.FromUser, Label: "by hand", FsSnapshot: "s2"},
	}
	tree := w.tree(moments, w.change("a.css", 1.5, 1), w.change("dist/a.css", 2.5, 2), w.change("sub.js", 4.5, 3), w.change("x", 5.2, 4), w.change("README.md", 9.5, 5))
	equal(t, lines(tree), []string{
		"make it blue m1",
		"- Edit a.css m2 [a.css s1 ]",
		"- $ npm run build [dist/a.css s2 ]",
		"- Agent",
		"- > Edit sub.js [sub.js s3 ]",
		"- $ make x",
		"- $ touch y [x s4 b2|b3]",
		"no call: README.md",
	})
}

// Where the conversation is not recorded, the moments of agents are the tree.
func TestMomentsAreTheTreeWithoutAConversation(t *testing.T) {
	w := newWorld(t)
	w.pass(time.Minute)
	anchor := func(call string) *answers.Anchor {
		return &answers.Anchor{Agent: "cursor", Session: "two", Message: call}
	}
	moments := []answers.ListMoment{
		{ID: "m1", At: w.at(0), Source: records.FromStart, Anchor: anchor("")},
		{ID: "m2", At: w.at(1), Source: records.FromPrompt, Anchor: anchor("")},
		{ID: "m3", At: w.at(2), Source: records.FromEdit, Label: "Edit a.js", FsSnapshot: "s1", Anchor: anchor("c1")},
		{ID: "m4", At: w.at(3), Source: records.FromPrompt, Anchor: anchor("")},
		{ID: "m5", At: w.at(4), Source: records.FromEdit, Label: "Edit b.js", FsSnapshot: "s2", Anchor: anchor("")},
		{ID: "m6", At: w.at(5), Source: records.FromStop, FsSnapshot: "s2", Anchor: anchor("")},
	}
	mine, other := w.change("a.js", 1.5, 1), w.change("b.js", 3.5, 2)
	mine.By = "Edit a.js"
	equal(t, lines(w.tree(moments, mine, other)), []string{"m2", "- Edit a.js m3 [a.js s1 ]", "m4", "- Edit b.js m5", "no call: b.js"})
}

// A tree for a viewer has the newest calls alone, and counts the others.
func TestATreeForAViewerIsBounded(t *testing.T) {
	tree := &Tree{}
	long := strings.Repeat("ä", 3000)
	for turn := range 10 {
		one := &Turn{Prompt: long, Said: long}
		for n := range 60 {
			c := &Call{ID: fmt.Sprintf("%d-%d", turn, n), Title: long, Files: make([]File, 30)}
			c.Calls = []*Call{{ID: c.ID + "-sub"}}
			one.Calls = append(one.Calls, c)
		}
		tree.Turns = append(tree.Turns, one)
	}
	tree.Files = make([]File, 500)
	tree.bound()
	if len(tree.Turns) != 3 || tree.Omitted != 1200-viewCalls || len(tree.Files) != viewLoose {
		t.Fatalf("%d turns, %d omitted, %d files", len(tree.Turns), tree.Omitted, len(tree.Files))
	}
	last := tree.Turns[2]
	if c := last.Calls[59]; len(last.Calls) != 60 || c.ID != "9-59" || len(c.Calls) != 1 || len(c.Files) != viewFiles || len([]rune(c.Title)) != viewTitle || len([]rune(last.Prompt)) != viewText {
		t.Errorf("the newest call is %s with %d files and a title of %d", c.ID, len(c.Files), len(c.Title))
	}
	if data, err := json.Marshal(tree); err != nil || len(data) > 900<<10 {
		t.Errorf("it takes %d bytes: %v", len(data), err)
	}
}

// A change of blame is bounded by the snapshots around it, unless it was recorded with the time of its file.
func TestMadePrefersTheRecordedChange(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.Event{Kind: conversation.Prompt, Turn: "t1", Text: "fix it"}) // 1 s
	w.call("b1", "", "Bash", map[string]string{"command": "first"})                     // until 2 s
	w.call("b2", "", "Bash", map[string]string{"command": "second"})                    // until 3 s
	s := capture.New(capture.DefaultLimits(), noise.Default(), w.start.Add(-time.Minute))
	f := &Finder{Conversations: w.store, Store: s, Clock: func() time.Time { return w.now().Add(time.Minute) }}
	bounds := *w.change("x", 0, 7)
	bounds.Edited, bounds.Since, bounds.At = 0, w.start.UnixMilli(), w.start.Add(4*time.Second).UnixMilli()
	calls, prompts := f.Made(t.Context(), []event.FileChange{bounds})
	if calls[0] != "one of these calls: $ first; $ second" || prompts[0] != "fix it" {
		t.Errorf("by its snapshots it was made by %q for %q", calls, prompts)
	}
	recorded := w.change("x", 2.5, 7)
	recorded.At = bounds.At
	if err := capture.NewSink(s, capture.Workspaces, f.Clock).Append(t.Context(), recorded); err != nil {
		t.Fatal(err)
	}
	if calls, _ = f.Made(t.Context(), []event.FileChange{bounds}); calls[0] != "$ second" {
		t.Errorf("recorded, it was made by %q", calls)
	}
}

// Gemini CLI gives prompts no ID, and the moments of what was spooled are recorded when the next daemon reads it.
func TestAPromptFromTheSpoolIsInTheTreeOnce(t *testing.T) {
	w := newWorld(t)
	var moments []answers.ListMoment
	for i := range 20 {
		nonce := fmt.Sprint("n", i)
		w.record(conversation.Event{Kind: conversation.Prompt, Text: fmt.Sprint("prompt ", i), Nonce: nonce})
		moments = append(moments, answers.ListMoment{ID: fmt.Sprint("m", i), Source: records.FromPrompt, Anchor: &answers.Anchor{Agent: "claude", Session: "one"}, Event: nonce})
	}
	for i := range moments {
		moments[i].At = report.Time{Time: w.start.Add(time.Minute)}
	}
	tree := w.tree(moments)
	if len(tree.Turns) != 20 {
		t.Errorf("%d turns", len(tree.Turns))
	}
	for i, turn := range tree.Turns {
		if turn.Moment != fmt.Sprint("m", i) || turn.Prompt != fmt.Sprint("prompt ", i) {
			t.Errorf("turn %d is %q at moment %q", i, turn.Prompt, turn.Moment)
		}
	}
}
