package screen

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// stateOf returns all of a terminal's state that can be seen, now or later.
func stateOf(t *Terminal) Terminal {
	s := *t
	if !s.alternate {
		s.other = nil // it begins blank
	}
	s.raw, s.pending = append([]byte{}, s.raw...), append([]byte{}, s.pending...)
	return s
}

func same(t *testing.T, what string, in string, got, want *Terminal) {
	t.Helper()
	if g, w := stateOf(got), stateOf(want); !reflect.DeepEqual(g, w) {
		gv, wv := reflect.ValueOf(g), reflect.ValueOf(w)
		for i := range gv.NumField() {
			if a, b := fmt.Sprintf("%+v", gv.Field(i)), fmt.Sprintf("%+v", wv.Field(i)); a != b {
				t.Errorf("%s: %s is\n%.2000s\nnot\n%.2000s", what, gv.Type().Field(i).Name, a, b)
			}
		}
		t.Fatalf("%s of %q\ngot  %q\nwant %q\ndump %q", what, in, got.Text(), want.Text(), want.Dump())
	}
}

// words are pieces of random streams. N stands for a number.
var words = []string{
	"a", "b", "hello ", "漢", "字", "😀", "e\u0301", "\u0301", "\u200d", "é", "\xff", "\xe2\x82", "שלום", "q", "x", "lqk",
	"\r", "\n", "\r\n", "\b", "\t", "\x0e", "\x0f", "\v", "\a", "\x18", "\u0084", "\u009b3C",
	"\x1b[N;NH", "\x1b[NA", "\x1b[NB", "\x1b[NC", "\x1b[ND", "\x1b[NE", "\x1b[NF", "\x1b[NG", "\x1b[Nd", "\x1b[NI", "\x1b[NZ", "\x1b[Ne",
	"\x1b[NJ", "\x1b[NK", "\x1b[NX", "\x1b[N@", "\x1b[NP", "\x1b[NL", "\x1b[NM", "\x1b[NS", "\x1b[NT", "\x1b[Nb",
	"\x1b[m", "\x1b[1m", "\x1b[2;3m", "\x1b[4:3m", "\x1b[4m", "\x1b[7m", "\x1b[8m", "\x1b[31m", "\x1b[95m", "\x1b[48;5;Nm", "\x1b[38;2;N;N;Nm", "\x1b[58:2::1:2:3m", "\x1b[22;24;27;39m", "\x1b[44m",
	"\x1b[N;Nr", "\x1b[r", "\x1b[?6h", "\x1b[?6l", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b[20h", "\x1b[20l", "\x1b[?25l", "\x1b[?25h", "\x1b[?2004h", "\x1b[?1000;1006h", "\x1b[?1006l", "\x1b[?1h",
	"\x1b[?1049h", "\x1b[?1049l", "\x1b[?1047h", "\x1b[?1047l", "\x1b[?47h", "\x1b[?1048h", "\x1b[?1048l",
	"\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1bD", "\x1bE", "\x1bM", "\x1bH", "\x1b[g", "\x1b[3g", "\x1b(0", "\x1b(B", "\x1b)0", "\x1b=", "\x1b>", "\x1b[N q",
	"\x1b]0;title\a", "\x1b]2;other\x1b\\", "\x1b]8;;http://x\x1b\\", "\x1bPq#0;2\x1b\\", "\x1b_x\x1b\\", "\x1b#8", "\x1b[!p", "\x1bc",
	"\x1b", "\x1b[", "\x1b[3", "\x1b[3;", "\x1b[?", "\x1b[3<", "\x1b[ ", "\x1b]2;t", "\x1bP", "\x1b(", "\x1b[1;2:3", "\x1b[c", "\x1b[6n", "\x1b[1$p",
}

func stream(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(numbered(r, words[r.IntN(len(words))]))
	}
	return b.String()
}

func numbered(r *rand.Rand, w string) string {
	for strings.Contains(w, "N") {
		w = strings.Replace(w, "N", fmt.Sprint(r.IntN(14)), 1)
	}
	return w
}

func streams() int {
	if testing.Short() {
		return 2000
	}
	return 10000
}

// resized writes data and resizes the terminal on the way.
type step struct {
	data       string
	cols, rows int
}

func steps(r *rand.Rand) []step {
	var list []step
	for range 1 + r.IntN(4) {
		s := step{data: stream(r, 1+r.IntN(40))}
		if r.IntN(4) == 0 {
			s.cols, s.rows = 1+r.IntN(20), 1+r.IntN(10)
		}
		list = append(list, s)
	}
	return list
}

func (s step) do(t *Terminal) {
	if s.cols > 0 {
		t.Resize(s.cols, s.rows)
	}
	_, _ = t.Write([]byte(s.data))
}

func TestADumpAndTheRestOfAStreamGiveWhatTheWholeStreamGives(t *testing.T) {
	for seed := range streams() {
		r := rand.New(rand.NewPCG(1, uint64(seed)))
		cols, rows := 1+r.IntN(20), 1+r.IntN(8)
		whole := New(cols, rows)
		list := steps(r)
		at := r.IntN(len(list))
		for _, s := range list[:at] {
			s.do(whole)
		}
		s := list[at]
		cut := r.IntN(len(s.data) + 1)
		step{s.data[:cut], s.cols, s.rows}.do(whole)
		cols, rows = whole.Size()
		loaded := New(cols, rows)
		_, _ = loaded.Write([]byte(whole.Dump()))
		same(t, fmt.Sprintf("stream %d at its cut", seed), fmt.Sprint(list[:at], s.data[:cut]), loaded, whole)
		for _, term := range []*Terminal{whole, loaded} {
			_, _ = term.Write([]byte(s.data[cut:]))
			for _, s := range list[at+1:] {
				s.do(term)
			}
		}
		same(t, fmt.Sprintf("stream %d at its end", seed), fmt.Sprint(list), loaded, whole)
	}
}

func TestTheResultDoesNotDependOnHowOutputIsCut(t *testing.T) {
	for seed := range streams() / 4 {
		r := rand.New(rand.NewPCG(2, uint64(seed)))
		data := stream(r, 60)
		whole, parts := New(20, 6), New(20, 6)
		_, _ = whole.Write([]byte(data))
		for rest := data; rest != ""; {
			n := 1 + r.IntN(min(5, len(rest)))
			_, _ = parts.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		same(t, fmt.Sprint("stream ", seed), data, parts, whole)
	}
}

func TestWhatIsShown(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"aaaaaaaaa漢b", "aaaaaaaaa|漢b"}, // a wide character does not fit
		{"ab\r\n\x1b[4hX\x1b[1;1HZ", "Zab|X"},
		{"e\u0301x", "e\u0301x"},
		{"aaaaaaaaaa\x1b[Dz", "aaaaaaaaza"},
		{"漢字\x1b[1;2Hx", " x字"},
		{"\x1b(0lqk\x1b(B", "┌─┐"},
		{"1\r\n2\r\n3\r\n4", "2|3|4"},
		{"1\r\n2\r\n3\x1b[2;3r\x1b[3;1H\n4", "1|3|4"},
		{"main\x1b[?1049halt", "    alt"},
		{"main\x1b[?1049halt\x1b[?1049l!", "main!"},
		{"a\x1b[3b", "aaaa"},
		{"a\tb", "a       b"},
		{"\x1b[8msecret\x1b[0mx", "      x"},
		{"\x1b]0;a title\ax\x1b[6n", "x"},
		{"שלום", "שלום"},
		{"\x1b[?7l0123456789ab", "012345678b"},
	} {
		term := New(10, 3)
		_, _ = term.Write([]byte(c.in))
		if got := strings.TrimRight(strings.Join(term.Text(), "|"), "|"); got != c.want {
			t.Errorf("%q shows %q, not %q", c.in, got, c.want)
		}
	}
}

func TestAnEndlessSequenceTakesNoMemory(t *testing.T) {
	for _, begin := range []string{"\x1b[", "\x1b]2;", "\x1bP", "\x1b(", "\x1b["} {
		term := New(10, 3)
		_, _ = term.Write([]byte(begin + strings.Repeat("1", 1<<20)))
		if n := len(term.Dump()); n > 4096 {
			t.Errorf("after %q the dump has %d bytes", begin, n)
		}
	}
	term := New(10, 3)
	_, _ = term.Write([]byte("a" + strings.Repeat("\u0301", 1<<16)))
	if n := len(term.Dump()); n > 4096 {
		t.Errorf("the dump of combining characters has %d bytes", n)
	}
}

func FuzzDump(f *testing.F) {
	for seed := range 50 {
		r := rand.New(rand.NewPCG(3, uint64(seed)))
		f.Add([]byte(stream(r, 20)), uint8(r.IntN(256)), uint8(20), uint8(6))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut, cols, rows uint8) {
		at := min(int(cut), len(data))
		whole := New(int(cols), int(rows))
		_, _ = whole.Write(data[:at])
		loaded := New(int(cols), int(rows))
		_, _ = loaded.Write([]byte(whole.Dump()))
		same(t, "the cut", string(data[:at]), loaded, whole)
		_, _ = whole.Write(data[at:])
		for _, c := range data[at:] {
			_, _ = loaded.Write([]byte{c})
		}
		same(t, "the end", string(data), loaded, whole)
	})
}

func BenchmarkWrite(b *testing.B) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "\x1b[3%dm%5d\x1b[0m some text of a build log, with a path/to/file_%d.go:12 漢字\r\n", i%8, i, i)
	}
	data := []byte(text.String())
	b.SetBytes(int64(len(data)))
	term := New(120, 40)
	for b.Loop() {
		_, _ = term.Write(data)
	}
}
