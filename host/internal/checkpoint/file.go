package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
)

// File is an exported checkpoint: a known-good state, for a user to read and a
// repository to keep. Fields are only ever added.
type File struct {
	// Kind is "tidemark checkpoint", Version 1.
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	Name    string `json:"name"`
	Note    string `json:"note,omitempty"`
	// At is when it was made.
	At time.Time `json:"at"`
	// Origins are the scope that it belongs to, empty for everything.
	Origins []string `json:"origins,omitempty"`
	// Journal is the journal that Positions belong to; in any other they mean nothing.
	Journal   string            `json:"journal,omitempty"`
	Positions capture.Positions `json:"positions"`
	// Endpoints and Errors are what was known and visible, in a fixed order.
	Endpoints []FileEndpoint `json:"endpoints"`
	Errors    []FileElement  `json:"error_elements"`
	// Empty are the pages that were empty because their code failed.
	Empty []FileEmptyPage `json:"empty_pages,omitempty"`
}

// FileEndpoint is an endpoint of a [File].
type FileEndpoint struct {
	// Page is the origin of the page that asks; URL is origin and templated path.
	Page   string `json:"page"`
	Method string `json:"method"`
	URL    string `json:"url"`
	// Operation is the name of the GraphQL operation.
	Operation string `json:"operation,omitempty"`
	Status    int    `json:"status"`
	// Failing and Error are about the newest request.
	Failing bool   `json:"failing,omitempty"`
	Error   string `json:"error,omitempty"`
	// Requests is how many were measured; MeanMs is how long they took.
	Requests int     `json:"requests,omitempty"`
	MeanMs   float64 `json:"mean_ms,omitempty"`
}

// FileEmptyPage is an empty page of a [File].
type FileEmptyPage struct {
	URL string `json:"url"`
	// Since is when it became empty.
	Since time.Time `json:"since"`
}

// FileElement is a visible error element of a [File].
type FileElement struct {
	Origin   string `json:"origin"`
	Selector string `json:"selector"`
	Text     string `json:"text"`
	Count    int    `json:"count"`
}

const (
	fileKind    = "tidemark checkpoint"
	fileVersion = 1
	// MaxFile bounds a file, in bytes.
	MaxFile = 16 << 20
)

// Export is a checkpoint as a file; journal names the journal that its positions belong to.
func Export(c Checkpoint, journal string) *File {
	f := &File{
		Kind: fileKind, Version: fileVersion, Name: c.Name, Note: c.Note, At: c.At.UTC(), Journal: journal, Positions: c.Pos,
		Endpoints: []FileEndpoint{}, Errors: []FileElement{},
	}
	if c.Scope != "" {
		f.Origins = scopeOfKey(c.Scope).Origins
	}
	for k, e := range c.Endpoints.All {
		f.Endpoints = append(f.Endpoints, FileEndpoint{
			Page: k.Page, Method: k.Method, URL: k.Origin + k.Path, Operation: k.Operation, Status: e.Status, Failing: e.Failing, Error: e.Error, Requests: e.Measured, MeanMs: e.MeanMs(),
		})
	}
	slices.SortFunc(f.Endpoints, func(a, b FileEndpoint) int {
		return cmp.Or(cmp.Compare(a.Page, b.Page), cmp.Compare(a.URL, b.URL), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Operation, b.Operation))
	})
	counts := map[FileElement]int{}
	for k, n := range c.DOMState.Elements() {
		counts[FileElement{Origin: k.Origin, Selector: k.Selector, Text: k.Text}] += n
	}
	for e, n := range counts {
		e.Count = n
		f.Errors = append(f.Errors, e)
	}
	slices.SortFunc(f.Errors, func(a, b FileElement) int {
		return cmp.Or(cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Selector, b.Selector), cmp.Compare(a.Text, b.Text))
	})
	for tab, at := range c.DOMState.Empty() {
		f.Empty = append(f.Empty, FileEmptyPage{URL: c.DOMState.URL(tab), Since: time.UnixMilli(at).UTC()})
	}
	slices.SortFunc(f.Empty, func(a, b FileEmptyPage) int {
		return cmp.Or(cmp.Compare(a.URL, b.URL), a.Since.Compare(b.Since))
	})
	return f
}

// ParseFile parses an exported checkpoint. Its error says what is wrong with the file.
func ParseFile(data []byte) (*File, error) {
	bad := func(why string) error {
		return fmt.Errorf("it is not an exported checkpoint: %s; create one with `tidemark export NAME`", why)
	}
	if len(data) > MaxFile {
		return nil, bad(fmt.Sprintf("it has %d bytes", len(data)))
	}
	var f File
	d := json.NewDecoder(bytes.NewReader(data))
	var syntax *json.SyntaxError
	switch err := d.Decode(&f); {
	case errors.Is(err, io.EOF):
		return nil, bad("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, bad("it ends too early")
	case errors.As(err, &syntax):
		return nil, bad("it is not JSON")
	case err != nil:
		return nil, bad(err.Error())
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, bad("it has data after its end")
	}
	switch {
	case f.Kind != fileKind:
		return nil, bad(fmt.Sprintf("its kind is %q, not %q", f.Kind, fileKind))
	case f.Version != fileVersion:
		return nil, fmt.Errorf("it has format version %d, but this program reads version %d; update the older one", f.Version, fileVersion)
	case len(f.Endpoints) > capture.MaxEndpoints:
		return nil, bad(fmt.Sprintf("it has %d endpoints; the limit is %d", len(f.Endpoints), capture.MaxEndpoints))
	}
	if err := CheckName(f.Name); err != nil {
		return nil, err
	}
	if _, err := NewScope(f.Origins); err != nil {
		return nil, err
	}
	for i, e := range f.Endpoints {
		if e.Method == "" || e.URL == "" || e.Status < 0 || e.Status > 999 || e.Requests < 0 || e.MeanMs < 0 {
			return nil, bad(fmt.Sprintf("endpoint %d is invalid: %+v", i+1, e))
		}
	}
	return &f, nil
}

// Moment is the moment to compare with in a view of a journal. In the journal that the file is from, it
// is the moment itself. In any other, it begins where start does, and what was known and visible is the
// file's; when both know one page only, the page's origin counts as the same, so that a development
// server may have another port.
func (f *File) Moment(journal string, start capture.Moment, pages []string, index *capture.Index) capture.Moment {
	m := start
	renamed := f.renamed(pages)
	if f.From(journal) {
		m, renamed = capture.Moment{At: f.At.UTC(), Pos: f.Positions}, func(origin string) string { return origin }
	}
	m.Endpoints = capture.NewTable(index)
	for _, e := range f.Endpoints {
		origin, path := capture.SplitURL(e.URL)
		m.Endpoints.Set(
			capture.EndpointKey{Page: renamed(e.Page), Origin: renamed(origin), Method: e.Method, Path: path, Operation: e.Operation},
			capture.Endpoint{Status: e.Status, Failing: e.Failing, Error: e.Error, Measured: e.Requests, TotalMs: e.MeanMs * float64(e.Requests)},
		)
	}
	elements := map[capture.ElementKey]int{}
	for _, e := range f.Errors {
		// Tab 0 stands for any: the tabs of another time have other ids.
		elements[capture.ElementKey{Origin: renamed(e.Origin), Selector: e.Selector, Text: e.Text}] += max(1, e.Count)
	}
	urls, empty := map[int]string{}, map[int]int64{}
	for i, e := range f.Empty {
		origin := capture.OriginOf(e.URL)
		urls[-1-i], empty[-1-i] = renamed(origin)+strings.TrimPrefix(e.URL, origin), e.Since.UnixMilli()
	}
	m.DOMState = capture.NewDOMState(elements, urls, empty)
	return m
}

// From says whether the file is from a journal, so that its positions mean something there; "" is none.
func (f *File) From(journal string) bool { return f.Journal == journal && journal != "" }

// renamed is how origins of the file are called where pages of these origins are open.
func (f *File) renamed(pages []string) func(string) string {
	own := ""
	for _, e := range f.Endpoints {
		if own != "" && e.Page != own {
			return func(origin string) string { return origin }
		}
		own = e.Page
	}
	return func(origin string) string {
		if origin == own && len(pages) == 1 {
			return pages[0]
		}
		return origin
	}
}
