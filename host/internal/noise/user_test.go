package noise

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

var noon = time.Date(2026, 1, 23, 12, 0, 0, 0, time.UTC)

// plain folds numbers, as much as these tests need.
func plain(ev event.Event) string {
	s, _ := subjectOf(ev, nil)
	return numbers.ReplaceAllString(s.text, "{n}")
}

var numbers = regexp.MustCompile(`[0-9]+`)

func checked(t testing.TB, rules ...UserRule) []*UserRule {
	t.Helper()
	var list []*UserRule
	for i := range rules {
		r := rules[i]
		if r.ID == "" {
			r.ID = fmt.Sprint(i)
		}
		if err := r.Check(); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		list = append(list, &r)
	}
	return list
}

func TestUserRules(t *testing.T) {
	const page = "http://localhost:5173"
	log := func(level event.Level, text string) event.Event {
		return &event.Console{Head: event.Head{Subject: event.InTab(0, page)}, Level: level, Text: text, Via: "console"}
	}
	request := func(status int) event.Event {
		return &event.Network{Head: event.Head{Subject: event.InTab(0, page)}, Method: "GET", URL: page + "/api/poll?x=1", Status: status}
	}
	socket := func(op string) event.Event {
		return &event.WebSocket{Head: event.Head{Subject: event.InTab(0, page)}, Op: op, URL: "ws://localhost:5173/live"}
	}
	for _, c := range []struct {
		name string
		rule UserRule
		ev   event.Event
		want bool
	}{
		{"text is a part of the message", UserRule{Text: "slow frame"}, log(event.Warning, "a slow frame of 20 ms"), true},
		{"in its own case", UserRule{Text: "Slow frame"}, log(event.Warning, "a slow frame of 20 ms"), false},
		{"stars stand for anything", UserRule{Text: "slow*of * ms"}, log(event.Warning, "a slow frame of 20 ms"), true},
		{"in order", UserRule{Text: "ms*slow"}, log(event.Warning, "a slow frame of 20 ms"), false},
		{"errors are not hidden by what does not say so", UserRule{Text: "slow frame"}, log(event.Error, "a slow frame"), false},
		{"errors are hidden by what says so", UserRule{Text: "slow frame", Level: "error"}, log(event.Error, "a slow frame"), true},
		{"a level hides what is milder", UserRule{Text: "slow frame", Level: "error"}, log(event.Warning, "a slow frame"), true},
		{"and not what is worse", UserRule{Text: "slow frame", Level: "info"}, log(event.Warning, "a slow frame"), false},
		{"another kind", UserRule{Text: "slow frame", Kind: "network"}, log(event.Warning, "a slow frame"), false},
		{"its origin", UserRule{Text: "slow frame", Origin: "localhost:5173"}, log(event.Warning, "a slow frame"), true},
		{"another origin", UserRule{Text: "slow frame", Origin: "localhost:3000"}, log(event.Warning, "a slow frame"), false},
		{"a fingerprint is the whole", UserRule{Kind: "console", Fingerprint: "a slow frame of {n} ms"}, log(event.Warning, "a slow frame of 20 ms"), true},
		{"and not a part", UserRule{Kind: "console", Fingerprint: "slow frame of {n} ms"}, log(event.Warning, "a slow frame of 20 ms"), false},
		{"a failed request is an error", UserRule{Text: "/api/poll"}, request(500), false},
		{"that can be named", UserRule{Text: "/api/poll", Level: "error"}, request(500), true},
		{"one that succeeded is info", UserRule{Text: "/api/poll"}, request(200), true},
		{"a connection that ends is a warning", UserRule{Text: "/live"}, socket("close"), true},
		{"not hidden by what is for info", UserRule{Text: "/live", Level: "info"}, socket("close"), false},
		{"a failed hot update is never hidden", UserRule{Text: "Failed to reload", Level: "error", HideNew: true}, log(event.Error, "[vite] Failed to reload /src/App.tsx"), false},
		{"whatever it is called", UserRule{Text: "[HMR]", Level: "error"}, log(event.Error, "[HMR] something broke"), false},
		{"nor its file", UserRule{Text: "localhost", Level: "error"}, &event.Network{URL: "http://localhost/main.1.hot-update.js", Status: 404}, false},
	} {
		rules := Default().With(nil, checked(t, c.rule))
		if got := rules.User(c.ev, plain) != nil; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestBadUserRulesSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		rule UserRule
		want string
	}{
		{UserRule{}, "set text to a part of the message"},
		{UserRule{Kind: "smell", Text: "abc"}, "console, network or websocket"},
		{UserRule{Level: "loud", Text: "abc"}, "debug, log, info, warning or error"},
		{UserRule{Origin: "file:///x", Text: "abc"}, "write it like http://localhost:5173"},
		{UserRule{Text: "ab"}, "at least 3 characters"},
		{UserRule{Text: "a*b*c*d"}, "at least 3 characters"},
		{UserRule{Fingerprint: "x"}, "needs its kind"},
		{UserRule{Text: strings.Repeat("x", 2000)}, "at most 1000 bytes"},
	} {
		if err := c.rule.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.rule, err, c.want)
		}
	}
}

func TestEnds(t *testing.T) {
	for s, want := range map[string]time.Time{
		"": {}, "never": {},
		"30m": noon.Add(30 * time.Minute), "7d": noon.AddDate(0, 0, 7),
		"2026-01-23": time.Date(2026, 1, 24, 0, 0, 0, 0, time.UTC), "2026-01-23T13:00:00Z": noon.Add(time.Hour),
	} {
		if got, session, err := ParseEnd(s, noon, time.UTC); err != nil || session || !got.Equal(want) {
			t.Errorf("%q: %v %v %v", s, got, session, err)
		}
	}
	if _, session, err := ParseEnd("session", noon, time.UTC); !session || err != nil {
		t.Error(session, err)
	}
	for s, want := range map[string]string{"soon": "30m, 8h, 7d", "-5m": "30m, 8h", "2020-01-01": "in the past"} {
		if _, _, err := ParseEnd(s, noon, time.UTC); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestPacksCanBeSwitchedOffAndStillTellOfUpdates(t *testing.T) {
	update := &event.Console{Level: event.Warning, Text: "[vite] hot updated: /src/App.tsx"}
	rules := Default().With([]string{"hot-update"}, nil)
	if rules.BuiltIn(update) != nil || rules.Update(update) != "hot_update" {
		t.Error("the hot-update pack is off")
	}
	beacon := &event.Network{URL: "https://www.google-analytics.com/g/collect", Status: 500}
	if rules.BuiltIn(beacon) == nil || rules.With([]string{"analytics"}, nil).BuiltIn(beacon) != nil || rules.With(nil, nil).BuiltIn(update) == nil {
		t.Error("a pack is switched alone, and on again")
	}
}

func TestTheTableNeverHidesAFailedHotUpdate(t *testing.T) {
	for _, text := range []string{"[HMR] Cannot apply update. Need to do a full reload!", "[HMR] Update failed: ChunkLoadError", "[vite] Internal Server Error", "[vite] failed to connect to websocket"} {
		for _, level := range []event.Level{event.Warning, event.Error} {
			if r := Default().Console(&event.Console{Level: level, Text: text}); r != nil {
				t.Errorf("%s %q is hidden by %s", level, text, r.ID)
			}
		}
	}
}

// TestTheIndexFindsWhatTryingEachRuleFinds compares both over rules and entries made of few words, so
// that many match.
func TestTheIndexFindsWhatTryingEachRuleFinds(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		words := []string{"slow", "frame", "api", "poll", "é", "x", "warning:", "aaaa", "aaa", "/", "{n}", "12", "ab", "list", "key", " "}
		pick := func(n int) string {
			var b strings.Builder
			for range 1 + r.IntN(n) {
				b.WriteString(words[r.IntN(len(words))])
			}
			return b.String()
		}
		origins := []string{"", "http://a", "http://b"}
		kinds := append([]string{""}, Kinds...)
		levels := []string{"", "debug", "info", "error"}
		var rules []*UserRule
		for range 1 + r.IntN(60) {
			rule := UserRule{
				Kind: kinds[r.IntN(4)], Level: levels[r.IntN(4)], Origin: origins[r.IntN(3)], HideNew: r.IntN(4) == 0,
				Made: noon.Add(time.Duration(r.IntN(3)) * time.Hour),
			}
			if rule.Text = pick(3); r.IntN(3) == 0 {
				rule.Text += "*" + pick(2)
			}
			if rule.Kind != "" && r.IntN(2) == 0 {
				rule.Text, rule.Fingerprint = "", strings.TrimSpace(plain(&event.Console{Text: pick(3)}))
			}
			if rule.Check() == nil {
				rules = append(rules, &rule)
			}
		}
		x := newIndex(rules)
		for range 200 {
			head := event.Head{Subject: event.InTab(0, origins[r.IntN(3)])}
			var ev event.Event
			switch r.IntN(3) {
			case 0:
				ev = &event.Console{Head: head, Level: event.Level(r.IntN(5)), Text: pick(5)}
			case 1:
				ev = &event.Network{Head: head, URL: pick(5), Status: 200 + 300*r.IntN(2)}
			default:
				ev = &event.WebSocket{Head: head, URL: pick(3), Text: pick(5), Op: "received", Bad: r.IntN(2) == 0}
			}
			var want *UserRule
			s, _ := subjectOf(ev, plain)
			for _, rule := range x.rules {
				if rule.holds(&s) {
					want = rule
					break
				}
			}
			if got := x.match(ev, plain); got != want {
				t.Fatalf("seed %d: %+v: the index finds %+v, trying each finds %+v", seed, ev, got, want)
			}
		}
	}
}

func TestProjectRules(t *testing.T) {
	p := ParseProject([]byte(`origins = ["http://localhost:5173"]
[noise]
off = ["analytics", "smell"]
of = 1
[[noise.rules]]
text = "slow frame"
expires = 2026-12-31
[[noise.rules]]
text = "x"
[[noise.rules]]
id = "poll"
kind = "network"
level = error
text = "/api/poll"
[[noise.rules]]
txt = "typo"
[[noise.rules]]
text = "over"
expires = "2020-01-01"
[[noise.rules]]
text = "relative"
expires = "7d"
`), noon, time.UTC)
	if len(p.Rules) != 2 || p.Rules[0].Text != "slow frame" || p.Rules[0].ID != "p1" || p.Rules[1].ID != "poll" || len(p.Off) != 1 {
		t.Errorf("%+v", p)
	}
	if !p.Rules[0].Expires.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Error(p.Rules[0].Expires)
	}
	for i, want := range []string{"line 13: ", "unknown key noise.of", `no pack "smell"; packs are hot-update`, "line 8: noise rule 2: text is", `line 15: noise rule 4: unknown key "txt"`, "line 17: noise rule 5: it expired", "line 20: noise rule 6: expires is 7d"} {
		if i >= len(p.Problems) || !strings.Contains(p.Problems[i], want) {
			t.Errorf("problem %d: want %q in %q", i, want, p.Problems)
		}
	}
}

func TestAProjectsFileThatIsNoTOMLSaysSo(t *testing.T) {
	for _, file := range []string{"origins = [", "[noise\noff = 3", "\x00", "noise = 3", "[noise]\nrules = 5", strings.Repeat("=\n", 100)} {
		if p := ParseProject([]byte(file), noon, time.UTC); len(p.Rules) != 0 || len(p.Problems) == 0 {
			t.Errorf("%q: %+v", file, p)
		}
	}
	for file, want := range map[string]string{
		"origins = []\n[[noise.rules]]\n=":                                      "origins = []\n\n",
		"[noise]\noff = [\n  \"a\",\n]\n[files]\nexclude = [\"a\"]":             "\n\n\n\n[files]\nexclude = [\"a\"]",
		"[files]\nexclude = [\n\"a\"]\n[ noise ]\n=\n[ [noise.rules] ]\n=\n[x]": "[files]\nexclude = [\n\"a\"]\n\n\n\n\n[x]",
	} {
		if got := string(WithoutNoise([]byte(file))); got != want {
			t.Errorf("%q: %q", file, got)
		}
	}
}

func TestARuleWrittenIntoAProjectIsReadBack(t *testing.T) {
	rule := checked(t, UserRule{ID: "a", Kind: "console", Level: "error", Origin: "http://localhost:5173", Text: `say "hi" \ *`, HideNew: true, Note: "it's", Expires: noon.Add(time.Hour)})[0]
	table, err := ProjectTable(rule)
	if err != nil {
		t.Fatal(err)
	}
	p := ParseProject([]byte(table), noon, time.UTC)
	if len(p.Rules) != 1 || !p.Rules[0].Same(rule) || !p.Rules[0].Expires.Equal(rule.Expires) || p.Rules[0].Note != rule.Note || !p.Rules[0].HideNew {
		t.Errorf("%s\n%+v", table, p)
	}
}

// FuzzProject: whatever a file holds, what is used of it is checked, and each of its rules can be written
// and read again.
func FuzzProject(f *testing.F) {
	f.Add("[noise]\noff = ['analytics']\n[[noise.rules]]\ntext = \"slow\"\nexpires = 2026-12-31\n")
	f.Add("[[noise.rules]]\nkind = 'console'\nfingerprint = '{n} ms'\n=\n")
	f.Fuzz(func(t *testing.T, file string) {
		p := ParseProject([]byte(file), noon, time.UTC)
		for _, r := range p.Rules {
			table, err := ProjectTable(r)
			if err != nil {
				t.Fatal(err)
			}
			again := ParseProject([]byte(table), noon, time.UTC)
			if len(again.Rules) != 1 || !again.Rules[0].Same(r) {
				t.Errorf("%q is read back as %+v", table, again)
			}
		}
		newIndex(p.Rules).match(&event.Console{Text: file}, plain)
	})
}
