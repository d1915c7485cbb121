package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// UserTools are those of the user's own programs.
var UserTools = []*tool.Tool[*Store]{
	tool.New(tool.Definition{Name: "recording_list"}, (*Store).List),
	tool.New(tool.Definition{Name: "recording_show"}, (*Store).Show),
	tool.New(tool.Definition{Name: "recording_remove"}, (*Store).Remove),
	tool.New(tool.Definition{Name: "recording_prune"}, (*Store).Prune),
}

// ListParams are the parameters of recording_list.
type ListParams struct {
	// Dir limits the list to conversations in this directory or below, "" lists all.
	Dir string `json:"dir"`
}

// Listed are the recorded conversations, the newest first.
type Listed struct {
	Recordings []Info `json:"recordings"`
	Bytes      int64  `json:"bytes"`
}

// List lists the recorded conversations.
func (s *Store) List(_ context.Context, _ *checkpoint.Client, p ListParams) (*Listed, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	dir := ""
	var formerly []string
	if p.Dir != "" {
		var err error
		if dir, err = grants.Former(p.Dir); err != nil {
			return nil, err
		}
		if s.o.Formerly != nil {
			formerly = s.o.Formerly(dir)
		}
	}
	s.Drain()
	a := &Listed{Recordings: []Info{}}
	s.mu.Lock()
	files := s.all()
	s.mu.Unlock()
	for _, f := range files {
		info := f.info()
		if info.Bytes == 0 && info.Problem == "" || dir != "" && !grants.Within(info.Workspace, dir) && !grants.Within(dir, info.Workspace) && !slices.Contains(formerly, info.Workspace) {
			continue
		}
		a.Recordings = append(a.Recordings, info)
		a.Bytes += info.Bytes
	}
	slices.SortStableFunc(a.Recordings, func(a, b Info) int { return b.Last.Compare(a.Last.Time) })
	return a, nil
}

// info describes a file.
func (f *file) info() Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := Info{ID: f.id}
	if err := f.load(); err != nil {
		i.Problem = event.OneLine(err.Error())
		if stat, err := os.Lstat(f.path); err == nil {
			i.Bytes, i.Last.Time = stat.Size(), stat.ModTime()
		}
		return i
	}
	i.Agent, i.Session, i.Workspace, i.Bytes = f.head.Agent, f.head.Session, f.head.Workspace, f.size
	i.Started, i.Last, i.Prompts, i.Calls = millis(f.first), millis(f.last), f.prompts, f.runs
	i.Cut = f.cut
	if f.out == nil { // all files together have many events
		f.known, f.sources = nil, false
	}
	return i
}

// ShowParams are the parameters of recording_show.
type ShowParams struct {
	// ID names a recording by its ID, or by the agent's ID of its session.
	ID string `json:"id"`
	// Call is the ID of a call whose input and output are wanted, "" for none.
	Call string `json:"call"`
}

// Shown is a recorded conversation.
type Shown struct {
	Outline `tstype:",extends"`
	// Input and Output are those of the call that was asked for.
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
}

// Show returns a conversation, after its transcripts were read.
func (s *Store) Show(_ context.Context, _ *checkpoint.Client, p ShowParams) (*Shown, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	s.Drain()
	f := s.find(p.ID)
	if f == nil {
		return nil, s.missing(p.ID)
	}
	s.readTranscripts(f, partsNow)
	o, err := s.outlineOf(f)
	if err != nil {
		return nil, fmt.Errorf("cannot read recording %s: %w", f.id, err)
	}
	a := &Shown{Outline: *o}
	if p.Call == "" {
		return a, nil
	}
	f.mu.Lock()
	err = f.events(func(e *Event) {
		if e.Call != p.Call {
			return
		}
		if len(e.Input) > 0 {
			a.Input = e.Input
		}
		if len(e.Output) > 0 {
			a.Output = e.Output
		}
	})
	f.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("cannot read recording %s: %w", f.id, err)
	}
	if a.Input == nil && a.Output == nil {
		return nil, usererr.New(usererr.NotFound, "recording %s has nothing of a call %q", f.id, event.Clean(p.Call))
	}
	return a, nil
}

func (s *Store) missing(id string) error {
	return usererr.New(usererr.NotFound, "there is no recording %q. Run `tidemark recordings list --all`.", event.Clean(id))
}

// outlineOf returns the outline of a conversation, which no caller may change. What it is made of stays in memory for the last few conversations.
func (s *Store) outlineOf(f *file) (*Outline, error) {
	info := f.info()
	s.use(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.load(); err != nil {
		return nil, err
	}
	if f.folder == nil {
		f.folder, f.outline = newFolder(f.head.Agent), nil
		if err := f.events(f.folder.add); err != nil {
			f.folder = nil
			return nil, err
		}
	}
	if f.outline == nil {
		f.outline = f.folder.outline(info, f.damaged)
		for _, bytes := range f.left {
			f.outline.Coverage.Unread += bytes
		}
	}
	return f.outline, nil
}

// events calls each with the events of a file. The caller has its lock.
func (f *file) events(each func(*Event)) error {
	if f.fresh {
		return nil
	}
	_, _, _, err := readFile(f.path, func(n entry) {
		if e, err := n.event(); err == nil && (e.Kind != synced || e.Read != nil) {
			each(e)
		}
	})
	return err
}

// maxFolded bounds the conversations whose outline stays in memory.
const maxFolded = 4

// use notes that a conversation's outline is needed, and forgets those that were not needed for longest.
func (s *Store) use(f *file) {
	s.mu.Lock()
	s.folded = append(slices.DeleteFunc(s.folded, func(o *file) bool { return o == f }), f)
	var old *file
	if len(s.folded) > maxFolded {
		old, s.folded = s.folded[0], s.folded[1:]
	}
	s.mu.Unlock()
	if old != nil {
		old.mu.Lock()
		old.folder, old.outline = nil, nil
		old.mu.Unlock()
	}
}

// silent is how long an agent's command may run without an event.
const silent = time.Hour

// within returns the conversations of a workspace that have an event in a span of time, or are still going on since before.
func (s *Store) within(workspace string, from, to int64) (list []*file) {
	if s.failed != nil {
		return nil
	}
	s.mu.Lock()
	files := s.all()
	s.mu.Unlock()
	for _, f := range files {
		f.mu.Lock()
		if !f.read && f.endedBefore(from) {
			f.mu.Unlock()
			continue
		}
		if f.load() == nil && f.head.Workspace == workspace && f.first <= to && (f.last >= from || f.out != nil && f.last >= from-silent.Milliseconds()) {
			list = append(list, f)
		}
		f.mu.Unlock()
	}
	return list
}

// clockSlack is how far the times of events and of files may differ.
const clockSlack = time.Minute

// endedBefore reports whether a file on disk was last written before a time, so that it need not be read. The caller has its lock.
func (f *file) endedBefore(at int64) bool {
	info, err := os.Stat(f.path)
	return err == nil && info.ModTime().Add(clockSlack).UnixMilli() < at
}

// Outlines returns the conversations of a workspace that have an event in a span of time, in milliseconds since 1970. A
// conversation that cannot be read is left out.
func (s *Store) Outlines(workspace string, from, to int64) []*Outline {
	if s.failed != nil {
		return nil
	}
	s.Drain()
	var all []*Outline
	for _, f := range s.within(workspace, from, to) {
		s.readTranscripts(f, partsNow)
		if o, err := s.outlineOf(f); err == nil {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b *Outline) int { return a.Started.Compare(b.Started.Time) })
	return all
}

// RemoveParams are the parameters of recording_remove.
type RemoveParams struct {
	IDs []string `json:"ids"`
}

// Removed are the recordings that were deleted.
type Removed struct {
	IDs        []string `json:"ids"`
	FreedBytes int64    `json:"freedBytes"`
}

// Remove deletes recordings. If one of them does not exist, it deletes none.
func (s *Store) Remove(_ context.Context, _ *checkpoint.Client, p RemoveParams) (*Removed, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	var files []*file
	for _, id := range p.IDs {
		f := s.find(id)
		if f == nil {
			return nil, s.missing(id)
		}
		files = append(files, f)
	}
	a := &Removed{IDs: []string{}}
	for _, f := range files {
		bytes := f.info().Bytes
		if err := s.remove(f); err != nil {
			return nil, fmt.Errorf("cannot delete recording %s: %w", f.id, err)
		}
		a.IDs, a.FreedBytes = append(a.IDs, f.id), a.FreedBytes+bytes
	}
	return a, nil
}

// PruneParams are the parameters of recording_prune. What is 0 is as in the settings.
type PruneParams struct {
	Days float64 `json:"days"`
	MiB  int64   `json:"mib"`
}

// Prune deletes old recordings.
func (s *Store) Prune(_ context.Context, _ *checkpoint.Client, p PruneParams) (*Removed, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	limits, age := s.o.Settings, s.o.Age
	if p.Days != 0 { // as the user sees the times
		limits.Days, age = p.Days, retention.Wall(s.o.Clock)
	}
	if p.MiB != 0 {
		limits.MiB = p.MiB
	}
	if err := limits.Check(); err != nil {
		return nil, usererr.Invalid("%s", err.Error())
	}
	done := s.prune(age, limits)
	return &Removed{append([]string{}, done.Deleted...), done.Freed}, nil
}
