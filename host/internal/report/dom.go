package report

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
)

// DOMDiff lists error elements that came or went.
type DOMDiff struct {
	NewErrorElements    []NewElement  `json:"new_error_elements,omitempty"`
	DisappearedElements []GoneElement `json:"disappeared_elements,omitempty"`
	// Flashes are messages that came and went while one field was filled in; they do not count as errors.
	Flashes []NewElement `json:"flashes,omitempty"`
	// PageEmptySince is when the page became empty because its code failed, PageEmptyTab its tab if there are several.
	PageEmptySince *Time `json:"page_empty_since,omitempty"`
	PageEmptyTab   int   `json:"page_empty_tab,omitempty"`
	// EmptiedFields are those of a submitted form that the page emptied after a request failed. They do not count as errors.
	EmptiedFields []EmptiedField `json:"emptied_fields,omitempty"`
	URLChanged    *URLChange     `json:"url_changed,omitempty"`
	Crashed       []Crash        `json:"crashed,omitempty"`
	Omitted       int            `json:"omitted,omitempty"`

	// Shown is what the reader will know the elements by that are listed as new, Over that of those that are listed as gone.
	Shown []alike.Entry `json:"-"`
	Over  []alike.Entry `json:"-"`
}

// EmptiedField is a field that users have to fill in again.
type EmptiedField struct {
	// Element is its role, name and reference.
	Element string `json:"element"`
	Tab     int    `json:"tab,omitempty"`
}

// NewElement is an error element that was not visible before.
type NewElement struct {
	Selector string `json:"selector"`
	Text     string `json:"text"`
	// File and Line, from 1, are what the error overlay of a development server names; both are empty where it names none.
	// Generated is true for a line of what the server made of the file.
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Generated bool   `json:"generated,omitempty"`
	// AppearedAt is left out when that was evicted.
	AppearedAt Time `json:"appeared_at,omitzero"`
	// GoneAt is set when it vanished again.
	GoneAt *Time `json:"gone_at,omitempty"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *Introduced `json:"introduced_by,omitempty"`
	Tab          int         `json:"tab,omitempty"`
	Ref          *Ref        `json:"-"`
}

// Source is the place of an error overlay as file:line with the file's base name, "" where it names none.
func (e *NewElement) Source() string { return PlaceName(Place{File: e.File, Line: e.Line}) }

// GoneElement is an error element that was visible and is no more.
type GoneElement struct {
	Selector string `json:"selector"`
	Text     string `json:"text"`
	Tab      int    `json:"tab,omitempty"`
	Ref      *Ref   `json:"-"`
}

// URLChange is the address of the tab that changed it last.
type URLChange struct {
	From string `json:"from"`
	To   string `json:"to"`
	Tab  int    `json:"tab,omitempty"`
	Ref  *Ref   `json:"-"`
}

// Crash is a tab whose page crashed.
type Crash struct {
	URL string `json:"url"`
	At  Time   `json:"at"`
	Tab int    `json:"tab,omitempty"`
	Ref *Ref   `json:"-"`
}

func (d *DOMDiff) filter(errorsOnly bool) int {
	n := dropAll(&d.DisappearedElements) + dropAll(&d.Flashes)
	d.Over = nil
	if errorsOnly {
		all := len(d.NewErrorElements)
		d.NewErrorElements = slices.DeleteFunc(d.NewErrorElements, func(e NewElement) bool { return !alike.IsOverlay(e.Selector) })
		n += all - len(d.NewErrorElements)
		d.Shown = nil
	}
	return n
}

func (d *DOMDiff) given() (shown []alike.Entry, over []uint64) {
	for _, e := range d.Over {
		over = append(over, e.Of)
	}
	return d.Shown, over
}

func (d *DOMDiff) quotes() bool {
	return len(d.NewErrorElements)+len(d.Flashes)+len(d.DisappearedElements)+len(d.EmptiedFields)+len(d.Crashed) > 0 || d.URLChanged != nil
}

func (d *DOMDiff) omitted() int { return d.Omitted }

// Empty reports whether nothing happened.
func (d *DOMDiff) Empty() bool {
	return len(d.NewErrorElements)+len(d.Flashes)+len(d.DisappearedElements)+len(d.EmptiedFields)+len(d.Crashed) == 0 && d.URLChanged == nil && d.PageEmptySince == nil
}
