package protocol

// MethodAgents is called on the extension when the list of acting agents changes. Its pages then request the
// [Overview] again. It has no params and returns {}.
const MethodAgents = "agents"

// Agent is an agent that has acted since it connected, as shown to the user.
type Agent struct {
	// ID is the host's number for the agent, the same while it is connected and the same as in [ViewAgent].
	ID   int    `json:"id"`
	Name string `json:"name"`
	// Tab is the browser's id of the tab that it acted on last; 0 if that is closed or in another browser.
	// Title is the tab's title, else its address; "" if it is closed.
	Tab   int    `json:"tab,omitempty"`
	Title string `json:"title,omitempty"`
	// Elsewhere is the name of the tab's browser, if it is another one.
	Elsewhere string `json:"elsewhere,omitempty"`
	// What describes its current or last action in a few words.
	What string `json:"what,omitempty"`
	// Acting is true during an action. Since is the start of the last action, RFC 3339.
	Acting bool   `json:"acting,omitempty"`
	Since  string `json:"since"`
	// Stopped is true after the user stopped the agent, until the user allows it again.
	Stopped bool `json:"stopped,omitempty"`
}

// StopAgentParams stops an agent at once, or allows it to act again.
type StopAgentParams struct {
	ID      int  `json:"id" path:"agent"`
	Stopped bool `json:"stopped"`
}
