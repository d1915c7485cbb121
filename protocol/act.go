package protocol

import "slices"

// MethodAct is asked of the extension: do something on a tab, and answer once what it caused has come to
// rest and is on its way to the host. Params: [ActParams]; the answer is [ActResult].
const MethodAct = "act"

// Operations of an [ActStep].
const (
	StepClick      = "click"
	StepHover      = "hover"
	StepType       = "type"   // Texts into a field, after what is in it unless Clear
	StepFill       = "fill"   // Texts[0] as the field's whole value; "true" and "false" check
	StepSelect     = "select" // Texts are labels or values of options
	StepPress      = "press"  // Key, in the element or where the focus is
	StepDrag       = "drag"   // from the element to To
	StepUpload     = "upload" // Texts are absolute paths
	StepScroll     = "scroll"
	StepNavigate   = "navigate" // Texts[0] is an address, back, forward or reload
	StepDialog     = "dialog"   // answers the dialog that is open: Accept, Texts[0] for a prompt
	StepRest       = "rest"     // nothing, only waits
	StepEvaluate   = "evaluate" // Texts[0] in the page; with an element, that is this and element
	StepScreenshot = "screenshot"
	StepStop       = "stop"   // alone: whatever is being done on the tab, no further step of it is
	StepTab        = "tab"    // Texts[0] is new (with Texts[1], an address), select or close
	StepReady      = "ready"  // nothing, once the element can be acted on
	StepChange     = "change" // nothing, once the document changes or SettleMs are over
)

// ActParams are steps that are done one after the other, each when what the one before caused is at rest.
type ActParams struct {
	Tab   int       `json:"tab"`
	Steps []ActStep `json:"steps"`
	// TimeoutMs bounds the wait for an element to be ready, of each step; SettleMs that for what a step causes.
	TimeoutMs int `json:"timeout_ms"`
	SettleMs  int `json:"settle_ms"`
	// Look has the page looked at once all steps are done and it is at rest; absent: nobody wants to see it.
	Look *AriaParams `json:"look,omitempty"`
	// Before has it looked at before the first step too, where it is not as it was at the last look.
	Before bool `json:"before,omitempty"`
}

// Looks says whether nothing is done to the page: whoever waits or takes a picture does not disturb others, who may
// act on the tab meanwhile.
func (p ActParams) Looks() bool {
	return !slices.ContainsFunc(p.Steps, func(s ActStep) bool {
		return s.Op != StepChange && s.Op != StepReady && s.Op != StepRest && s.Op != StepScreenshot
	})
}

// ActStep is one thing to do.
type ActStep struct {
	Op string `json:"op"`
	// Path leads to the element: the iframes around it from the outside in, then itself. Empty for what has none.
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
	// X and Y are how far to scroll, in CSS pixels.
	X    int  `json:"x,omitempty"`
	Y    int  `json:"y,omitempty"`
	Full bool `json:"full,omitempty"`
}

// ActNode is an element of a frame's document.
type ActNode struct {
	Frame    int    `json:"frame"`
	Document string `json:"document"`
	ID       int    `json:"id"`
	// Role and Name are what the agent was shown: an element that has become another thing is not acted on.
	Role string `json:"role,omitempty"`
	Name string `json:"name,omitempty"`
}

// Why a step was refused.
const (
	RefusedGone     = "gone"     // its document or element is no longer there
	RefusedOther    = "other"    // the element has another name or role now: Text
	RefusedHidden   = "hidden"   // it takes no room, or is invisible
	RefusedDisabled = "disabled" // it is disabled
	RefusedMoving   = "moving"   // it does not stand still
	RefusedCovered  = "covered"  // By, or Text, is in front of it
	RefusedOutside  = "outside"  // it cannot be scrolled into view
	RefusedKind     = "kind"     // it is no element for this: Text says what it would have to be
	RefusedOption   = "option"   // there is no such option: Text says which there are
	RefusedDialog   = "dialog"   // a dialog is open
	RefusedNoDialog = "no_dialog"
	RefusedChooser  = "chooser"  // clicking it opens no file chooser
	RefusedLoad     = "load"     // the page could not be loaded: Text is the browser's error
	RefusedDebugger = "debugger" // this needs the debugger, which is refused: Text says why
	RefusedCode     = "code"     // an agent's code threw or did not end: Text says which; what it did stays done
	RefusedFailed   = "failed"   // Text says why
)

// ActResult is how the steps went.
type ActResult struct {
	// Done is how many steps were done.
	Done int `json:"done"`
	// Refused says why the next one was not.
	Refused string `json:"refused,omitempty"`
	// By is the element that covers the one to act on, the innermost that has a line in the tree.
	By   *ActNode `json:"by,omitempty"`
	Text string   `json:"text,omitempty"`
	// Dialog is open now.
	Dialog *ActDialog `json:"dialog,omitempty"`
	// Untrusted says why the page got events of a script, not of an input device.
	Untrusted string `json:"untrusted,omitempty"`
	// Waiting are requests that the steps caused and that have not ended.
	Waiting []string `json:"waiting,omitempty"`
	// Busy is set when the page did not come to rest in time.
	Busy bool `json:"busy,omitempty"`
	// Image is a PNG or JPEG, in base64, and Mime its type.
	Image string `json:"image,omitempty"`
	Mime  string `json:"mime,omitempty"`
	// Opened are the browser's ids of tabs that were opened, and Downloads the names of files that are being
	// loaded down.
	Opened    []int    `json:"opened,omitempty"`
	Downloads []string `json:"downloads,omitempty"`
	// Objections are the fields that did not take what was done.
	Objections []ActObjection `json:"objections,omitempty"`
	// Late is what was opened and loaded down before the first step, since the action before.
	Late *ActMade `json:"late,omitempty"`
	// Value is what an expression came to, as JSON.
	Value string `json:"value,omitempty"`
	// Page answers Look; absent also when that was not possible. Before is the page as it was before the first step,
	// where it was looked at: then Page is relative to it.
	Page   *AriaResult `json:"page,omitempty"`
	Before *AriaResult `json:"before,omitempty"`
	// Began is when the first step began to have an effect, in milliseconds since the Unix epoch: what happened
	// before, while its element was waited for, it did not cause.
	Began int64 `json:"began,omitempty"`
}

// ActMade is what a page opened and loaded down: see [ActResult].
type ActMade struct {
	Opened    []int    `json:"opened,omitempty"`
	Downloads []string `json:"downloads,omitempty"`
}

// ActObjection is a field that did not take what was done to it.
type ActObjection struct {
	Field ActNode `json:"field"`
	// Invalid is why the browser did not submit the field's form, in its own words; "" where these may tell a secret.
	// Absent: it is about what was typed.
	Invalid *string `json:"invalid,omitempty"`
	// Typed is how many characters were typed, and left the field as it was.
	Typed int `json:"typed,omitempty"`
}

// ActDialog is a dialog of the page.
type ActDialog struct {
	Kind    string `json:"kind" tstype:"'alert' | 'confirm' | 'prompt' | 'beforeunload'"`
	Message string `json:"message"`
	Default string `json:"default,omitempty"`
}
