package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/testing/planted"
)

// cuts cuts data at random places.
func cuts(rt *rapid.T, data string) (parts []string) {
	for len(data) > 0 {
		n := rapid.IntRange(1, len(data)).Draw(rt, "part")
		parts = append(parts, data[:n])
		data = data[n:]
	}
	return parts
}

// pieces describes what a scanner finds.
func pieces(parts []string) string {
	s := scanner{nonce: "n1"}
	var all, open strings.Builder
	flush := func() {
		if open.Len() > 0 {
			fmt.Fprintf(&all, "%q ", open.String())
			open.Reset()
		}
	}
	for _, part := range parts {
		s.scan([]byte(part), func(p piece) {
			open.Write(p.data)
			if p.mark != nil {
				flush()
				fmt.Fprintf(&all, "%+v ", *p.mark)
			}
			if p.other != nil {
				flush()
				fmt.Fprintf(&all, "other %c %q ", p.other.kind, p.other.text)
			}
			if p.screen != 0 {
				flush()
				fmt.Fprintf(&all, "screen %d ", p.screen)
			}
		})
	}
	open.Write(s.rest())
	flush()
	return all.String()
}

func TestMarksAreFoundHoweverOutputIsCut(t *testing.T) {
	const text = "a\x1b]6973;n1;P;/x%20y\x07$ \x1b]6973;n2;C;/;evil\x07ls\r\n\x1b]6973;n1;C;/x;ls%3B\x1b\\\x1b[?1049h\x1b[31mred\x1b[?25;1049l\x1b]0;title\x07" +
		"\x1b]6973;n1;D;bad;/;new;x\x07\x1b]6973;n1;D;3;/y;new;ls\x07\x1b]133;A\x07\x1bPq#\x1b\\é\x1b]6973;n1;D;1;/\x18end\x1b"
	want := `"a" {kind:80 dir:/x y text: same: status:0} "$ \x1b]6973;n2;C;/;evil\als\r\n" {kind:67 dir:/x text:ls; same: status:0} ` +
		`"\x1b[?1049h" screen 1 "\x1b[31mred\x1b[?25;1049l" screen -1 "\x1b]0;title\a\x1b]6973;n1;D;bad;/;new;x\a" {kind:68 dir:/y text:ls same:new status:3} ` +
		`"\x1b]133;A\a" other A "" "\x1bPq#\x1b\\é\x1b]6973;n1;D;1;/\x18end\x1b" `
	if got := pieces([]string{text}); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	rapid.Check(t, func(rt *rapid.T) {
		if got := pieces(cuts(rt, text)); got != want {
			rt.Errorf("got\n%s", got)
		}
	})
}

// FuzzScan checks that no output is lost, and that the way in which it is cut has no influence.
func FuzzScan(f *testing.F) {
	f.Add("\x1b]6973;n1;P;/\x07x\x1b[?1049h", 3)
	f.Add("\x1b]133;A\x1b\\\x1b", 7)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = max(1, n)
		var parts []string
		for rest := text; rest != ""; {
			k := min(n, len(rest))
			parts, rest = append(parts, rest[:k]), rest[k:]
		}
		if got, want := pieces(parts), pieces([]string{text}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if !strings.Contains(text, "\x1b]6973;n1;") {
			var all strings.Builder
			s := scanner{nonce: "n1"}
			for _, part := range parts {
				s.scan([]byte(part), func(p piece) { all.Write(p.data) })
			}
			all.Write(s.rest())
			if all.String() != text {
				t.Errorf("%q became %q", text, all.String())
			}
		}
	})
}

// secrets are texts with a secret each, as terminals show them.
func secrets() (list []struct{ text, secret string }) {
	add := func(text, secret string) {
		list = append(list, struct{ text, secret string }{text, secret})
	}
	for i := range 10 {
		token := fmt.Sprintf("%dQx7Zk2Lm9Pw4Rt%dYv6Bn3Hj8Fd5Sc1Aq0", i, i)
		add("export API_TOKEN="+token, token)
		add("curl -H 'Authorization: Bearer "+token+"' http://x", token)
		add("\x1b[32mDATABASE_PASSWORD\x1b[0m=\x1b[33m"+token[:10]+"\x1b[0m"+token[10:], token)
		gh := "ghp_" + strings.Repeat("aB3", 12)[:35] + fmt.Sprint(i)
		add("token is "+gh, gh)
		add("https://kim:pw"+token+"@example.com/", "pw"+token)
	}
	return list
}

func TestSecretsInOutputAreMasked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(secrets()).Draw(rt, "secret")
		text := "build ok: 12 ms\r\n" + s.text + "\r\nüber 漢字\x1b[2;3Hend\r\n"
		var kept strings.Builder
		var at []time.Duration
		m := newMasker(redact.Default(), func(when time.Duration, _ recording.Code, data []byte) {
			kept.Write(data)
			at = append(at, when)
		})
		for i, part := range cuts(rt, text) {
			m.add(time.Duration(i), recording.Output, []byte(part))
		}
		m.flush()
		got := kept.String()
		if strings.Contains(ansi.Strip(got), s.secret) || strings.Contains(ansi.Strip(got), s.secret[len(s.secret)/2:]) {
			rt.Errorf("%q is in %q", s.secret, got)
		}
		if ansi.StringWidth(got) != ansi.StringWidth(text) || strings.Count(got, "\n") != 3 || !strings.HasPrefix(got, "build ok: 12 ms\r\n") || !strings.HasSuffix(got, "\r\nüber 漢字\x1b[2;3Hend\r\n") {
			rt.Errorf("%q became %q", text, got)
		}
		if !slices.IsSorted(at) {
			rt.Errorf("the events are not in order: %v", at)
		}
	})
}

// A diff has a sign before each line, so that the lines of a secret do not follow each other.
func TestSecretsOverSeveralLinesOfADiffAreMasked(t *testing.T) {
	for i, text := range []string{
		"-----BEGIN PRIVATE " + "KEY-----\n@@\n-----END PRIVATE " + "KEY-----",
		"--b\nContent-Disposition: form-data; name=\"password\"\n\n@@\n--b--",
		"password: |\n  @@", "{\"password\":\n \"@@\"}", "[[\"password\",\n\"@@\"]]", "export API_KEY=\\\n@@",
	} {
		secret := fmt.Sprintf("hunter%dBx7Qz9Lm", i)
		for _, sign := range []string{"+", "-", " "} {
			lines := sign + strings.ReplaceAll(strings.ReplaceAll(text, "@@", secret), "\n", "\r\n\x1b[32m"+sign)
			shown := "\x1b[1mdiff --git a/x b/x\x1b[m\r\n@@ -1,9 +1,9 @@\r\n-one\r\n+two\r\n" + lines + "\x1b[m\r\n kept\r\n"
			if got := recorded(shown, recording.Output); strings.Contains(got, secret) || !strings.Contains(got, "-one\r\n+two") || !strings.Contains(got, " kept") {
				t.Errorf("%q is shown: %q", text, got)
			}
		}
	}
}

// TestSecretsInControlStringsAreMasked: in titles, links, notifications and commands of integrations, which no line shows.
func TestSecretsInControlStringsAreMasked(t *testing.T) {
	all := slices.DeleteFunc(secrets(), func(s struct{ text, secret string }) bool { return strings.ContainsAny(s.text, "\x1b\b\r\n") })
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(all).Draw(rt, "secret")
		form := rapid.SampledFrom([]string{"\x1b]0;%s\a", "\x1b]2;%s\x1b\\", "\x1b]8;id=1;https://x/?q=1 %s\x1b\\link\x1b]8;;\x1b\\", "\x1b]9;%s\a", "\x1b]633;E;%s;n\a", "\x1bP%s\x1b\\", "\x1b_%s\x1b\\"}).Draw(rt, "form")
		text := "a" + fmt.Sprintf(form, s.text) + "b\r\n"
		var kept strings.Builder
		m := newMasker(redact.Default(), func(_ time.Duration, _ recording.Code, data []byte) { kept.Write(data) })
		for i, part := range cuts(rt, text) {
			m.add(time.Duration(i), recording.Output, []byte(part))
		}
		m.flush()
		got := kept.String()
		if strings.Contains(got, s.secret) || strings.Contains(got, s.secret[len(s.secret)/2:]) {
			rt.Errorf("%q is in %q", s.secret, got)
		}
		if strings.Count(got, "\x1b") != strings.Count(text, "\x1b") || ansi.Strip(got) != ansi.Strip(text) {
			rt.Errorf("%q became %q", text, got)
		}
	})
}

// TestNoPlantedSecretIsRecorded, in what is shown and in what is typed, each by itself and all after each other.
func TestNoPlantedSecretIsRecorded(t *testing.T) {
	secrets := planted.InTexts(t)
	if len(secrets) < 350 {
		t.Errorf("only %d secrets are planted", len(secrets))
	}
	var all strings.Builder
	for _, code := range []recording.Code{recording.Output, recording.Input} {
		for _, s := range secrets {
			text := strings.ReplaceAll(strings.ReplaceAll(s.Text, "\r\n", "\n"), "\n", "\r\n") + "\r\n"
			all.WriteString(text)
			planted.NotIn(t, []planted.Secret{s}, map[string]string{string(code): recorded(text, code)})
		}
		planted.NotIn(t, secrets, map[string]string{"all as " + string(code): recorded(all.String(), code)})
		all.Reset()
	}
}

// recorded returns what a recording has of a text, without its sequences.
func recorded(text string, code recording.Code) string {
	var kept strings.Builder
	m := newMasker(redact.Default(), func(_ time.Duration, _ recording.Code, data []byte) { kept.Write(data) })
	m.add(0, code, []byte(text))
	m.flush()
	return ansi.Strip(kept.String())
}

// TestSecretsThatAShellEchoesAreMasked has lines as bash, zsh and fish show them while they are typed.
func TestSecretsThatAShellEchoesAreMasked(t *testing.T) {
	const secret = "ghp_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB9"
	for name, echo := range map[string]string{
		"in one":     secret,
		"redrawn":    "g\bgh\bhp" + secret[3:],
		"corrected":  secret[:20] + "zz\b \b\b \b" + secret[20:],
		"wrapped":    secret[:20] + " \r" + secret[20:],
		"in colours": secret[:12] + "\x1b[32m" + secret[12:] + "\x1b[0m",
	} {
		var kept strings.Builder
		m := newMasker(redact.Default(), func(_ time.Duration, _ recording.Code, data []byte) { kept.Write(data) })
		for i := range echo {
			m.add(0, recording.Output, []byte(echo[i:i+1]))
		}
		m.add(0, recording.Output, []byte("\r\n"))
		m.flush()
		if got := kept.String(); strings.ContainsAny(ansi.Strip(got), "aB9zh") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestAPrivateKeyIsMaskedAsAWhole(t *testing.T) {
	var kept strings.Builder
	m := newMasker(redact.Default(), func(_ time.Duration, _ recording.Code, data []byte) { kept.Write(data) })
	m.add(0, recording.Output, []byte("-----BEGIN RSA PRIVATE KEY-----\r\n"))
	for range 20 {
		m.add(0, recording.Output, []byte("MIIEowIBAAKCAQEAxyz0123456789abcdefghijklmnopqrstuvwxyz\r\n"))
	}
	m.add(0, recording.Output, []byte("-----END RSA PRIVATE KEY-----\r\ndone\r\n"))
	if got := kept.String(); strings.Contains(got, "abcdef") || strings.Count(got, "\n") != 23 || !strings.HasSuffix(got, "done\r\n") {
		t.Errorf("%q", got)
	}
}

func TestALongLineIsMaskedInParts(t *testing.T) {
	var kept strings.Builder
	m := newMasker(redact.Default(), func(_ time.Duration, _ recording.Code, data []byte) { kept.Write(data) })
	const secret = "ghp_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB9"
	text := strings.Repeat(strings.Repeat("x", 4000)+" "+secret+" ", 60)
	for rest := text; rest != ""; {
		n := min(1000, len(rest))
		m.add(0, recording.Output, []byte(rest[:n]))
		rest = rest[n:]
	}
	if kept.Len() < len(text)-maxLine {
		t.Errorf("only %d of %d bytes are written", kept.Len(), len(text))
	}
	m.flush()
	if kept.Len() != len(text) || strings.Contains(kept.String(), "aB3aB3") {
		t.Error("a secret is written")
	}
}

// rig is a tape whose recording can be read.
type rig struct {
	*tape
	path  string
	ended []recording.Command
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{path: filepath.Join(t.TempDir(), "a")}
	w, err := recording.Create(r.path, recording.Header{ID: "t", Started: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	r.tape = newTape(w, redact.Default(), "n1", func(string) (bool, error) { return true, nil }, func(c recording.Command) { r.ended = append(r.ended, c) })
	return r
}

// read ends the recording, and returns its output and its gaps.
func (r *rig) read(t *testing.T) (output string, gaps []recording.Gap) {
	t.Helper()
	if err := r.close(time.Hour, 0); err != nil {
		t.Fatal(err)
	}
	f, err := recording.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all strings.Builder
	for e, err := range f.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Code {
		case recording.Output:
			all.Write(e.Data)
		case recording.Dropped:
			var g recording.Gap
			if err := json.Unmarshal(e.Data, &g); err != nil {
				t.Fatal(err)
			}
			gaps = append(gaps, g)
			all.WriteString("[gap]")
		}
	}
	return all.String(), gaps
}

// TestACommandWhoseBeginningIsLostIsReportedAtItsEnd: a program such as tmux has the terminal drop what was not read yet, with the
// mark that the command began. It began when its line was typed, or with the prompt where it was typed before that.
func TestACommandWhoseBeginningIsLostIsReportedAtItsEnd(t *testing.T) {
	for name, before := range map[string]func(*rig){
		"typed at the prompt": func(r *rig) {
			r.output(5, []byte("\x1b]6973;n1;P;/w\a$ "))
			r.input(10*time.Millisecond, []byte("tm"), false)
			r.input(12*time.Millisecond, []byte("ux\r"), false)
		},
		"typed ahead": func(r *rig) {
			r.input(5, []byte("tmux\r"), false)
			r.output(12*time.Millisecond, []byte("\x1b]6973;n1;P;/w\a$ "))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			before(r)
			r.output(20*time.Millisecond, []byte("\x1b[?1049hinner\x1b[?1049l"))
			r.input(25*time.Millisecond, []byte("exit\r"), false)
			const end = "\x1b]6973;n1;D;1;/w;;tmux new\a"
			r.output(42*time.Millisecond, []byte(end+end+"\x1b]6973;n1;P;/w\a$ "))
			if len(r.ended) != 1 {
				t.Fatalf("%+v", r.ended)
			}
			if c := r.ended[0]; c.Text != "tmux new" || c.Dir != "/w" || c.Ms != 30 || c.Status == nil || *c.Status != 1 || !c.Alternate || c.Offset != 2 && c.Offset != 0 {
				t.Errorf("%+v", c)
			}
			r.output(50*time.Millisecond, []byte("\x1b]6973;n1;C;/w;ls\a\x1b]6973;n1;D;0;/w;;ls\a"))
			if len(r.ended) != 2 || r.ended[1].Text != "ls" || r.ended[1].Alternate {
				t.Errorf("%+v", r.ended[1:])
			}
		})
	}
}

func TestAFloodKeepsItsBeginningAndItsEnd(t *testing.T) {
	r := newRig(t)
	r.output(0, []byte("\x1b]6973;n1;C;/;cat log\x07"))
	line := strings.Repeat("0123456789abcde\n", 2048) // 32 KiB
	for i := range 1000 {
		r.output(time.Duration(i)*time.Millisecond, []byte(line))
	}
	r.output(1100*time.Millisecond, []byte("last line\n\x1b]6973;n1;D;0;/\x07$ "))
	output, gaps := r.read(t)
	if len(r.ended) != 1 || r.ended[0].Text != "cat log" || *r.ended[0].Status != 0 {
		t.Errorf("%+v", r.ended)
	}
	sent := uint64(1000*len(line) + len("last line\n$ "))
	if len(gaps) != 1 || uint64(len(output)-len("[gap]"))+gaps[0].Bytes != sent {
		t.Fatalf("%d bytes of %d are recorded, gaps %+v", len(output), sent, gaps)
	}
	before, after, _ := strings.Cut(output, "[gap]")
	if len(before) < 1<<20-64<<10 || len(before) > 1<<20+64<<10 || !strings.HasSuffix(after, "\nlast line\n$ ") || len(after) > tailBytes+64 {
		t.Errorf("%d bytes before the gap, %d after it", len(before), len(after))
	}
}

func TestOverTheBudgetOnlyTheEndIsKept(t *testing.T) {
	r := newRig(t)
	r.output(0, []byte("\x1b]6973;n1;C;/;make\x07"))
	line := strings.Repeat("0123456789abcde\n", 2048)
	for i := range 1000 { // slower than a flood
		r.output(time.Duration(i)*40*time.Millisecond, []byte(line))
		r.idle(time.Duration(i)*40*time.Millisecond + 20*time.Millisecond)
	}
	r.output(40*time.Second, []byte("\x1b]6973;n1;D;0;/\x07$ "))
	output, gaps := r.read(t)
	if before, _, _ := strings.Cut(output, "[gap]"); len(gaps) != 1 || len(before) < budget || len(before) > 2*budget || len(output)-len(before) > tailBytes+64 {
		t.Errorf("%d bytes before the gap, gaps %+v", len(output), gaps)
	}
}

// TestALongSessionIsRecordedAsAWhole has a program that draws its screen for an hour.
func TestALongSessionIsRecordedAsAWhole(t *testing.T) {
	r := newRig(t)
	frame := []byte(strings.Repeat("x", 20<<10) + "\x1b[H")
	for i := range 3600 * 8 / 4 {
		r.output(time.Duration(i)*125*time.Millisecond, frame)
		r.idle(time.Duration(i)*125*time.Millisecond + 60*time.Millisecond)
	}
	if output, gaps := r.read(t); len(gaps) != 0 || len(output) != 7200*len(frame) {
		t.Errorf("%d bytes, gaps %+v", len(output), gaps)
	}
}

// What is recorded after a gap begins within no secret.
func TestTheEndOfAFloodBeginsWithinNoSecret(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE " + "KEY-----\n" + strings.Repeat(strings.Repeat("kQ9zXw7Rt5Yb3Mn1", 4)+"\n", 25) + "-----END RSA PRIVATE " + "KEY-----\n"
	for name, text := range map[string]string{
		"short":    "password=" + strings.Repeat("kQ9zXw7Rt5Yb3Mn1", 25) + "\n",
		"long":     "password=" + strings.Repeat("kQ9zXw7Rt5Yb3Mn1", 4000) + "\n",
		"keys":     key,
		"in words": "the password=" + strings.Repeat("kQ9zXw7Rt5Yb3Mn1", 25) + " of the shop ",
	} {
		r := newRig(t)
		all := []byte(strings.Repeat(text, 3<<20/len(text)))
		for i := 0; i < len(all); i += 4095 {
			r.output(time.Duration(i)*20*time.Nanosecond, all[i:min(i+4095, len(all))])
		}
		r.output(time.Second, []byte("\nlast line\n"))
		output, gaps := r.read(t)
		if strings.Contains(output, "kQ9zXw7Rt5") {
			t.Errorf("%s: a part of a secret is recorded", name)
		}
		if len(gaps) != 1 || !strings.HasSuffix(output, "last line\n") || uint64(len(output)-len("[gap]"))+gaps[0].Bytes != uint64(len(all)+len("\nlast line\n")) {
			t.Errorf("%s: gaps %+v, %d bytes of %d are recorded", name, gaps, len(output), len(all))
		}
	}
}

// A private key is masked that is after others, wherever the output is divided.
func TestKeysAfterEachOtherAreMasked(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE " + "KEY-----\r\n" + strings.Repeat(strings.Repeat("kQ9zXw7Rt5Yb3Mn1", 4)+"\r\n", 25) + "-----END RSA PRIVATE " + "KEY-----\r\n"
	all := strings.Repeat(key, 300)
	for _, size := range []int{1000, 4095, 60_000} {
		r := newRig(t)
		for i := 0; i < len(all); i += size {
			r.output(time.Duration(i)*time.Microsecond, []byte(all[i:min(i+size, len(all))]))
		}
		output, gaps := r.read(t)
		if strings.Contains(output, "kQ9zXw7Rt5") || len(gaps) > 0 || len(output) != len(all) {
			t.Errorf("in parts of %d bytes: a key is recorded, %d bytes of %d, gaps %v", size, len(output), len(all), gaps)
		}
	}
}

// TestTheEndOfAFloodIsRecordedWhenItStops has a flood after which nothing comes.
func TestTheEndOfAFloodIsRecordedWhenItStops(t *testing.T) {
	r := newRig(t)
	line := strings.Repeat("0123456789abcde\n", 2048)
	for i := range 200 {
		r.output(time.Duration(i)*time.Millisecond, []byte(line))
		r.idle(time.Duration(i) * time.Millisecond)
	}
	before := r.w.Offset()
	r.idle(300 * time.Millisecond)
	if r.w.Offset() != before {
		t.Error("a flood ends while it goes on")
	}
	r.idle(500 * time.Millisecond)
	if got := r.w.Offset() - before; got > tailBytes || got < tailBytes-uint64(len("0123456789abcde\n")) {
		t.Errorf("%d bytes of the end are recorded", got)
	}
	if _, gaps := r.read(t); len(gaps) != 1 {
		t.Errorf("gaps %+v", gaps)
	}
}

func TestCalmOutputHasNoGap(t *testing.T) {
	r := newRig(t)
	for i := range 200 {
		r.output(time.Duration(i)*20*time.Millisecond, []byte(strings.Repeat("x", 64<<10)+"\n"))
	}
	if output, gaps := r.read(t); len(gaps) != 0 || len(output) != 200*(64<<10+1) {
		t.Errorf("%d bytes, gaps %+v", len(output), gaps)
	}
}

// TestPasswordPrompts has prompts of programs that draw their own screen: the outer terminal does not tell.
func TestPasswordPrompts(t *testing.T) {
	for prompt, secret := range map[string]bool{
		"kim@host's password: ": true, "Enter passphrase for key '/home/kim/.ssh/id': ": true, "PIN: ": true, "API key? ": true,
		"\r\x1b[30m\x1b[m\x0f\rPassword: \x1b[K\r\x1b[10C": true, // as fish draws it
		"\x1b[1mPassword\x1b[0m: ":                         true, "[sudo] password for kim: ": true, "Token> ": true,
		"$ ": false, "kim@host:~$ ": false, "Continue? ": false, "opinion: ": false, "The password was changed.\r\n$ ": false,
	} {
		r := newRig(t)
		r.output(0, []byte(prompt))
		for _, c := range "abc" {
			r.input(1, []byte(string(c)), false)
		}
		r.input(1, []byte("\rnext\r"), false)
		r.output(2, []byte("\r\n"))
		typed := r.typedIn(t)
		if strings.Contains(typed, "abc") == secret {
			t.Errorf("after %q, %q is recorded", prompt, typed)
		}
	}
}

// TestMaskedEchoTellsOfAPassword: programs that read keys, as fish's read does, show a character in place of each.
func TestMaskedEchoTellsOfAPassword(t *testing.T) {
	for name, c := range map[string]struct{ steps, want string }{ // steps that begin with > are shown
		"keys":              {"a|>\x1b[7D●|b|>\x1b[7D●●|c|\r|>\r\n|ls\r|>ls\r\n", "\rls\r"},
		"pasted, and Enter": {"hunter2\r|>●●●●●●●\r\x1b[21C\r\n\x1b[2m⏎\x1b[m  \r⏎ \r\x1b[K|ls\r|>\r\n", "ls\r"},
		"asterisks":         {"*|>*|b|>*|c|>*|\r|>\r\n", "\r"},
		"an asterisk":       {"ls |>ls |*|>*|*|>*|\r|>\r\n", "ls **\r"},
		"slowly answered":   {"ls\r|>\x1b[?25l|>a\r\n", "ls\r"},
		"not answered":      {"ls\r|pwd\r", "ls\rpwd\r"},
	} {
		r := newRig(t)
		for i, step := range strings.Split(c.steps, "|") {
			if shown, ok := strings.CutPrefix(step, ">"); ok {
				r.output(time.Duration(i), []byte(shown))
			} else {
				r.input(time.Duration(i), []byte(step), false)
			}
		}
		if typed := r.typedIn(t); typed != c.want {
			t.Errorf("%s: %q is recorded, want %q", name, typed, c.want)
		}
	}
}

func TestWhatWasTypedBeforeAPasswordPromptIsDropped(t *testing.T) {
	r := newRig(t)
	r.input(0, []byte("cd\r"), false)
	r.input(0, []byte("hunt"), false) // before the program has turned off the echo
	r.input(1, []byte("er2\r"), true)
	r.input(2, []byte("ls\r"), false)
	if typed := r.typedIn(t); typed != "cd\r\rls\r" {
		t.Errorf("typed %q", typed)
	}
}

// TestAPasswordThatIsGivenUpHidesNoMore: what is typed after Ctrl+C is not the password.
func TestAPasswordThatIsGivenUpHidesNoMore(t *testing.T) {
	for _, key := range []string{"\x03", "\x1c"} {
		r := newRig(t)
		r.input(0, []byte("hunt"), true)
		r.input(1, []byte(key), true)
		r.input(2, []byte("ls\r"), false)
		if typed := r.typedIn(t); typed != key+"ls\r" {
			t.Errorf("typed %q", typed)
		}
	}
}

// typedIn ends the recording, and returns its input.
func (r *rig) typedIn(t *testing.T) (typed string) {
	t.Helper()
	if err := r.close(time.Hour, 0); err != nil {
		t.Fatal(err)
	}
	f, err := recording.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for e, err := range f.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Code == recording.Input {
			typed += string(e.Data)
		}
	}
	return typed
}

// TestKeysHoldBackNoOutput: programs that draw the screen take keys without an end of a line. The keys are recorded at the end of
// the line all the same, so that a secret is seen whole.
func TestKeysHoldBackNoOutput(t *testing.T) {
	r := newRig(t)
	var kept []string
	write := r.mask.write
	r.mask.write = func(at time.Duration, code recording.Code, data []byte) {
		kept = append(kept, fmt.Sprintf("%d%c%s", at, code, data))
		write(at, code, data)
	}
	const key = "ghp_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB9"
	r.output(1, []byte("name? "))
	r.input(2, []byte(key[:9]), false)
	r.output(3, []byte("\x1b[1;1Hdrawn\x1b[2;1H"))
	r.resize(4, 90, 20)
	if got := strings.Join(kept, " "); got != "1oname?  3o\x1b[1;1Hdrawn\x1b[2;1H 4r90x20" {
		t.Errorf("%q is recorded before the line ends", got)
	}
	kept = nil
	r.input(5, []byte(key[9:]+"\r"), false)
	r.output(6, []byte("open"))
	r.input(7, []byte("x\r"), false) // behind output that is not complete
	if got := strings.Join(kept, " "); got != "2i"+strings.Repeat("*", 9)+" 5i"+strings.Repeat("*", 31)+"\r" {
		t.Errorf("%q is recorded when it has", got)
	}
	_, _ = r.read(t)
}

var errNotAllowed = errors.New("not allowed")

func TestACommandThatLeavesAnAllowedDirectoryIsRecorded(t *testing.T) {
	r := newRig(t)
	typed := ""
	r.mask.write = func(at time.Duration, code recording.Code, data []byte) {
		if code == recording.Input {
			typed += string(data)
		}
		r.write(at, code, data)
	}
	r.allowed = func(dir string) (bool, error) {
		if dir == "/closed" {
			return false, errNotAllowed
		}
		return dir == "/open", nil
	}
	r.output(0, []byte("\x1b]6973;n1;C;/open;cd /closed\x07\x1b]6973;n1;D;0;/closed\x07\x1b]6973;n1;P;/closed\x07$ "))
	r.output(1, []byte("\x1b]6973;n1;C;/closed;cat secret\x07hidden\r\n\x1b]6973;n1;D;0;/closed\x07"))
	r.output(2, []byte("\x1b]6973;n1;C;/closed;cd /open\x07\x1b]6973;n1;D;0;/open\x07\x1b]6973;n1;P;/open\x07$ ok"))
	r.input(3, []byte("may be recorded\r"), false)
	r.output(4, []byte("\r\n\x1b]6973;n1;P;/quiet\x07"))
	r.input(5, []byte("may not\r"), false)
	output, gaps := r.read(t)
	if typed != "may be recorded\r" {
		t.Errorf("typed %q", typed)
	}
	if len(r.ended) != 1 || r.ended[0].Text != "cd /closed" || output != "[gap]$ ok\r\n" || len(gaps) != 1 || gaps[0].Bytes != uint64(len("$ hidden\r\n")) {
		t.Errorf("%+v %q %+v", r.ended, output, gaps)
	}
}
