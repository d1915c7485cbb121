package screen

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"
)

// shown is what xterm.js shows.
type shown struct {
	Lines     []string
	X, Y      int
	Alternate bool
}

type forXterm struct {
	Cols  int      `json:"cols"`
	Rows  int      `json:"rows"`
	Parts []string `json:"parts"`
}

// xterm feeds streams to xterm.js.
func xterm(t *testing.T, streams []forXterm) []shown {
	t.Helper()
	root, err := filepath.Abs("../../../../package.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(root), "node_modules", "@xterm", "headless")); err != nil {
		t.Skip("@xterm/headless is not installed: run npm ci")
	}
	input, err := json.Marshal(streams)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/xterm.cjs", root)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []shown
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// notXterm are pieces of streams that xterm.js understands in another way, with the cause.
var notXterm = map[string]string{
	"\u0301":    "xterm.js joins it only directly after a character",
	"e\u0301":   "so it does, and the pieces before may take the character",
	"\u200d":    "so it does",
	"\x1b[Nb":   "xterm.js repeats only a character that was just printed",
	"\x1b[3g":   "xterm.js has tab stops for each screen, xterm one list",
	"\x1b[g":    "so it has",
	"\x1bH":     "so it has",
	"\x1b[N;Nr": "xterm.js has margins for each screen, xterm one pair",
	"\x1b[?7l":  "xterm restores it with the cursor, xterm.js does not",
	"\x1bP":     "xterm.js ends a string that begins with a character outside of ASCII",
	"\x1b[20h":  "xterm.js keeps it after a reset",
	"\x1b[NZ":   "xterm.js does not move a cursor behind the last column",
	"\x1b(0":    "without a saved cursor, xterm restores the first character set, and xterm.js none",
	"\x1b)0":    "so it does",
	"\x1b(":     "xterm.js ignores an unknown character set",
	"\x1b[8m":   "the text of xterm.js has what is hidden",
}

// repeats matches pieces that together repeat a character.
var repeats = regexp.MustCompile("\x1b\\[[0-9;]*b")

// likeXterm returns a random stream without what xterm.js understands in another way.
func likeXterm(r *rand.Rand) string {
	var data string
	for n := 1 + r.IntN(80); n > 0; n-- {
		w := words[r.IntN(len(words))]
		if notXterm[w] == "" {
			data += numbered(r, w)
		}
	}
	return string([]rune(data)) // both get whole characters
}

func TestXtermShowsTheSame(t *testing.T) {
	var in []forXterm
	var want []*Terminal
	for seed := range 1000 {
		r := rand.New(rand.NewPCG(5, uint64(seed)))
		data := likeXterm(r)
		if repeats.MatchString(data) {
			continue
		}
		cols, rows := 2+r.IntN(30), 1+r.IntN(10)
		term := New(cols, rows)
		_, _ = term.Write([]byte(data))
		in = append(in, forXterm{cols, rows, []string{data}})
		want = append(want, term)
	}
	bad := 0
	for i, got := range xterm(t, in) {
		w := want[i]
		x, y, _ := w.Cursor()
		lines := w.Text()
		if !slices.Equal(got.Lines, lines) || got.X != x || got.Y != y || got.Alternate != w.Alternate() {
			if bad++; bad <= 5 {
				t.Errorf("stream %d %dx%d: %q\nxterm %q %d,%d %v\nhere  %q %d,%d %v", i, in[i].Cols, in[i].Rows, in[i].Parts[0],
					got.Lines, got.X, got.Y, got.Alternate, lines, x, y, w.Alternate())
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d streams differ", bad, len(in))
	}
}

// TestXtermShowsADumpAsWhatItIsOf plays the rest of streams after a dump.
func TestXtermShowsADumpAsWhatItIsOf(t *testing.T) {
	var in []forXterm
	for seed := range 400 {
		r := rand.New(rand.NewPCG(6, uint64(seed)))
		data := likeXterm(r)
		if repeats.MatchString(data) {
			continue
		}
		cut := r.IntN(len(data) + 1)
		for cut < len(data) && !utf8.RuneStart(data[cut]) {
			cut++
		}
		cols, rows := 2+r.IntN(30), 1+r.IntN(10)
		term := New(cols, rows)
		_, _ = term.Write([]byte(data[:cut]))
		in = append(in, forXterm{cols, rows, []string{data}}, forXterm{cols, rows, []string{term.Dump(), data[cut:]}})
	}
	got := xterm(t, in)
	for i := 0; i < len(got); i += 2 {
		if !reflect.DeepEqual(got[i], got[i+1]) {
			t.Errorf("%q\nafter %q\nxterm shows %+v\nnot %+v", in[i+1].Parts[1], in[i+1].Parts[0], got[i+1], got[i])
		}
	}
}
