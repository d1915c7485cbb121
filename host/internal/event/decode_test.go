package event

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/protocol"
	"tidemark.dev/tidemark/protocol/table"
)

var decoder = NewDecoder(redact.Default())

// decodeAll decodes a message and every event in it, and returns the first error.
func decodeAll(data []byte) ([]Event, *protocol.Error) {
	msg, err := DecodeMessage(data)
	if err != nil {
		return nil, err
	}
	var events []Event
	if b, ok := msg.(*Batch); ok {
		for _, raw := range b.Events {
			ev, err := decoder.Decode(raw)
			if err != nil {
				return nil, err
			}
			events = append(events, ev)
		}
	}
	return events, nil
}

func golden(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../../../protocol/testdata/" + dir + "/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden messages in %s (%v)", dir, err)
	}
	files := map[string][]byte{}
	for _, p := range paths {
		if files[filepath.Base(p)], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestGoldenMessagesAreAccepted(t *testing.T) {
	for name, data := range golden(t, "accept") {
		if _, err := decodeAll(data); err != nil {
			t.Errorf("%s: %s: %s", name, err.Code, err.Message)
		}
	}
}

// TestGoldenMessagesAreRefused: a file's name begins with the code of its error.
func TestGoldenMessagesAreRefused(t *testing.T) {
	for name, data := range golden(t, "reject") {
		code, _, _ := strings.Cut(name, "-")
		_, err := decodeAll(data)
		if err == nil || err.Code != code {
			t.Errorf("%s: got %+v, want code %s", name, err, code)
		}
	}
}

// TestTheTablesCases: the extension's protocol-check.test.ts reads the same cases.
func TestTheTablesCases(t *testing.T) {
	data, err := os.ReadFile("../../../protocol/testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []table.Case
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		checkCase(t, c)
	}
}

func checkCase(t *testing.T, c table.Case) {
	t.Helper()
	got := ""
	if _, err := decodeAll(c.Message); err != nil {
		got = err.Code
	}
	if got != c.Code {
		t.Errorf("%s: code %q, want %q\n%s", c.Name, got, c.Code, c.Message)
	}
}

// FuzzRules makes messages from the table, which the decoder accepts or refuses as the table says.
func FuzzRules(f *testing.F) {
	messages, err := table.Load("../../../protocol")
	if err != nil {
		f.Fatal(err)
	}
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		checkCase(t, messages.Random(rand.New(rand.NewPCG(seed, 0))))
	})
}

func decodeOne(t *testing.T, raw string) Event {
	t.Helper()
	ev, err := decoder.Decode(gjson.Parse(raw))
	if err != nil {
		t.Fatalf("%s: %s", raw, err.Message)
	}
	return ev
}

func TestTheHostMasksWhatTheExtensionDidNot(t *testing.T) {
	n := decodeOne(t, `{"kind":"network","at":1,"tab":1,"masked":2,"id":"r","method":"POST","url":"http://localhost/a?token=abc","resource":"fetch","status":200,"started":1,"duration":2.5,
		"request_headers":{"Authorization":"Bearer abcdefghijklmnop","Accept":"*/*"},"request_body":"{\"password\":\"x\"}"}`).(*Network)
	if n.Masked != 5 {
		t.Errorf("masked %d, want the 2 that the extension counted and 3 of the host", n.Masked)
	}
	if n.URL != "http://localhost/a?token=[masked]" || n.RequestHeaders["Authorization"] != "[masked]" || n.RequestHeaders["Accept"] != "*/*" || n.RequestBody != `{"password":"[masked]"}` {
		t.Errorf("not masked: %+v", n)
	}
}

func TestASecretThatTheLimitWouldCutInHalfIsMasked(t *testing.T) {
	text := strings.Repeat("a", protocol.MaxText-10) + " AKIAIOSFODNN7EXAMPLE"
	c := decodeOne(t, `{"kind":"console","at":1,"tab":1,"level":"log","via":"console","text":"`+text+`"}`).(*Console)
	if strings.Contains(c.Text, "AKIA") || c.Masked != 1 || c.Length != len(text) {
		t.Errorf("ends in %q, masked %d, length %d", c.Text[len(c.Text)-20:], c.Masked, c.Length)
	}
}

func TestTheLengthOfACutTextIsInUTF16Units(t *testing.T) {
	text := strings.Repeat("日", protocol.MaxText) + "🙂"
	if c := decodeOne(t, `{"kind":"console","at":1,"tab":1,"level":"log","via":"console","text":"`+text+`"}`).(*Console); c.Length != protocol.MaxText+2 {
		t.Errorf("length %d of %d units", c.Length, protocol.MaxText+2)
	}
	long := strings.Repeat("x", protocol.MaxShort+1)
	if c := decodeOne(t, `{"kind":"console","at":1,"tab":1,"level":"log","via":"console","text":"a","stack":["`+long+`"]}`).(*Console); c.Length != 0 {
		t.Errorf("length %d of a text that was not cut", c.Length)
	}
}

func TestFramesThatSayError(t *testing.T) {
	for text, want := range map[string]bool{
		`{"error":"no"}`: true, `{"error":true}`: true, `{"error":{"code":1}}`: true, `{"error":1}`: true, `{"type":"error"}`: true,
		`{"error":""}`: false, `{"error":null}`: false, `{"error":false}`: false, `{"error":0}`: false, `{"type":"errors"}`: false,
		`["error"]`: false, `error`: false, `{"a":"error"}`: false,
	} {
		if saysError(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// TestCleanTakesOutWhatMisleads has its cases in common with the extension, which cleans what it compares with secrets.
func TestCleanTakesOutWhatMisleads(t *testing.T) {
	var cases [][2]string
	data, err := os.ReadFile("../../../protocol/testdata/clean.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(cases, [2]string{"bad\xffutf", "bad\ufffdutf"}) {
		if got := Clean(c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

// TestCleanTakesOutWhatShowsNothing: all that Unicode has text without glyphs be for, and all controls.
func TestCleanTakesOutWhatShowsNothing(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		ignorable := unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf) &&
			!unicode.In(r, unicode.Prepended_Concatenation_Mark) && (r < 0xfff9 || r > 0xfffb) && (r < 0x13430 || r > 0x1345f)
		want := ignorable || unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' || r >= 0xe0000 && r <= 0xe0fff
		if utf8.ValidRune(r) && redact.Hidden(r) != want {
			t.Errorf("%U: %v", r, !want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, dir := range []string{"accept", "reject"} {
		for _, data := range golden(f, dir) {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := decodeAll(data)
		if err != nil && (err.Code == "" || err.Message == "") {
			t.Errorf("an error without code or message: %+v", err)
		}
		for _, ev := range events {
			if h := ev.Header(); h.At <= 0 || h.Tab() < 0 {
				t.Errorf("head out of range: %+v", h)
			}
			if c, ok := ev.(*Console); ok && (!utf8.ValidString(c.Text) || strings.ContainsAny(c.Text, "\x00\x1b\u202e")) {
				t.Errorf("unclean text %q", c.Text)
			}
		}
	})
}
