package act

import (
	"encoding/base64"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Answer is what an action did and caused. Agents get it as text, which package render writes.
type Answer struct {
	tool.Quotes
	Tab int `json:"tab"`
	// NewTab is set where the action opened the tab.
	NewTab bool `json:"new_tab,omitempty"`
	// Refused says why a step was not carried out; nil: all were.
	Refused *Refusal `json:"refused,omitempty"`
	// Untrusted says why the page got events of a script instead of an input device; "" where it did not.
	Untrusted string `json:"untrusted,omitempty"`
	// Dialog is open now; it was opened by the action.
	Dialog *protocol.ActDialog `json:"dialog,omitempty"`
	// Invalid are the fields because of which the browser did not submit a form, Ignored those that did not take their
	// input.
	Invalid []InvalidField `json:"invalid,omitempty"`
	Ignored []IgnoredField `json:"ignored,omitempty"`
	// Broke are the errors and warnings that the action caused, errors first; Requests are those that succeeded.
	Broke    []diff.Consequence `json:"broke,omitempty"`
	Requests []diff.Consequence `json:"requests,omitempty"`
	// Unfinished are requests that the action caused and that have not ended.
	Unfinished []string `json:"unfinished,omitempty"`
	Made
	// Value is what an expression came to, as JSON.
	Value string `json:"value,omitempty"`
	// Busy is set where the page does not answer, so that the consequences are not known yet.
	Busy bool `json:"busy,omitempty"`
	// Late is what happened after the previous answer and before this action.
	Late *Late `json:"late,omitempty"`
	// Waited is set for an action that waits for a change.
	Waited bool `json:"waited,omitempty"`
	// Page is the page's difference, as text with element references. Unchanged is set where the page was looked at
	// and did not change; Unreadable says why it could not be looked at.
	Page       string `json:"page,omitempty"`
	Unchanged  bool   `json:"unchanged,omitempty"`
	Unreadable string `json:"unreadable,omitempty"`
	// Image is a picture of the page, in base64, and Mime its type.
	Image string `json:"image,omitempty"`
	Mime  string `json:"mime,omitempty"`
}

// Failed is [usererr.ActionRefused] where the action was refused, else "".
func (a *Answer) Failed() usererr.Code {
	if a.Refused != nil {
		return usererr.ActionRefused
	}
	return ""
}

// Picture is the picture of the page, nil for none.
func (a *Answer) Picture() (data []byte, mime string) {
	data, err := base64.StdEncoding.DecodeString(a.Image)
	if err != nil {
		return nil, ""
	}
	return data, a.Mime
}

// Refusal says why a step was not carried out.
type Refusal struct {
	// Reason is one of protocol.Refused….
	Reason string `json:"reason"`
	// Element is what the step was for, as the agent knows it; "" for the page.
	Element string `json:"element,omitempty"`
	// Detail depends on the reason: see protocol.Refused….
	Detail string `json:"detail,omitempty"`
	// CoveredBy is what is in front of the element.
	CoveredBy string `json:"covered_by,omitempty"`
	// Rerendered is set for an element that is missing and may have been replaced by another one.
	Rerendered bool `json:"rerendered,omitempty"`
	// Explained is set where Detail says all that is known of a missing element.
	Explained bool                `json:"explained,omitempty"`
	Dialog    *protocol.ActDialog `json:"dialog,omitempty"`
	Busy      bool                `json:"busy,omitempty"`
	// Done is how many of the Steps were carried out before.
	Done  int `json:"done"`
	Steps int `json:"steps"`
}

// InvalidField is a field whose value the browser does not submit.
type InvalidField struct {
	Element string `json:"element"`
	// Message is the browser's; "" where it would quote a secret.
	Message string `json:"message,omitempty"`
}

// IgnoredField is a field that did not take its input.
type IgnoredField struct {
	Element string `json:"element"`
	// Value is what it contains; nil where that is secret or not known.
	Value *string `json:"value,omitempty"`
	// Typed is how many characters were typed, 0 where it was to be emptied.
	Typed int `json:"typed"`
}

// Made is what a page opened and downloaded.
type Made struct {
	Opened    []OpenedTab `json:"opened,omitempty"`
	Downloads []string    `json:"downloads,omitempty"`
}

// OpenedTab is a tab that a page opened. ID is 0 where the tab is not known yet, and URL "" where its address is not.
type OpenedTab struct {
	ID  int    `json:"id,omitempty"`
	URL string `json:"url,omitempty"`
}

// Late is what happened between the previous answer and an action.
type Late struct {
	// First is set where there was no previous answer.
	First bool               `json:"first,omitempty"`
	Broke []diff.Consequence `json:"broke,omitempty"`
	Made
	// Page is the page's difference up to the action. Merged is set where that was too large to show apart: then it
	// is a part of the answer's Page.
	Page   string `json:"page,omitempty"`
	Merged bool   `json:"merged,omitempty"`
}

// empty says that there is nothing to report.
func (l *Late) empty() bool {
	return len(l.Broke) == 0 && len(l.Opened) == 0 && len(l.Downloads) == 0 && l.Page == "" && !l.Merged
}
