//go:build unix

package providertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user without rights.
const nobody = 65534

// asUser runs the test as a user without rights if it runs as root, and reports whether it did.
func asUser(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	home, err := os.MkdirTemp("", "user") // the directory that t.TempDir makes is in one that others cannot enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(home) })
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Skipf("a file cannot be given to another user: %v", err)
	}
	var names []string
	for name := range strings.SplitSeq(t.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	// The directory of this program may be closed to others.
	self := filepath.Join(home, "test")
	program, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(self, program, 0o755) //nolint:gosec // a program
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.run", strings.Join(names, "/")) //nolint:gosec // this test
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("as another user: %v\n%s", err, out)
	}
	return true
}
