package protocol

import "slices"

// MethodAct is called on the extension. It acts on a tab and returns once the page has settled and the resulting
// events are on their way to the host. Params: [ActParams], result: [ActResult].
const MethodAct = "act"

// Operations of an [ActStep].
const (
	StepClick      = "click"
	StepHover      = "hover"
	StepType       = "type"   // types Texts into a field, after its content unless Clear
	StepFill       = "fill"   // sets the field's value to Texts[0]; "true" and "false" check and uncheck
	StepSelect     = "select" // Texts are labels or values of options
	StepPress      = "press"  // presses Key, in the element or in the focused one
	StepDrag       = "drag"   // from the element to To
	StepUpload     = "upload" // Texts are absolute paths
	StepScroll     = "scroll"
	StepNavigate   = "navigate" // Texts[0] is an address, back, forward or reload
	StepDialog     = "dialog"   // answers the open dialog: Accept, Texts[0] for a prompt
	StepRest       = "rest"     // only waits; with RestAll in Texts[0], also for requests that began before
	StepEvaluate   = "evaluate" // evaluates Texts[0] in the page; an element is passed as this and element
	StepScreenshot = "screenshot"
	StepStop       = "stop"   // must be the only step: cancels the remaining steps of the action running in the tab
	StepTab        = "tab"    // Texts[0] is new (with an address in Texts[1]), select or close
	StepReady      = "ready"  // waits until the element is ready for an action
	StepChange     = "change" // waits until the document changes, at most SettleMs
	StepSeek       = "seek"   // refuses as hidden if the page has the text Texts[0] in a hidden element
)

// RestAll is the text of a [StepRest] that also waits for requests that began before it, and is refused for a page that
// could not be loaded.
const RestAll = "all"

// ActParams are steps to carry out in order. Each step starts once the effects of the one before have settled.
type ActParams struct {
	Tab   int       `json:"tab"`
	Steps []ActStep `json:"steps"`
	// TimeoutMs limits the wait of each step for its element. SettleMs limits the wait for the effects of a step.
	TimeoutMs int `json:"timeout_ms"`
	SettleMs  int `json:"settle_ms"`
	// Look requests a snapshot of the page after all steps, once it has settled.
	Look *AriaParams `json:"look,omitempty"`
	// Before requests a snapshot before the first step too, if the page has changed since the last one.
	Before bool `json:"before,omitempty"`
}

// Looks reports whether the steps only wait or take screenshots. Such steps do not disturb other clients, which may
// act on the tab meanwhile.
func (p ActParams) Looks() bool {
	return !slices.ContainsFunc(p.Steps, func(s ActStep) bool {
		return s.Op != StepChange && s.Op != StepReady && s.Op != StepRest && s.Op != StepScreenshot && s.Op != StepSeek
	})
}

// ActStep is one step of an action.
type ActStep struct {
	Op string `json:"op"`
	// Path leads to the element: the iframes around it from the outside in, then the element. Empty if the step has none, and for keys and text
	// where the focus is.
	Path []ActNode `json:"path,omitempty"`
	To   []ActNode `json:"to,omitempty"`
	// Button is left (also ""), right or middle.
	Button    string   `json:"button,omitempty"`
	Double    bool     `json:"double,omitempty"`
	Modifiers []string `json:"modifiers,omitempty"`
	Texts     []string `json:"texts,omitempty"`
	Clear     bool     `json:"clear,omitempty"`
	// Submit presses Enter after each text.
	Submit bool   `json:"submit,omitempty"`
	Key    string `json:"key,omitempty"`
	Accept bool   `json:"accept,omitempty"`
	// X and Y are the scroll distances in CSS pixels.
	X    int  `json:"x,omitempty"`
	Y    int  `json:"y,omitempty"`
	Full bool `json:"full,omitempty"`
}

// ActNode is an element of a frame's document.
type ActNode struct {
	Frame    int    `json:"frame"`
	Document string `json:"document"`
	ID       int    `json:"id"`
	// Role and Name are those shown to the agent. An element that no longer matches them is refused.
	Role string `json:"role,omitempty"`
	Name string `json:"name,omitempty"`
}

// Why a step was refused.
const (
	RefusedGone     = "gone"     // its document or element no longer exists
	RefusedOther    = "other"    // the element has another name or role now, in Text
	RefusedHidden   = "hidden"   // it has no size or is invisible
	RefusedDisabled = "disabled" // it is disabled
	RefusedMoving   = "moving"   // it keeps moving
	RefusedCovered  = "covered"  // By, or Text, is in front of it
	RefusedOutside  = "outside"  // it cannot be scrolled into view
	RefusedPointer  = "pointer"  // its style lets no pointer hit it
	RefusedKind     = "kind"     // the wrong kind of element; Text is the required kind
	RefusedOption   = "option"   // no such option; Text lists the options
	RefusedDialog   = "dialog"   // a dialog is open
	RefusedNoDialog = "no_dialog"
	RefusedChooser  = "chooser"  // clicking it opens no file chooser
	RefusedLoad     = "load"     // the page could not be loaded; Text is the browser's error
	RefusedDebugger = "debugger" // the step needs the debugger, which is not available; Text is the reason
	RefusedCode     = "code"     // an agent's code threw or timed out, see Text; its effects remain
	RefusedFailed   = "failed"   // Text is the reason
)

// ActResult is the result of the steps.
type ActResult struct {
	// Done is the number of completed steps.
	Done int `json:"done"`
	// Refused is why the next step was refused.
	Refused string `json:"refused,omitempty"`
	// By is the covering element: the innermost one that has a line in the tree.
	By   *ActNode `json:"by,omitempty"`
	Text string   `json:"text,omitempty"`
	// Blame is what covers or hides the element.
	Blame *ActBlame `json:"blame,omitempty"`
	// Dialog is the open dialog.
	Dialog *ActDialog `json:"dialog,omitempty"`
	// Untrusted is why the page received synthetic events instead of trusted input.
	Untrusted string `json:"untrusted,omitempty"`
	// Waiting lists unfinished requests that the steps caused.
	Waiting []string `json:"waiting,omitempty"`
	// Busy is set when the page did not settle in time.
	Busy bool `json:"busy,omitempty"`
	// Image is a PNG or JPEG in base64; Mime is its type.
	Image string `json:"image,omitempty"`
	Mime  string `json:"mime,omitempty"`
	// Opened are the browser's ids of newly opened tabs. Downloads are the names of files that started to
	// download.
	Opened    []int    `json:"opened,omitempty"`
	Downloads []string `json:"downloads,omitempty"`
	// Objections are the fields that rejected or ignored input, or kept former text.
	Objections []ActObjection `json:"objections,omitempty"`
	// Unclicked is a click whose release missed the pressed element.
	Unclicked *ActUnclicked `json:"unclicked,omitempty"`
	// Late holds tabs and downloads opened between the previous action and the first step.
	Late *ActMade `json:"late,omitempty"`
	// Value is the value of an expression as JSON.
	Value string `json:"value,omitempty"`
	// Page is the snapshot requested by Look; absent if it failed. Before is the snapshot from before the first
	// step, if taken; Page is then relative to it.
	Page   *AriaResult `json:"page,omitempty"`
	Before *AriaResult `json:"before,omitempty"`
	// Began is when the first step started to have an effect, in milliseconds since the Unix epoch. Earlier events,
	// during the wait for its element, are not its effects.
	Began int64 `json:"began,omitempty"`
}

// ActBlame is the element that covers or hides another, and where its code is as far as the page's development build
// records it. All of it is the page's.
type ActBlame struct {
	// Element is the element if it is neither the target nor By, such as "div.controls".
	Element string `json:"element,omitempty"`
	// Style is the declaration that does it, such as "visibility: hidden"; "" if it is not one declaration.
	Style string `json:"style,omitempty"`
	// File and Line are the element's markup, as its framework recorded it. Line is 0 if only the file is known.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// CompiledLine and CompiledColumn are the place in the code that File was compiled to. They count from 1.
	CompiledLine   int `json:"compiled_line,omitempty"`
	CompiledColumn int `json:"compiled_column,omitempty"`
	// Unsure is true if Line may be one of the code that a plugin made of File before its markup was compiled.
	Unsure bool `json:"unsure,omitempty"`
	// Stack is the code that created the element, innermost first: "function (url:line:column)".
	Stack []string `json:"stack,omitempty"`
	// Outer is true if File or Stack are those of an element around it, because it has none.
	Outer bool `json:"outer,omitempty"`
	// Rule is the selector of the rule with Style, Sheet the file or address of its style sheet, and SheetLine the line of
	// the declaration, 0 if it is not known. With SheetBlock it is the line in the component's style block of that number,
	// from 1. With SheetColumn they are a place in what Sheet was compiled to, from 1.
	Rule       string `json:"rule,omitempty"`
	Sheet      string `json:"sheet,omitempty"`
	SheetLine  int    `json:"sheet_line,omitempty"`
	SheetBlock int    `json:"sheet_block,omitempty"`
	// SheetColumn is 0 if the sheet is as written.
	SheetColumn int `json:"sheet_column,omitempty"`
}

// ActMade lists tabs that a page opened and files that it downloaded; see [ActResult].
type ActMade struct {
	Opened    []int    `json:"opened,omitempty"`
	Downloads []string `json:"downloads,omitempty"`
}

// ActObjection is a field that rejected or ignored input, kept former text, or lost text to another element.
type ActObjection struct {
	Field ActNode `json:"field"`
	// Invalid is the browser's message on why it did not submit the form; "" if the message may contain a secret.
	// It is absent when the field ignored typed text.
	Invalid *string `json:"invalid,omitempty"`
	// Typed is the number of typed characters. They did not change the field if Kept is 0.
	Typed int `json:"typed,omitempty"`
	// Kept is how many characters of its former text an editor still has that was to be cleared. Former is how many it had.
	// Neither counts white space.
	Kept   int `json:"kept,omitempty"`
	Former int `json:"former,omitempty"`
	// Strayed is another element that got some of the typed text, because the page moved the focus there.
	Strayed *ActNode `json:"strayed,omitempty"`
}

// ActUnclicked is a click that the browser did not fire: when a field lost the focus, the page moved, removed or replaced what
// was pressed, so that the release hit something else.
type ActUnclicked struct {
	// Pressed and Released describe what the press and the release hit, Field what lost the focus between them.
	Pressed  string `json:"pressed"`
	Released string `json:"released"`
	Field    string `json:"field"`
	// Removed is set when what was pressed is no longer in the page.
	Removed bool `json:"removed,omitempty"`
}

// ActDialog is a dialog of the page.
type ActDialog struct {
	Kind    string `json:"kind" tstype:"'alert' | 'confirm' | 'prompt' | 'beforeunload'"`
	Message string `json:"message"`
	Default string `json:"default,omitempty"`
}
