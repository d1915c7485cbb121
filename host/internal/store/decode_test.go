package store

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// TestEntriesAreReadAsReflectionReadsThem compares the reading of fields with the library's own, for entries of random
// content, of an older program that knew fewer fields, and of a newer one that knows more.
func TestEntriesAreReadAsReflectionReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			readsAlike[event.Console](t, capture.ConsoleSection)
		case 1:
			readsAlike[event.Network](t, capture.NetworkSection)
		case 2:
			readsAlike[event.WebSocket](t, capture.WebSocketSection)
		}
	})
}

func readsAlike[T any](t *rapid.T, section capture.Section) {
	var whole T
	fillIn(t, reflect.ValueOf(&whole).Elem())
	data, err := marshal(&whole)
	if err != nil {
		t.Fatal(err)
	}
	writtenAlike(t, &whole, data)
	fields, err := msgpack.NewDecoder(bytes.NewReader(data)).DecodeSlice()
	if err != nil {
		t.Fatal(err)
	}
	written := rapid.IntRange(0, len(fields)+1).Draw(t, "fields")
	fields = append(fields, map[string]any{"newer": 1})[:written]
	cut, err := msgpack.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeEntries(section, cut, 1)
	if err != nil {
		t.Fatal(err)
	}
	var want T
	if err := msgpack.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	forget(reflect.ValueOf(&want).Elem(), &written)
	if !reflect.DeepEqual(got.At(0), any(&want)) {
		t.Fatalf("read\n%+v\nwant\n%+v", got.At(0), want)
	}
}

// writtenAlike compares the writing of fields with the library's own. The order of headers is of chance.
func writtenAlike[T any](t *rapid.T, value *T, data []byte) {
	var b bytes.Buffer
	if err := encodeEntry(newEncoder(&b), any(value).(event.Event)); err != nil {
		t.Fatal(err)
	}
	var got, want T
	if err := errors.Join(msgpack.Unmarshal(b.Bytes(), &got), msgpack.Unmarshal(data, &want)); err != nil {
		t.Fatal(err)
	}
	if b.Len() != len(data) || !reflect.DeepEqual(got, want) {
		t.Fatalf("wrote %d bytes\n%+v\nwant %d bytes\n%+v", b.Len(), got, len(data), want)
	}
}

// forget empties the fields after the first n, which an older program did not know.
func forget(v reflect.Value, n *int) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.Struct:
			forget(f, n)
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
		if v.Type().Field(i).Tag.Get("msgpack") == "-" {
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
	for _, e := range []any{&event.Console{Text: "a", Stack: []string{"b"}}, &event.Network{ResponseHeaders: map[string]string{"a": "b"}}, &event.WebSocket{Text: "a"}} {
		data, err := marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}) // four thousand million fields
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = decodeEntries(capture.ConsoleSection, data, 1)
		_, _ = decodeEntries(capture.NetworkSection, data, 1)
		_, _ = decodeEntries(capture.WebSocketSection, data, 1)
	})
}
