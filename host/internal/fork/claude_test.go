package fork

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const session = "11111111-1111-4111-8111-111111111111"

func id(n int) string { return fmt.Sprintf("22222222-2222-4222-8222-%012d", n) }

// line returns a line of a transcript, linked to the one before.
func line(n int, kind, message string) string {
	parent := "null"
	if n > 1 {
		parent = `"` + id(n-1) + `"`
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/shop/sub","sessionId":%q,"version":"2.1.332","type":%q,"message":%s,"uuid":%q,"timestamp":"2026-11-25T13:00:%02d.000Z","slug":"s"}`, parent, session, kind, message, id(n), n)
}

const (
	asked  = `{"role":"user","content":"look at /shop/a.js, not at /shop-2"}`
	calls  = `{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"/shop/a.js"}}]}`
	result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"in:\n/shop/a.js"}]}`
)

func transcript(t testing.TB, lines ...string) (p Point, place Place) {
	t.Helper()
	home := t.TempDir()
	place = Place{From: "/shop", To: filepath.Join(t.TempDir(), "branch"), Title: "branch"}
	path := filepath.Join(home, "projects", "-shop", session+".jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.MkdirAll(filepath.Join(place.To, "sub"), 0o700), os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return Point{Agent: "claude", Session: session, Transcript: path, At: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}, place
}

func TestACutLeavesNoCallWithoutItsResult(t *testing.T) {
	p, place := transcript(t, line(1, "user", asked), line(2, "assistant", fmt.Sprintf(calls, 1)), line(3, "assistant", fmt.Sprintf(calls, 2)), line(4, "user", fmt.Sprintf(result, 2)), line(5, "user", fmt.Sprintf(result, 1)))
	p.Call = "t2"
	c, err := Claude(p, place, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(c.Path)
	if c.Dir != filepath.Join(place.To, "sub") || c.Messages != 3 || info.Mode().Perm() != 0o600 || filepath.Dir(c.Path) != filepath.Join(c.Home, "projects", claudeProject(c.Dir)) {
		t.Errorf("the copy is %+v, mode %v", c, info.Mode())
	}
	text := string(data)
	for want, is := range map[string]bool{
		`"t1"`: false, `"t2"`: true, `"messageUuid":"` + id(3) + `"`: true, `"messageUuid":"` + id(2) + `"`: false, "look at " + place.To + "/a.js, not at /shop-2": true, `in:\n` + place.To + "/a.js": true, `"slug"`: false,
		`"sessionId":"` + c.Session + `"`: true, `"customTitle":"branch"`: true,
	} {
		if strings.Contains(text, want) != is {
			t.Errorf("the copy has %q: %t\n%s", want, !is, text)
		}
	}
	if n := strings.Count(text, `"parentUuid":null`); n != 1 {
		t.Errorf("%d lines have no parent", n)
	}
}

// A session of `claude --worktree` has a line about the worktree, to which Claude Code would go. So it is not copied.
func TestASessionOfAWorktreeIsCopied(t *testing.T) {
	state := `{"type":"worktree-state","worktreeSession":{"originalCwd":"/shop","worktreePath":"/shop","worktreeName":"x","worktreeBranch":"worktree-x","sessionId":"` + session + `","hookBased":true},"sessionId":"` + session + `"}`
	p, place := transcript(t, state, line(1, "user", asked), state)
	c, err := Claude(p, place, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(c.Path)
	if err != nil || c.Messages != 1 || strings.Contains(string(data), "worktree") {
		t.Errorf("the copy is %s, %v", data, err)
	}
}

// A copy has the agent's definition and what it may not do, as they last were, and no connection of the original.
func TestACutKeepsWhatTheAgentIsAndNotWhatItIsConnectedTo(t *testing.T) {
	of := func(kind, fields string) string {
		return `{"type":"` + kind + `",` + fields + `,"sessionId":"` + session + `"}`
	}
	p, place := transcript(t,
		of("agent-setting", `"agentSetting":"first"`), of("mode", `"mode":"normal"`), line(1, "user", asked), of("memory-mode", `"mode":"off","afterUuid":"`+id(1)+`"`),
		of("agent-setting", `"agentSetting":"reviewer"`), of("isolation-latch", `"side":"connectors"`), of("repl-mode", `"replMode":true`),
		of("bridge-session", `"bridgeSessionId":"bridge-1"`), of("pr-link", `"prNumber":7`), of("tag", `"tag":"a-tag"`), of("agent-color", `"agentColor":"red"`),
		of("attribution-snapshot", `"files":{}`), of("ended-by-model", `"x":1`), of("dev-mods", `"folder":"/mods"`))
	c, err := Claude(p, place, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for want, is := range map[string]bool{
		`"reviewer"`: true, `"first"`: false, `"side":"connectors"`: true, `"replMode":true`: true, `"mode":"normal"`: true, `"mode":"off"`: true,
		`"afterUuid":"` + id(1): false, // the message has another ID now
		"bridge-1":              false, "pr-link": false, "a-tag": false, "agent-color": false, "attribution": false, "ended-by": false, "/mods": false,
		`"sessionId":"` + c.Session: true,
	} {
		if strings.Contains(text, want) != is {
			t.Errorf("the copy has %q: %t\n%s", want, !is, text)
		}
	}
}

func TestWhatIsNotKnownIsNotCopied(t *testing.T) {
	first := line(1, "user", asked)
	for name, lines := range map[string][]string{
		"version":       {strings.Replace(first, "2.1.332", "3.0.0", 1)},
		"type":          {first, `{"type":"of-the-future","uuid":"x"}`},
		"not JSON":      {first, `{"type":`},
		"no object":     {`[1]`, first},
		"two IDs":       {strings.Replace(first, `"slug":"s"`, `"uuid":"`+id(9)+`"`, 1)},
		"no ID":         {strings.Replace(first, id(1), "../../x", 1)},
		"several calls": {first, line(2, "assistant", `{"id":"m","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t1"}]}`)},
	} {
		p, place := transcript(t, lines...)
		_, err := Claude(p, place, time.Now())
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("%s: %v", name, err)
		}
		if found, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(p.Transcript)), "*", "*")); len(found) != 1 {
			t.Errorf("%s: there are %q", name, found)
		}
	}
	p, place := transcript(t, first)
	for name, change := range map[string]func(*Point){
		"session":    func(p *Point) { p.Session = "../x" },
		"other file": func(p *Point) { p.Session = id(1) },
		"relative":   func(p *Point) { p.Transcript = "projects/x/" + session + ".jsonl" },
		"elsewhere":  func(p *Point) { p.Transcript = filepath.Join("/tmp", session+".jsonl") },
	} {
		q := p
		change(&q)
		var unknown *UnknownError
		if _, err := Claude(q, place, time.Now()); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.At = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := Claude(p, place, time.Now()); !errors.Is(err, ErrEmpty) {
		t.Errorf("before the first message: %v", err)
	}
}

// The names of long directories are those of Anthropic's library (0.3.332).
func TestProjectsAreNamedAsByClaudeCode(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/me/my shop_1": "-home-me-my-shop-1",
		"/é/😀":               "-----",
	} {
		if got := claudeProject(dir); got != want {
			t.Errorf("%s is %s", dir, got)
		}
	}
	if got := claudeProject("/" + strings.Repeat("a", 300)); len(got) < 202 || !strings.HasPrefix(got, "-aaa") {
		t.Errorf("a long one is %s", got)
	}
}

func TestPathsOfTheOriginalBecomeThoseOfTheBranch(t *testing.T) {
	p := Place{From: "/shop", To: "/b"}
	for in, want := range map[string]string{
		`"/shop"`: `"/b"`, `"/shop/a"`: `"/b/a"`, `"/shop-2"`: `"/shop-2"`, `"/my/shop"`: `"/my/shop"`, `"see /shop."`: `"see /b."`, `"/shop.old"`: `"/shop.old"`,
		`"\u003cpath\u003e/shop/a\u003c/path\u003e"`: `"\u003cpath\u003e/b/a\u003c/path\u003e"`, `"x\u0061/shop"`: `"x\u0061/shop"`, `"\\u003e/shop"`: `"\\u003e/shop"`, `"<path>/shop</path>"`: `"<path>/b</path>"`,
		`"a\n/shop\n"`: `"a\n/b\n"`, `"a\\n/shop"`: `"a\\n/shop"`, `"=/shop:/shop"`: `"=/b:/b"`,
	} {
		if got := string(p.renamed([]byte(in))); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

// The agent of a branch sees it at the path of the original, or that of the original did.
func TestAConversationKeepsThePathsThatItsAgentSees(t *testing.T) {
	lines := []string{line(1, "user", asked), line(2, "assistant", fmt.Sprintf(calls, 1)), line(3, "user", fmt.Sprintf(result, 1))}
	for name, change := range map[string]func(p *Place){
		"at the original": func(p *Place) { p.Dir, p.To = p.To, "/shop" },
		"of one that was": func(p *Place) { p.From, p.Seen, p.Dir = "/branches/first", "/shop", p.To },
	} {
		t.Run(name, func(t *testing.T) {
			p, place := transcript(t, lines...)
			dir := place.To
			change(&place)
			c, err := Claude(p, place, time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(c.Path)
			if err != nil {
				t.Fatal(err)
			}
			if c.Dir != filepath.Join(dir, "sub") || c.Path != filepath.Join(ClaudeRecords(c.Home, c.Dir), c.Session+".jsonl") {
				t.Errorf("the copy is %+v", c)
			}
			for _, want := range []string{"look at " + place.To + "/a.js, not at /shop-2", `"cwd":"` + place.To + `/sub"`} {
				if !strings.Contains(string(data), want) {
					t.Errorf("the copy lacks %q: %s", want, data)
				}
			}
		})
	}
}

// TestABranchFromTheFirstPromptHasItsMode, so that its agent may do what the original may.
func TestABranchFromTheFirstPromptHasItsMode(t *testing.T) {
	prompt := strings.Replace(line(1, "user", asked), `"slug"`, `"promptId":"turn","permissionMode":"acceptEdits","slug"`, 1)
	later := strings.Replace(line(2, "user", asked), `"slug"`, `"promptId":"next","permissionMode":"plan","slug"`, 1)
	p, place := transcript(t, prompt, later)
	p.Turn, p.Asking = "turn", true
	if c, err := Claude(p, place, time.Unix(0, 0)); !errors.Is(err, ErrEmpty) || c == nil || c.Mode != "acceptEdits" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestACopyWithoutTheCallOfItsMomentSaysSo: the agent was killed before it wrote the result, or its record was damaged.
func TestACopyWithoutTheCallOfItsMomentSaysSo(t *testing.T) {
	whole := []string{line(1, "user", asked), line(2, "assistant", fmt.Sprintf(calls, 1)), line(3, "user", fmt.Sprintf(result, 1)), line(4, "assistant", fmt.Sprintf(calls, 2)), line(5, "user", fmt.Sprintf(result, 2))}
	for n, cut := range map[int]string{5: "", 4: Call, 3: Call, 1: Call} {
		p, place := transcript(t, whole[:n]...)
		p.Call = "t2"
		if c, err := Claude(p, place, time.Unix(0, 0)); err != nil || c.Cut != cut || (c.Note == "") != (cut == "") {
			t.Errorf("of %d lines, the copy is %+v, %v", n, c, err)
		}
	}
}
