package protocol

// MethodAgents is asked of the extension whenever who acts where has changed: its pages are to ask for the
// [Overview] again. No params; the answer is {}.
const MethodAgents = "agents"

// MethodStopAgent is asked of the host by the extension's pages: it takes [StopAgentParams] and answers with {}.
const MethodStopAgent = "stop_agent"

// Agent is an agent that has acted since it connected, as a person sees it.
type Agent struct {
	// ID is the host's own number of it, the same for as long as it is connected; [ViewAgent] has it too.
	ID   int    `json:"id"`
	Name string `json:"name"`
	// Tab is the browser's own id of the tab that it acted on last, 0 when that is closed or in another browser;
	// Title is what the tab shows, else its address, "" when it is closed.
	Tab   int    `json:"tab,omitempty"`
	Title string `json:"title,omitempty"`
	// Elsewhere is the name of the browser that the tab is in, when it is another one.
	Elsewhere string `json:"elsewhere,omitempty"`
	// What says in a few words what it does there, or did last.
	What string `json:"what,omitempty"`
	// Acting is true while an action is under way; Since is when its last one began, RFC 3339.
	Acting bool   `json:"acting,omitempty"`
	Since  string `json:"since"`
	// Stopped is true from when a person stopped it until one allows it again.
	Stopped bool `json:"stopped,omitempty"`
}

// StopAgentParams stops an agent at once, or allows it to act again.
type StopAgentParams struct {
	ID      int  `json:"id"`
	Stopped bool `json:"stopped"`
}
