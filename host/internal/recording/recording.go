// Package recording keeps what a terminal showed: one file a recording, in compressed blocks that are only appended.
//
// Guarantees:
//   - What [Writer.Commit] acknowledged survives the end of the process, however it ends. Reading cuts a torn end.
//   - An event has the byte offset of the output before it, so that a place in a recording is exact.
//   - A file of a later format, or one whose beginning is damaged, is an error that names it. Damage behind it is a [Gap]:
//     what follows is read. Nothing that a file contains is run, and its sizes are checked before memory is reserved for them.
//
// The package knows nothing of pseudo-terminals and of secrets: its caller passes in what may be kept.
package recording

import (
	"encoding/json"
	"fmt"
	"time"
)

// Code is the kind of an event.
type Code byte

// The codes.
const (
	Output  Code = 'o' // bytes that the terminal received
	Input   Code = 'i' // bytes that the user typed
	Resize  Code = 'r' // "COLSxROWS"
	Marker  Code = 'm' // a label, such as the ID of a moment
	Ended   Code = 'c' // a [Command] that ended, as JSON
	Dropped Code = 'g' // a [Gap], as JSON
	Screen  Code = 'a' // "1" where the alternate screen begins, "0" where it ends
	Exit    Code = 'x' // the exit status of the recorded program, in decimals
)

// Event is something that happened in a terminal.
type Event struct {
	// At is the time since the recording began, in whole microseconds.
	At time.Duration
	// Offset counts the recorded bytes of output before the event.
	Offset uint64
	Code   Code
	Data   []byte
}

// Command is a command of a shell that ended.
type Command struct {
	// Text is the command line, "" where the shell did not tell it.
	Text string `json:"text"`
	// Dir is the directory in which it began.
	Dir string `json:"cwd"`
	// Status is its exit status, nil where the shell did not report one.
	Status *int `json:"exit,omitempty"`
	// Ms is how long it took, in milliseconds, and Offset the output before it.
	Ms     int64  `json:"ms"`
	Offset uint64 `json:"offset"`
	// Alternate means that it showed the alternate screen.
	Alternate bool `json:"altScreen,omitempty"`
	// Unverified means that the output had the marks of another integration, which any program can print.
	Unverified bool `json:"unverified,omitempty"`
}

// String is the command with its exit status, unless that is 0.
func (c Command) String() string {
	text := c.Text
	switch {
	case text == "" && c.Status == nil:
		return "the last command of the shell"
	case text == "":
		text = "a command that is not in the shell's history"
	}
	switch {
	case c.Status == nil:
		text += " (no exit status)"
	case *c.Status != 0:
		text += fmt.Sprintf(" (exit %d)", *c.Status)
	}
	if c.Unverified {
		text += " (by marks in the output)"
	}
	return text
}

// Gap is output that was not recorded.
type Gap struct {
	Bytes uint64 `json:"bytes"`
	// Why is a reason in a few words.
	Why string `json:"why"`
}

// String describes the gap.
func (g Gap) String() string { return fmt.Sprintf("%d bytes not recorded: %s", g.Bytes, g.Why) }

// Header describes a recording. It is written once, when that begins.
type Header struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Command is the program with its arguments, masked. Shell is the kind of shell, "" for another program.
	Command string `json:"command"`
	Shell   string `json:"shell,omitempty"`
	// Dir is the directory in which it began.
	Dir     string    `json:"cwd"`
	Started time.Time `json:"startedAt"`
	Cols    int       `json:"cols"`
	Rows    int       `json:"rows"`
	Term    string    `json:"term,omitempty"`
	// HasInput means that input was recorded too.
	HasInput bool `json:"hasInput,omitempty"`
	// Proof is [ProofOf] the key that programs in the terminal have, "" where they have none.
	Proof string `json:"proof,omitempty"`
	// Clock is [Clock] at the beginning, 0 where that is not known.
	Clock time.Duration `json:"clock,omitempty"`
}

// Summary is what is known of a recording without reading its events.
type Summary struct {
	Header
	// Duration and Output are as of the last commit.
	Duration time.Duration
	Output   uint64
	// Finished means that the recorder ended the recording. Status is the exit status then.
	Finished bool
	Status   int
	// Size is that of the file in bytes. Torn counts the bytes at its end that are not a whole block.
	Size, Torn int64
}

// Frames of a file. Each has a head of [headSize] bytes and a body.
const (
	frameHeader   = 'H' // a [Header], as JSON
	frameSegment  = 'S' // begins a compressed stream
	frameContinue = 'C' // continues it
	frameEnd      = 'E' // an [end], as JSON
	frameLost     = 0   // stands for damaged ones, in memory
)

// end is the last frame of a recording.
type end struct {
	Status int `json:"exit"`
}

const (
	magic = "tidemark terminal 1\n"
	// headSize is the size of a frame's head: kind, length of the body, checksum of kind to body, time in microseconds,
	// output before the frame, output in the frame.
	headSize = 1 + 4 + 4 + 8 + 8 + 4
	// segmentBytes is how much output a compressed stream has at most, about. A reader that seeks decompresses one.
	segmentBytes = 256 << 10
	// maxBody bounds the body of a frame, and maxEvent the data of an event.
	maxBody  = 16 << 20
	maxEvent = 4 << 20
)

// Encode returns the JSON of the data of an event.
func Encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of this package have no other values
	}
	return data
}
