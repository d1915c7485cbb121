package store

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// TestEntriesAreWrittenAndReadFieldByField compares the writing and reading of fields with the library's own of a list of
// them, for entries of random content, of an older program that knew fewer fields, and of a newer one that knows more.
func TestEntriesAreWrittenAndReadFieldByField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		section := rapid.SampledFrom([]capture.Section{
			capture.ConsoleSection, capture.NetworkSection, capture.WebSocketSection, capture.ActionsSection, capture.DOMSection,
		}).Draw(t, "section")
		whole := capture.NewList(section, 1).At(0)
		fillIn(t, reflect.ValueOf(whole).Elem())
		fields := fieldsOf(reflect.ValueOf(whole).Elem())
		written := rapid.IntRange(0, len(fields)+1).Draw(t, "fields")
		want := capture.NewList(section, 1).At(0)
		reflect.ValueOf(want).Elem().Set(reflect.ValueOf(whole).Elem())
		left := written
		forget(reflect.ValueOf(want).Elem(), &left)

		var b bytes.Buffer
		if err := encodeEntry(newEncoder(&b), whole); err != nil {
			t.Fatal(err)
		}
		read(t, section, b.Bytes(), whole)
		list, err := msgpack.NewDecoder(bytes.NewReader(b.Bytes())).DecodeSlice()
		if err != nil || len(list) != len(fields) {
			t.Fatalf("wrote %d fields of %d: %v", len(list), len(fields), err)
		}
		cut, err := marshal(append(fields, map[string]any{"newer": 1})[:written])
		if err != nil {
			t.Fatal(err)
		}
		read(t, section, cut, want)
	})
}

func read(t *rapid.T, section capture.Section, data []byte, want event.Event) {
	t.Helper()
	got, err := decodeEntries(section, data, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.At(0), want) {
		t.Fatalf("read\n%+v\nwant\n%+v", got.At(0), want)
	}
}

// nested reports whether the journal has a field's fields, not the field, in the list of fields.
func nested(f reflect.Value) bool {
	return f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[capture.ElementKey]()
}

// kept reports whether the journal has a field. Entries of tabs have no kind of subject.
func kept(v reflect.Value, i int) bool {
	f := v.Type().Field(i)
	return f.Tag.Get("msgpack") != "-" && f.Type != reflect.TypeFor[event.SubjectKind]()
}

// fieldsOf lists the fields of an entry in the order of the journal.
func fieldsOf(v reflect.Value) (list []any) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case nested(f):
			list = append(list, fieldsOf(f)...)
		case kept(v, i):
			list = append(list, f.Interface())
		}
	}
	return list
}

// forget empties the fields after the first n, which an older program did not know.
func forget(v reflect.Value, n *int) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case nested(f):
			forget(f, n)
		case !kept(v, i):
		case *n <= 0:
			f.SetZero()
		default:
			*n--
		}
	}
}

// fillIn gives every field a random value. One that the journal does not keep stays as it is.
func fillIn(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if !kept(v, i) {
			continue
		}
		switch f.Kind() {
		case reflect.Struct:
			fillIn(t, f)
		case reflect.String:
			f.SetString(rapid.StringN(0, 40, -1).Draw(t, "text"))
		case reflect.Int, reflect.Int64:
			f.SetInt(rapid.Int64().Draw(t, "int"))
		case reflect.Uint8:
			f.SetUint(uint64(rapid.IntRange(0, 4).Draw(t, "level")))
		case reflect.Float64:
			f.SetFloat(rapid.Float64().Draw(t, "float"))
		case reflect.Bool:
			f.SetBool(rapid.Bool().Draw(t, "bool"))
		case reflect.Slice:
			if rapid.Bool().Draw(t, "none") {
				continue
			}
			f.Set(reflect.ValueOf(rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "list")))
		case reflect.Map:
			if rapid.Bool().Draw(t, "none") {
				continue
			}
			f.Set(reflect.ValueOf(rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "map")))
		default:
			t.Fatalf("a field %s of kind %s is not known here", v.Type().Field(i).Name, f.Kind())
		}
	}
}

// FuzzEntriesOfADamagedBlock reads what no encoder has written: an error, or entries, never more.
func FuzzEntriesOfADamagedBlock(f *testing.F) {
	for _, e := range []event.Event{&event.Console{Text: "a", Stack: []string{"b"}}, &event.Network{ResponseHeaders: map[string]string{"a": "b"}}, &event.WebSocket{Text: "a"}, &event.Action{Target: "a"}, &capture.Change{Op: "gone"}} {
		var b bytes.Buffer
		if err := encodeEntry(newEncoder(&b), e); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}) // four thousand million fields
	f.Fuzz(func(_ *testing.T, data []byte) {
		for _, section := range capture.Sections {
			_, _ = decodeEntries(section, data, 1, nil)
		}
	})
}
