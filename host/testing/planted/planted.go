// Package planted reads the secrets that tests plant, from protocol/testdata, and finds them where they must not be.
package planted

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/redact"
)

// Secret is a secret with the text around it.
type Secret struct {
	ID string
	// As is the form of the text: text, json, form, xml, url or header.
	As     string
	Text   string
	Secret string
	// Reach is "covered" where docs/REDACTION.md says that it is masked, "expected" where users only expect it.
	Reach string
}

// Covered returns the planted secrets that docs/REDACTION.md covers, of texts in these forms. Those of fewer than 8 characters are
// left out: they may be part of a time or an id.
func Covered(t testing.TB, forms ...string) []Secret {
	t.Helper()
	return slices.DeleteFunc(All(t), func(s Secret) bool {
		return s.Reach != "covered" || len(s.Secret) < 8 || !slices.Contains(forms, s.As)
	})
}

// InTexts returns the covered secrets of both files of secrets that are recognized in prose: neither the name of a header, the kind
// of a field nor that of a body is needed.
func InTexts(t testing.TB) []Secret {
	t.Helper()
	var file struct{ Secrets []Secret }
	read(t, "secrets.json", &file)
	return slices.DeleteFunc(append(file.Secrets, Covered(t, "text", "json", "form", "xml")...), func(s Secret) bool {
		text, _ := redact.Default().Text("use " + s.Text + " now")
		return len(s.Secret) < 8 || strings.Contains(text, s.Secret)
	})
}

// read decodes a file of protocol/testdata, whose parts of secrets it joins.
func read(t testing.TB, name string, into any) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	data, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../../protocol/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), "{}", "")), into); err != nil {
		t.Fatal(err)
	}
}

// NotIn reports each secret that is in a text, as it is or as JSON writes it. Texts have the names of their places.
func NotIn(t testing.TB, secrets []Secret, texts map[string]string) {
	t.Helper()
	for where, text := range texts {
		for _, s := range secrets {
			for _, form := range []string{s.Secret, jsonText(s.Secret)} {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("%s is in %s: …%s…", s.ID, where, text[max(0, at-150):min(len(text), at+len(form)+20)])
					break
				}
			}
		}
	}
}

// jsonText returns a text as it is inside a JSON string.
func jsonText(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text is always encoded
	return strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`)
}

// All returns every planted secret. Texts with a name and texts with a format are combined as the file says.
func All(t testing.TB) []Secret {
	t.Helper()
	type context struct{ ID, As, Text string }
	var file struct {
		Contexts, Wraps []context
		Named           []struct {
			Reach    string
			Keys, In []string
		}
		Formats []struct {
			ID, Secret, Reach string
			In                []string
		}
		Texts []Secret
	}
	read(t, "planted.json", &file)
	all := file.Texts
	for _, named := range file.Named {
		for _, key := range named.Keys {
			for _, c := range file.Contexts {
				if slices.Contains(named.In, c.ID) {
					secret := fmt.Sprintf("Planted-%04d", len(all))
					text := strings.NewReplacer("{key}", key, "{secret}", secret).Replace(c.Text)
					all = append(all, Secret{ID: key + " in " + c.ID, As: c.As, Text: text, Secret: secret, Reach: named.Reach})
				}
			}
		}
	}
	for _, f := range file.Formats {
		for _, c := range file.Wraps {
			if len(f.In) == 0 || slices.Contains(f.In, c.ID) {
				text := strings.ReplaceAll(c.Text, "{secret}", f.Secret)
				all = append(all, Secret{ID: f.ID + " in " + c.ID, As: c.As, Text: text, Secret: f.Secret, Reach: f.Reach})
			}
		}
	}
	return all
}
