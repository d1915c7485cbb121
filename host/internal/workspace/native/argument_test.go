package native_test

import (
	"os/exec"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/native"
)

// TestAnArgumentIsOne to the shell, whatever is in the name.
func TestAnArgumentIsOne(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is missing")
	}
	for _, name := range []string{"/plain", "/my 'disk", "/$(id)`id`;&", "/line\n\\'\"\xff", "-o"} {
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s/ "+native.Argument(name)).Output() //nolint:gosec // a test's names
		if err != nil || string(out) != name+"/" {
			t.Errorf("%q of %s, %v", out, native.Argument(name), err)
		}
	}
}
