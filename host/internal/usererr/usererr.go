// Package usererr defines errors that the caller can do something about: invalid requests, and conditions that
// prevent a request. Every surface shows their message and code. Any other error is a failure of Tidemark.
//
// It guarantees: a released code keeps its name and meaning; codes are only added. [Codes] lists them all, and
// docs/ERRORS.md is generated from it.
package usererr

import (
	"errors"
	"fmt"
	"slices"
)

// Code identifies a kind of error for programs. It is the field code of an MCP result and the type of a problem
// (RFC 9457), and determines the exit code of the command line.
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
	Unauthorized      Code = "unauthorized"
	NotAllowed        Code = "not_allowed"
	SessionEnded      Code = "session_ended"
	// Internal is a failure of Tidemark, not a mistake of the caller.
	Internal Code = "internal"
)

// Entry describes a code.
type Entry struct {
	Code Code
	// Meaning is one or two sentences for users.
	Meaning string
	// Status is the HTTP status of the code, Exit the exit code of the command line.
	Status, Exit int
}

// Codes lists all codes in the order in which they were added.
var Codes = []Entry{
	{InvalidArgument, "An argument is missing, unknown or out of range.", 400, 2},
	{NotFound, "What an argument names does not exist: a tab, a checkpoint, a breakpoint, a rule, a tool.", 404, 2},
	{Ambiguous, "Several things match, because an argument is ambiguous or missing. The message lists them.", 400, 2},
	{AlreadyExists, "The name is taken.", 409, 2},
	{LimitReached, "The maximum number is reached. Remove one first.", 409, 2},
	{SwitchedOff, "A user must allow it first. The message names the setting.", 403, 1},
	{NoBrowser, "No browser is connected, or Tidemark cannot open one.", 409, 3},
	{ExtensionOutdated, "The extension in the browser is too old. Run `tidemark install` and reload the extension.", 409, 1},
	{NotWatched, "The tab is not watched. A user can turn it on in the popup.", 409, 2},
	{TabClosed, "The tab was closed.", 404, 2},
	{PageUnavailable, "The page cannot be read or reached right now.", 409, 1},
	{PagePaused, "The page is paused in the debugger.", 409, 1},
	{PageRunning, "The call needs a paused page.", 409, 1},
	{TabInUse, "Another action is running in the tab, or another agent acted there moments ago.", 409, 1},
	{ActionRefused, "The browser did not perform the action. The message gives the reason, and any changes during the attempt.", 409, 1},
	{ReferenceGone, "The page removed the element.", 404, 2},
	{AgentStopped, "A user stopped this agent's actions.", 403, 1},
	{AgentSuspended, "A user suspended this agent's access.", 403, 1},
	{NotSaved, "The change was made, but only in memory. The message gives the reason.", 500, 1},
	{Internal, "Tidemark failed. `tidemark status` shows the state of the host.", 500, 1},
	{Unauthorized, "The token of an HTTP request is missing, wrong or expired, or its host or origin is not accepted.", 401, 1},
	{NotAllowed, "The user has not allowed this in the project. Run `tidemark project allow DIR`.", 403, 1},
	{SessionEnded, "The session has ended, so nothing of now is added to it. The message says what to do.", 409, 2},
}

// Error is an error that the caller can do something about.
type Error struct {
	Kind    Code
	Message string
}

func (e *Error) Error() string { return e.Message }

// Code returns the code of the error.
func (e *Error) Code() Code { return e.Kind }

// New returns an error of a kind. The message says what failed, on what, why, and what to do next.
func New(kind Code, format string, args ...any) error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns an error of the kind [InvalidArgument].
func Invalid(format string, args ...any) error {
	return &Error{Kind: InvalidArgument, Message: fmt.Sprintf(format, args...)}
}

// coded is an error with a code: [Error], or a type that another package defines.
type coded interface {
	error
	Code() Code
}

// Is reports whether the caller can do something about err. It is false for failures of Tidemark.
func Is(err error) bool { return err != nil && CodeOf(err) != Internal }

// CodeOf returns the code of err, or [Internal] if it has none.
func CodeOf(err error) Code {
	var c coded
	if errors.As(err, &c) {
		return c.Code()
	}
	return Internal
}

// EntryOf returns the entry of a code, or the entry of [Internal] for an unknown code.
func EntryOf(code Code) Entry {
	for _, c := range []Code{code, Internal} {
		if i := slices.IndexFunc(Codes, func(e Entry) bool { return e.Code == c }); i >= 0 {
			return Codes[i]
		}
	}
	return Entry{Code: Internal}
}
