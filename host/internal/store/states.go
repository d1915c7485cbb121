package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// The types below are those of the disk: fields are only ever added, at the end.

// endpointRow is an endpoint of a table. Key is its number in a list of keys.
type endpointRow struct {
	Key      int
	Status   int
	Failing  bool
	Error    string
	Measured int
	TotalMs  float64
}

// gapFile is a [capture.GapState].
type gapFile struct {
	List []gapRow
	Last uint64
}

type gapRow struct {
	Number             int
	Place              string
	From, To           time.Time
	Reason             string
	Dropped            int
	Pos                uint64
	Instance, Recorder string
	Kind               event.SubjectKind
}

func gapsOf(st *capture.GapState) gapFile {
	f := gapFile{Last: st.Last}
	for _, g := range st.List {
		f.List = append(f.List, gapRow{g.Number, g.Place, g.From, g.To, g.Reason, g.Dropped, g.Pos, g.Source.Instance, g.Source.Recorder, g.Kind})
	}
	return f
}

func (f *gapFile) state() *capture.GapState {
	st := &capture.GapState{Last: f.Last}
	for _, r := range f.List {
		g := capture.Gap{
			Source: capture.Source{Recorder: r.Recorder, Instance: r.Instance}, Subject: event.Subject{Kind: r.Kind, Number: r.Number, Place: r.Place},
			From: r.From.UTC(), Reason: r.Reason, Dropped: r.Dropped, Pos: r.Pos,
		}
		if r.Instance != "" && r.Recorder == "" { // format 2
			g.Source.Recorder = capture.Browsers
		}
		if !r.To.IsZero() {
			g.To = r.To.UTC()
		}
		st.List = append(st.List, g)
	}
	return st
}

// stateFile is a [capture.State].
type stateFile struct{ *capture.State }

// DecodeMsgpack implements [msgpack.CustomDecoder].
func (f *stateFile) DecodeMsgpack(d *msgpack.Decoder) error {
	st := f.State
	return decodeFields(d, &st.Started, &st.Saved, &st.LastTab, &st.Masked, &st.Next, &st.Browsers, &st.Tabs, &st.Gaps, &st.Live, &st.URLs, &st.Mistimed, &st.Since)
}

// tallyFile is what the file held after the last commit. A name that a damaged file has changed is found no more, and this says
// that it was there.
type tallyFile struct {
	// Keys are those of the meta bucket.
	Keys    []string
	Entries map[capture.Section]uint64
}

// DecodeMsgpack implements [msgpack.CustomDecoder].
func (f *tallyFile) DecodeMsgpack(d *msgpack.Decoder) error {
	return decodeFields(d, &f.Keys, &f.Entries)
}

// pageState is a [capture.DOMState].
type pageState struct {
	Elements []elementCount
	URLs     map[int]string
	Empty    map[int]int64
}

// DecodeMsgpack implements [msgpack.CustomDecoder].
func (st *pageState) DecodeMsgpack(d *msgpack.Decoder) error {
	return decodeFields(d, &st.Elements, &st.URLs, &st.Empty)
}

// decodeFields reads a struct that is encoded as an array. Older programs wrote fewer fields, newer ones may write more.
func decodeFields(d *msgpack.Decoder, fields ...any) error {
	n, err := d.DecodeArrayLen()
	for i := range max(n, 0) {
		switch {
		case err != nil:
			return err
		case i < len(fields):
			err = d.Decode(fields[i])
		default:
			err = d.Skip()
		}
	}
	return err
}

type elementCount struct {
	Element capture.ElementKey
	Count   int
}

// endpointKeys are encoded as arrays. Those of older programs have fewer fields.
type endpointKeys []capture.EndpointKey

// DecodeMsgpack implements [msgpack.CustomDecoder].
func (k *endpointKeys) DecodeMsgpack(d *msgpack.Decoder) error {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return err
	}
	*k = make(endpointKeys, 0, min(max(n, 0), maxKeysAhead))
	for range n {
		fields, err := d.DecodeArrayLen()
		if err != nil {
			return err
		}
		var key capture.EndpointKey
		into := []*string{&key.Page, &key.Origin, &key.Method, &key.Path, &key.Operation}
		for i := range fields {
			if i >= len(into) {
				err = d.Skip()
			} else {
				*into[i], err = d.DecodeString()
			}
			if err != nil {
				return err
			}
		}
		*k = append(*k, key)
	}
	return nil
}

// maxKeysAhead bounds what is allocated for a number of keys that a damaged file may give.
const maxKeysAhead = 1 << 12

// keyList numbers what several tables have in common.
type keyList struct {
	Keys endpointKeys
	ids  map[capture.EndpointKey]int
}

func (l *keyList) rows(t *capture.Table) []endpointRow {
	if l.ids == nil {
		l.ids = map[capture.EndpointKey]int{}
	}
	rows := make([]endpointRow, 0, t.Len())
	for k, e := range t.All {
		id, known := l.ids[k]
		if !known {
			id = len(l.Keys)
			l.ids[k] = id
			l.Keys = append(l.Keys, k)
		}
		rows = append(rows, endpointRow{id, e.Status, e.Failing, e.Error, e.Measured, e.TotalMs})
	}
	return rows
}

func (l *keyList) table(rows []endpointRow, index *capture.Index) *capture.Table {
	t := capture.NewTable(index)
	for _, r := range rows {
		if r.Key >= 0 && r.Key < len(l.Keys) {
			t.Set(l.Keys[r.Key], capture.Endpoint{Status: r.Status, Failing: r.Failing, Error: r.Error, Measured: r.Measured, TotalMs: r.TotalMs})
		}
	}
	return t
}

func pageOf(p *capture.DOMState) pageState {
	st := pageState{URLs: p.URLs(), Empty: p.Empty()}
	for k, n := range p.Elements() {
		st.Elements = append(st.Elements, elementCount{k, n})
	}
	slices.SortFunc(st.Elements, func(a, b elementCount) int {
		return cmp.Or(cmp.Compare(a.Element.Tab, b.Element.Tab), cmp.Compare(a.Element.Selector, b.Element.Selector), cmp.Compare(a.Element.Text, b.Element.Text))
	})
	return st
}

func (st pageState) page() *capture.DOMState {
	elements := map[capture.ElementKey]int{}
	for _, e := range st.Elements {
		elements[e.Element] += e.Count
	}
	return capture.NewDOMState(elements, st.URLs, st.Empty)
}

// tableFrame is a table as a block begins with it.
type tableFrame struct {
	Keys endpointKeys
	Rows []endpointRow
}

func encodeTable(t *capture.Table) ([]byte, error) {
	var keys keyList
	rows := keys.rows(t)
	return marshal(tableFrame{keys.Keys, rows})
}

func decodeTable(data []byte, index *capture.Index) (*capture.Table, error) {
	var f tableFrame
	if err := unmarshal(data, &f); err != nil {
		return nil, err
	}
	return (&keyList{Keys: f.Keys}).table(f.Rows, index), nil
}

func decodePage(data []byte) (*capture.DOMState, error) {
	var st pageState
	if err := unmarshal(data, &st); err != nil {
		return nil, err
	}
	return st.page(), nil
}
