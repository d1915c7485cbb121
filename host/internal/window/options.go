package window

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/report"
)

// Options say what a report covers.
type Options struct {
	// Include are the sections; empty means all.
	Include []capture.Section
	// Filter empties the lists below a severity; it changes neither severity nor summary.
	Filter report.Filter
	// Origins narrow it to pages of these origins; empty means all.
	Origins []string
	// Others are origins whose pages are left out, as they are those of other projects.
	Others []string
	// Workspace narrows what happened outside of tabs to a directory; "" means everywhere, or nowhere if there are origins.
	Workspace string
	// Allowed reports whether the user still allows what was recorded in a workspace. Nil allows all.
	Allowed func(root string) bool
	// Now returns where a workspace is now that was at a directory when something was recorded. Nil is for none that was moved.
	Now func(root string) string
	// Tab narrows it to one tab; 0 means all tabs, and what happened outside of tabs.
	Tab   int
	Noise *noise.Rules
	// Beginning says that it is compared with no checkpoint: a user's noise rules hide what is new, too.
	Beginning bool
	// Ended says that the window ended before now: which tabs are watched at this moment says nothing of it.
	Ended bool
	// NoiseProblems are the noise rules that are not used, and why.
	NoiseProblems []string
	// Own says of an action that the reader did it itself: that is no news to it. Nil: none is.
	Own func(tab int, at int64) bool
	// Original tells where an entry came from, and whether that is its original place; nil where all are told as
	// they were logged. It is called for entries that are shown, and decides nothing but how their source reads.
	Original func(*event.Console) (report.Place, bool)
	// Initiator tells which code of the project made a request, or opened a connection. It may be nil, and is called for
	// entries that are shown.
	Initiator func(event.Event) report.Place
	// CalledAt tells which code of the project called that of a request, from another file. It may be nil, and is called for
	// requests that are shown, other than reads that succeeded once.
	CalledAt func(*event.Network) report.Place
	// Overlaid returns the place of an error overlay that a tab showed since a time, by its message and the place that it names. It
	// may be nil.
	Overlaid func(tab int, since int64, message string, named alike.OverlayPlace) alike.OverlayPlace
	// Logged tells where the project's own code logged an error that came from elsewhere; false where it did not. It may
	// be nil.
	Logged func(*event.Console) (report.Place, bool)
	// Introduced returns the change of a file after which an entry first appeared, nil if it is not known: of a
	// *event.Console, of the first *event.Network of a failure, of a *event.WebSocket or of a *capture.Change. It may be nil,
	// and is called for entries that are shown.
	Introduced func(event.Event) *report.Introduced
	// Returned reports whether such a change brought an entry back that the reader was already given, after it was gone. It may be
	// nil.
	Returned func(event.Event) bool
	// Made names the agent's call that made a change of a file, or those of which one did, and the beginning of the prompt
	// behind it, "" where that is not known. It may be nil, and is called for entries that are shown.
	Made func(*event.FileChange) (call, prompt string)
	// Given are the entries that the reader was already shown, by what [report.Report.Given] returned. Such an entry is counted,
	// not listed. Nil lists everything.
	Given Given
	// Standing counts the error overlays and empty pages from before the window that are still there, as repeated, though Given is
	// nil: a page that shows one is not clean since a checkpoint.
	Standing bool
	// Over says of an error of the console that it is left out, because its page has shown since that it is over. It may be nil.
	Over func(*event.Console) bool
	// Late says of a request that it belongs to an action of the reader whose answer did not have it yet. It may be nil.
	Late func(pos uint64, e *event.Network) bool
	// Waited has a request count from when it ended, where what happened before a wait is apart from what happened during it.
	Waited bool
	// Emptied are the fields of submitted forms that the page emptied, and that the reader was not given.
	Emptied []report.EmptiedField
	// First leaves out what happened before the newest load of each tab; nil leaves out nothing.
	First *FirstLook
	// Refs has everything in the report say which entries it was made of.
	Refs bool
}

// Given are entries that a reader was shown.
type Given interface {
	// Has reports whether an entry is among them.
	Has(as uint64) bool
}

// InScope says whether events of a subject are covered.
func (o *Options) InScope(s event.Subject) bool {
	if s.Kind == event.Tab && slices.Contains(o.Others, s.Place) {
		return false
	}
	if root := s.Workspace(); root != "" && o.Now != nil {
		s.Place = o.Now(root)
	}
	return (o.Tab == 0 || o.Tab == s.Tab()) && s.InScope(o.Origins, o.Workspace) && (o.Allowed == nil || s.Workspace() == "" || o.Allowed(s.Workspace()))
}

// EveryTab says whether all tabs are covered, whatever page they show.
func (o *Options) EveryTab() bool {
	return o.Tab == 0 && len(o.Origins) == 0 && len(o.Others) == 0
}

// Includes reports whether a section is covered.
func (o *Options) Includes(s capture.Section) bool {
	return len(o.Include) == 0 || slices.Contains(o.Include, s)
}

// Covers reports whether the report speaks of an entry that began at a time, in milliseconds since the Unix epoch.
func (o *Options) Covers(s capture.Section, pos uint64, subject event.Subject, began int64) bool {
	return o.InScope(subject) && (o.First == nil || !o.First.before(s, pos, subject.Tab(), began))
}

// Stands reports whether error overlays and empty pages from before the window count.
func (o *Options) Stands() bool { return o.Given != nil || o.Standing }

// WasGiven reports whether the reader was already given an entry.
func (o *Options) WasGiven(e alike.Entry) bool { return o.Given != nil && o.Given.Has(e.As) }
