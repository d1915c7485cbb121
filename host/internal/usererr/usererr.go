// Package usererr is for mistakes in what was asked, and for what stands in its way: errors that whoever asked can do
// something about. Every surface shows their message and their code; any other error is a failure of Tidemark.
//
// It guarantees: a code, once released, keeps its name and its meaning; codes are only added. [Codes] lists them all,
// and docs/errors.md is made of it.
package usererr

import (
	"errors"
	"fmt"
	"slices"
)

// Code names a kind of error for programs. Surfaces give it as the field code of an MCP result, as the type of a
// problem (RFC 9457), and as the exit code of the command line.
type Code string

// The codes.
const (
	InvalidArgument   Code = "invalid_argument"
	NotFound          Code = "not_found"
	Ambiguous         Code = "ambiguous"
	AlreadyExists     Code = "already_exists"
	LimitReached      Code = "limit_reached"
	SwitchedOff       Code = "switched_off"
	NoBrowser         Code = "no_browser"
	ExtensionOutdated Code = "extension_outdated"
	NotWatched        Code = "not_watched"
	TabClosed         Code = "tab_closed"
	PageUnavailable   Code = "page_unavailable"
	PagePaused        Code = "page_paused"
	PageRunning       Code = "page_running"
	TabInUse          Code = "tab_in_use"
	ActionRefused     Code = "action_refused"
	ReferenceGone     Code = "reference_gone"
	AgentStopped      Code = "agent_stopped"
	AgentSuspended    Code = "agent_suspended"
	NotSaved          Code = "not_saved"
	// Internal is no mistake of the caller's: Tidemark failed.
	Internal Code = "internal"
)

// Entry is a code and what it means.
type Entry struct {
	Code Code
	// Meaning is a sentence for users.
	Meaning string
	// Status is the HTTP status that goes with it, Exit the exit code of the command line.
	Status, Exit int
}

// Codes are all of them, in the order in which they were added.
var Codes = []Entry{
	{InvalidArgument, "An argument is missing, unknown or out of range.", 400, 2},
	{NotFound, "What an argument names does not exist: a tab, a checkpoint, a breakpoint, a rule, a tool.", 404, 2},
	{Ambiguous, "An argument, or a missing one, could mean several things; the message lists them.", 400, 2},
	{AlreadyExists, "The name is taken.", 409, 2},
	{LimitReached, "There are as many as there may be; remove one first.", 409, 2},
	{SwitchedOff, "A person has to allow it first, in the settings that the message names.", 403, 1},
	{NoBrowser, "No browser is connected, or none can be opened.", 409, 3},
	{ExtensionOutdated, "The extension in the browser is too old; run `tidemark install` and reload it.", 409, 1},
	{NotWatched, "The tab is not watched; a person can switch it on in the popup.", 409, 2},
	{TabClosed, "The tab has been closed.", 404, 2},
	{PageUnavailable, "The page cannot be read or reached at the moment.", 409, 1},
	{PagePaused, "The page is paused in the debugger.", 409, 1},
	{PageRunning, "The page has to be paused for this.", 409, 1},
	{TabInUse, "Another action is under way in the tab, or another agent acted there a moment ago.", 409, 1},
	{ActionRefused, "The browser did not carry the action out; the message says why, and what changed meanwhile.", 409, 1},
	{ReferenceGone, "The page has removed the element.", 404, 2},
	{AgentStopped, "A person stopped this agent's actions.", 403, 1},
	{AgentSuspended, "A person suspended this agent's access.", 403, 1},
	{NotSaved, "It is done, but in memory only; the message says why.", 500, 1},
	{Internal, "Tidemark failed; `tidemark status` shows whether the host is well.", 500, 1},
}

// Error is a mistake in what was asked, or what stands in its way.
type Error struct {
	Kind    Code
	Message string
}

func (e *Error) Error() string { return e.Message }

// Code is the error's kind.
func (e *Error) Code() Code { return e.Kind }

// New makes an error of a kind. The message says what happened, to what, and what to do.
func New(kind Code, format string, args ...any) error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes an error of the kind [InvalidArgument].
func Invalid(format string, args ...any) error {
	return &Error{Kind: InvalidArgument, Message: fmt.Sprintf(format, args...)}
}

// coded is an error with a code: [Error], or one of a package's own.
type coded interface {
	error
	Code() Code
}

// Is says whether an error is for whoever asked, and no failure of Tidemark.
func Is(err error) bool { return err != nil && CodeOf(err) != Internal }

// CodeOf is the code of an error: [Internal] for one without.
func CodeOf(err error) Code {
	var c coded
	if errors.As(err, &c) {
		return c.Code()
	}
	return Internal
}

// EntryOf is the entry of a code: that of [Internal] for one that another program made up.
func EntryOf(code Code) Entry {
	for _, c := range []Code{code, Internal} {
		if i := slices.IndexFunc(Codes, func(e Entry) bool { return e.Code == c }); i >= 0 {
			return Codes[i]
		}
	}
	return Entry{Code: Internal}
}
