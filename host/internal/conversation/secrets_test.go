package conversation_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/testing/planted"
)

func TestNoPlantedSecretIsOnDisk(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.SessionStart, nil)
	secrets := planted.InTexts(t)
	if len(secrets) < 350 {
		t.Errorf("only %d secrets are planted", len(secrets))
	}
	for _, s := range secrets {
		quoted, err := json.Marshal(map[string]any{"command": "cat <<'END'\n" + s.Text + "\nEND", "list": []any{map[string]any{"text": s.Text}}})
		if err != nil {
			t.Fatal(err)
		}
		raw := json.RawMessage(quoted)
		if json.Valid([]byte(s.Text)) {
			raw = json.RawMessage(s.Text)
		}
		w.record(conversation.Prompt, func(e *conversation.Event) { e.Text, e.Turn = "please use\n"+s.Text, s.ID })
		w.record(conversation.Result, func(e *conversation.Event) {
			e.Call, e.Tool, e.Input, e.Output = "c-"+s.ID, "Bash", quoted, raw
		})
		w.record(conversation.Stop, func(e *conversation.Event) { e.Text = s.Text })
		if stored := w.stored(); strings.Contains(stored, s.Secret) {
			i := strings.Index(stored, s.Secret)
			t.Errorf("%s is on disk: …%s…", s.ID, stored[max(0, i-80):min(len(stored), i+80)])
			if err := w.store.Record(w.event(conversation.Stop, nil)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Results of calls are masked as the data that they are.
func TestNoPlantedSecretInDataIsOnDisk(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.SessionStart, nil)
	secrets := planted.Covered(t, "json")
	for i, s := range secrets {
		if raw := json.RawMessage(s.Text); json.Valid(raw) {
			w.record(conversation.Result, func(e *conversation.Event) {
				e.Call, e.Tool, e.Input, e.Output = fmt.Sprint("c", i), "fetch", raw, raw
			})
		}
	}
	planted.NotIn(t, secrets, map[string]string{"the recording": w.stored()})
}

// A line of data whose quotes are escaped is still data.
func TestSecretsInEscapedDataAreMasked(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.Prompt, func(e *conversation.Event) {
		e.Turn, e.Text = "1", "\"look:\n{\\\"user\\\":\\\"ann\\\",\\\"session\\\":\\\"s-5f1d7a84db00d2fce00b31a7fc73224f\\\"}\nand that\""
	})
	if stored := w.stored(); strings.Contains(stored, "5f1d7a84") || !strings.Contains(stored, "ann") || !strings.Contains(stored, "and that") {
		t.Error(stored)
	}
}

func TestFilesThatLookLikeSecretsAreNotStored(t *testing.T) {
	w := newWorld(t)
	for i, input := range []string{`{"file_path":"/shop/.env"}`, `{"path":"keys/id_ed25519"}`, `{"filePath":"C:\\shop\\.npmrc"}`} {
		w.record(conversation.Result, func(e *conversation.Event) {
			e.Call, e.Tool, e.Input, e.Output = string(rune('a'+i)), "Read", json.RawMessage(input), json.RawMessage(`{"content":"plain-unnamed-word"}`)
		})
	}
	patch, _ := json.Marshal("*** Begin Patch\n*** Add File: .env.local\n+plain-unnamed-word\n*** End Patch\n")
	w.record(conversation.Call, func(e *conversation.Event) { e.Call, e.Tool, e.Input = "p", "apply_patch", patch })
	w.record(conversation.Call, func(e *conversation.Event) {
		e.Call, e.Tool, e.Input = "later", "Read", json.RawMessage(`{"file_path":".env"}`)
	})
	w.reopen()
	w.record(conversation.Result, func(e *conversation.Event) {
		e.Call, e.Output = "later", json.RawMessage(`"plain-unnamed-word"`)
	})
	if strings.Contains(w.stored(), "plain-unnamed-word") {
		t.Error(w.stored())
	}
}

func TestASecretAtTheBorderOfACutTextIsMasked(t *testing.T) {
	w := newWorld(t)
	secret := "ghp_" + strings.Repeat("0aB", 12)
	for shift := range 60 {
		text := strings.Repeat("x", 48<<10-shift*2) + " " + secret + " " + strings.Repeat("y", 300<<10)
		w.record(conversation.Prompt, func(e *conversation.Event) { e.Text, e.Turn = text, string(rune('A'+shift)) })
	}
	if stored := w.stored(); strings.Contains(stored, secret[:12]) {
		t.Error("a part of a secret is on disk")
	}
}

// Masks may be shorter than the secrets, so that the border at which a hook cut a text is stored.
func TestASecretAtTheBorderOfWhatAHookSendsIsMasked(t *testing.T) {
	w := newWorld(t)
	secret := strings.Repeat("kQ9zXw7Rt5Yb3Mn1", 60)
	for i, text := range []string{
		"password=" + secret + "\n", "Authorization: Bearer " + secret + "\n", "--token " + secret + " ", "{\"api_key\":\"" + secret + "\"}",
		"-----BEGIN PRIVATE " + "KEY-----\n" + strings.Repeat(secret[:64]+"\n", 25) + "-----END PRIVATE " + "KEY-----\n",
	} {
		e := conversation.Event{Kind: conversation.Prompt, Text: strings.Repeat(text, 300_000/len(text))}
		e.Trim()
		if len(e.Text) > 256<<10+8 || e.Cut == 0 {
			t.Errorf("%d bytes are sent, %d were cut", len(e.Text), e.Cut)
		}
		w.record(conversation.Prompt, func(sent *conversation.Event) {
			sent.Text, sent.Cut, sent.Turn = e.Text, e.Cut, string(rune('A'+i))
		})
		if stored := w.stored(); strings.Contains(stored, secret[:16]) {
			t.Errorf("%.20q: a part of a secret is on disk", text)
		}
	}
}

// severalLines are secrets that are recognized by another line than their own.
var severalLines = []string{
	"-----BEGIN PRIVATE " + "KEY-----\nMIIEplanted41\n@@\n-----END PRIVATE " + "KEY-----",
	"--b\nContent-Disposition: form-data; name=\"password\"\n\n@@\n--b--",
	"password: |\n  @@",
	"{\"password\":\n \"@@\"}",
	"{\n  \"password\":\n    \"@@\",\n  \"user\": \"ann\"\n}",
	"[[\"password\",\n\"@@\"]]",
	"export API_KEY=\\\n@@",
}

// Claude Code's results have the lines of a patch as a list, and diffs have a sign before each line.
func TestSecretsOverSeveralLinesAreMasked(t *testing.T) {
	w := newWorld(t)
	w.record(conversation.SessionStart, nil)
	for i, text := range severalLines {
		secret := fmt.Sprintf("hunter%dBx7Qz9Lm", i)
		text = strings.ReplaceAll(text, "@@", secret)
		signed := func(sign string) []string {
			return strings.Split(sign+strings.ReplaceAll(text, "\n", "\n"+sign), "\n")
		}
		diff := func(sign string) string {
			return "$ git diff\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@ func a\n one\n-two\n" + strings.Join(signed(sign), "\n") + "\n+three\n kept\nend\n"
		}
		lines := func(sign string) []string {
			return append(append([]string{" const kept = 1", "-const a = 1"}, signed(sign)...), " kept")
		}
		for name, output := range map[string]any{
			"added lines":     map[string]any{"structuredPatch": []any{map[string]any{"oldStart": 1, "lines": lines("+")}}},
			"removed lines":   map[string]any{"structuredPatch": []any{map[string]any{"lines": lines("-")}}},
			"lines of before": map[string]any{"structuredPatch": []any{map[string]any{"lines": lines(" ")}}},
			"a list":          map[string]any{"rows": strings.Split(text, "\n")},
			"a diff":          map[string]any{"stdout": diff("+")},
			"a diff, removed": map[string]any{"stdout": diff("-")},
			"a diff, kept":    map[string]any{"stdout": diff(" ")},
			"a patch":         "*** Begin Patch\n*** Add File: x\n" + strings.Join(signed("+"), "\n") + "\n*** End Patch\n",
			"a text":          "before\n" + text + "\nafter\n",
			"blocks":          map[string]any{"content": blocks(strings.Split(text, "\n"))},
		} {
			raw, err := json.Marshal(output)
			if err != nil {
				t.Fatal(err)
			}
			e := w.event(conversation.Result, func(e *conversation.Event) { e.Tool, e.Input, e.Output = "Edit", raw, raw })
			e.Clean(w.o.Redactor)
			for _, got := range []string{string(e.Input), string(e.Output)} {
				if strings.Contains(got, secret) {
					t.Errorf("%s of %q: %s", name, text, got)
				}
			}
			if strings.HasSuffix(name, " lines") && strings.Count(string(e.Output), `","`) != strings.Count(string(raw), `","`) {
				t.Errorf("%s of %q: lines are missing: %s", name, text, e.Output)
			}
		}
	}
}

// blocks returns texts as the parts of a result, with a picture among them.
func blocks(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, map[string]any{"type": "text", "text": text}, map[string]any{"type": "image", "source": map[string]any{"type": "url"}})
	}
	return all
}

// A secret in one block of a message may have its name in the one before. Claude Code's hook gets the message as one text.
func TestAMessageOfSeveralTextsIsOnePrompt(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "projects", "x", "s.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(`{"type":"user","timestamp":%q,"cwd":%q,"promptId":"t1","message":{"content":[{"type":"text","text":"Log in, the password:"},{"type":"text","text":"hunter2Bx7Qz9Lm"},{"type":"text","text":"and go on"}]}}`+"\n",
		w.now().Format(time.RFC3339Nano), w.root)
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []bool{false, true} {
		if hook {
			w.record(conversation.Prompt, func(e *conversation.Event) {
				e.Turn, e.Text = "t1", "Log in, the password:\nhunter2Bx7Qz9Lm\nand go on"
			})
		}
		w.record(conversation.Stop, func(e *conversation.Event) { e.Transcript = path })
		o := w.show()
		if len(o.Turns) != 1 || o.Turns[0].Prompt != "Log in, the password:\n[masked]\nand go on" || strings.Contains(w.stored(), "hunter2") {
			t.Errorf("the turns are %+v; stored is %s", o.Turns, w.stored())
		}
	}
}
