package capture

// Section names a buffer and the part of a report that reads it.
type Section string

// Sections, in the order in which they are shown.
const (
	ConsoleSection   Section = "console"
	NetworkSection   Section = "network"
	WebSocketSection Section = "websocket"
	DOMSection       Section = "dom"
	ActionsSection   Section = "actions"
)

// Sections are all of them.
var Sections = []Section{ConsoleSection, NetworkSection, WebSocketSection, DOMSection, ActionsSection}
