package tool

// A Definition describes a tool to a model. Every session pays for every word; docs/TOOLS.md and the benchmark count
// them.
type Definition struct {
	Name        string
	Title       string
	Description string
	Effect      Effect
	// Arguments are the members of the JSON schema's properties, without the braces around them.
	Arguments string
	// Required are the names of the arguments that a call must have.
	Required []string
}

// Effect is what a tool changes.
type Effect int

// The effects of tools.
const (
	Reads    Effect = iota // changes nothing
	Advances               // changes nothing but the client's own cursor
	Creates                // adds, and replaces an object of the same name
	Adds                   // adds or advances something; destroys nothing
	Destroys               // removes
	Acts                   // does something on a page that may have any effect
)
