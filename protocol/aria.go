package protocol

// MethodAria is called on the extension. It reads the accessibility tree of a tab, or the changes since the
// host's last request. Params: [AriaParams], result: [AriaResult].
const MethodAria = "aria"

// AriaParams request the tree of every frame of a tab.
type AriaParams struct {
	Tab int `json:"tab"`
	// Known are the documents, with their versions, that the host has.
	Known []AriaKnown `json:"known,omitempty"`
	// TimeoutMs limits the work of each frame, in milliseconds.
	TimeoutMs int `json:"timeout_ms"`
	// Whole also searches the whole page for changes that no event announces, which takes longer.
	Whole bool `json:"whole,omitempty"`
}

// AriaKnown is a document whose tree the host has.
type AriaKnown struct {
	Document string `json:"document"`
	Version  int    `json:"version"`
}

// AriaResult lists a tab's frames, the top one first.
type AriaResult struct {
	Frames []AriaFrame `json:"frames"`
	// Unread are the addresses of frames that could not be read: frames of other extensions, error pages, frames
	// that did not answer in time, and frames whose place in the page is ambiguous.
	Unread []string `json:"unread,omitempty"`
}

// AriaFrame is one frame's document.
type AriaFrame struct {
	// Frame and Parent are the browser's ids of the frame and its parent; 0 and -1 for the top.
	Frame  int `json:"frame"`
	Parent int `json:"parent"`
	// Owner is the id of the element that contains the frame, in the parent's tree; 0 for the top or if
	// unknown. It is determined for each snapshot.
	Owner int `json:"owner,omitempty"`
	// Document identifies the document. Node ids are valid only within it.
	Document string `json:"document"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	// Since is the version that Nodes is relative to; 0 for a whole tree.
	Since   int `json:"since"`
	Version int `json:"version"`
	// Root is the id of the tree's root.
	Root int `json:"root"`
	// Nodes are the new and changed nodes, each with all of its properties. A node that is in no list of
	// children no longer exists.
	Nodes []AriaNode `json:"nodes"`
	// Left counts the elements that were not read because of the size or time limit.
	Left int `json:"left,omitempty"`
	// Masked counts the masked secrets in Nodes.
	Masked int `json:"masked,omitempty"`
}

// AriaNode is one node of a document's accessibility tree. Names are short because a page has thousands.
type AriaNode struct {
	// ID identifies the element for the lifetime of its document.
	ID   int    `json:"i"`
	Role string `json:"r"`
	// Name is the accessible name, or the text of a node of role "text".
	Name        string `json:"n,omitempty"`
	Description string `json:"d,omitempty"`
	// Value is the value of a field; nil for other nodes.
	Value *string `json:"v,omitempty"`
	// States are in a fixed order, for example "disabled", "checked=mixed", "level=2".
	States []string `json:"s,omitempty"`
	// Keys are the attributes by which a page identifies its elements (id, name, data-testid, href …).
	Keys string `json:"k,omitempty"`
	// Cut has the full lengths of a cut name and value, and a number that changes with the part that was cut
	// off.
	Cut      []int `json:"x,omitempty"`
	Children []int `json:"c,omitempty"`
	// Shape describes how elements without a line of their own group Children. Each "(…)" is one such element,
	// and numbers count the children in between, as in "1(2)(2)". "" means no groups.
	Shape string `json:"g,omitempty"`
	// ShapeKeys are the attributes by which the page identifies the elements of Shape, in the order in which
	// they begin; absent if there are none.
	ShapeKeys []string `json:"gk,omitempty"`
}
