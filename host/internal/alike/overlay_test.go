package alike

import "testing"

func TestAnOverlayNamesTheOneModuleThatIsMissing(t *testing.T) {
	const missing = "Compiled with problems: ERROR in ./src/App.jsx 3:0-30 Module not found: Error: Can't resolve './MissingItem' in '/shop/src'"
	for text, want := range map[string]string{
		missing:                 "./MissingItem",
		missing + " " + missing: "", // it has one place for two
		"Can't resolve './MissingItem' in '/shop/src'": "",
		"Module not found: Error: Can't resolve ''":    "",
	} {
		if got := MissingImport(text); got != want {
			t.Errorf("%q is missing in %q, not %q", got, text, want)
		}
	}
}
