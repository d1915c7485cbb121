package protocol

// MethodAria is asked of the extension: the accessibility tree of a tab, or what changed in it since the
// host last asked. Params: [AriaParams]; the answer is [AriaResult].
const MethodAria = "aria"

// AriaParams ask for the tree of every frame of a tab.
type AriaParams struct {
	Tab int `json:"tab"`
	// Known are the frames' documents that the host holds, with the versions that it holds of them.
	Known []AriaKnown `json:"known,omitempty"`
	// TimeoutMs bounds the work of each frame, in milliseconds.
	TimeoutMs int `json:"timeout_ms"`
	// Whole has what changes without a trace looked for everywhere, which takes longer.
	Whole bool `json:"whole,omitempty"`
}

// AriaKnown is a document of which the host holds the tree.
type AriaKnown struct {
	Document string `json:"document"`
	Version  int    `json:"version"`
}

// AriaResult is a tab's frames, the top one first.
type AriaResult struct {
	Frames []AriaFrame `json:"frames"`
	// Unread are the addresses of the frames that could not be read: another extension's, an error page, one
	// that did not answer in time, one that could stand in either of two places.
	Unread []string `json:"unread,omitempty"`
}

// AriaFrame is one frame's document.
type AriaFrame struct {
	// Frame and Parent are the browser's ids of the frame and of the one around it; 0 and -1 for the top.
	Frame  int `json:"frame"`
	Parent int `json:"parent"`
	// Owner is the id of the element that shows the frame now, in the tree of the frame around it; 0 for the
	// top, and when it is not known. It is asked anew at every look.
	Owner int `json:"owner,omitempty"`
	// Document names the document; another one has other node ids.
	Document string `json:"document"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	// Since is the version that Nodes is relative to; 0 for a whole tree.
	Since   int `json:"since"`
	Version int `json:"version"`
	// Root is the id of the tree's root.
	Root int `json:"root"`
	// Nodes are those that are new or changed since, each with all of its properties. Nodes that no list
	// of children names any longer are gone.
	Nodes []AriaNode `json:"nodes"`
	// Left counts the elements that were not read because there were too many or the time was over.
	Left int `json:"left,omitempty"`
	// Masked counts the secrets that were masked in Nodes.
	Masked int `json:"masked,omitempty"`
}

// AriaNode is one node of a document's accessibility tree. Names are short because a page has thousands.
type AriaNode struct {
	// ID belongs to the element for as long as its document lives.
	ID   int    `json:"i"`
	Role string `json:"r"`
	// Name is the accessible name; of a node of role "text" it is the text.
	Name        string `json:"n,omitempty"`
	Description string `json:"d,omitempty"`
	// Value is what a field holds; nil for what holds nothing.
	Value *string `json:"v,omitempty"`
	// States are such as "disabled", "checked=mixed", "level=2", in a fixed order.
	States []string `json:"s,omitempty"`
	// Keys are the attributes by which a page knows its elements (id, name, data-testid, href …).
	Keys string `json:"k,omitempty"`
	// Cut are the full lengths of the name and the value where they were cut, and a number that changes with
	// what was cut off.
	Cut      []int `json:"x,omitempty"`
	Children []int `json:"c,omitempty"`
	// Shape says how elements without a line divide Children: each "(…)" is one of them, and numbers count
	// the children in between, as in "1(2)(2)". "" where nothing is divided.
	Shape string `json:"g,omitempty"`
	// ShapeKeys are the attributes by which the page knows the elements of Shape, in the order in which
	// they begin; absent where it knows none by any.
	ShapeKeys []string `json:"gk,omitempty"`
}
