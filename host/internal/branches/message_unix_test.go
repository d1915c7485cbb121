//go:build unix

package branches_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
)

// A message to an agent may have a secret: the agent gets it as it was written, and nothing keeps it.
func TestASecretInTheMessageOfABranchIsNotKept(t *testing.T) {
	s := opened(t)
	got := filepath.Join(s.top, "got")
	failing(syscall.Mkfifo(got, 0o600))
	s.Settings.Commands = map[string][]string{"claude": {"/bin/sh", "-c", `printf '%s\n' "$@" > "$0"`, got}}
	from := s.record()
	secret := "ghp_" + strings.Repeat("0aB", 12)
	message := "use token " + secret + " there\nand password: |\n  hunter2Bx7Qz9Lm"
	kept := func(when string) {
		t.Helper()
		if data := read(t, filepath.Join(s.top, "timeline.db")); strings.Contains(data, secret) || strings.Contains(data, "hunter2Bx7Qz9Lm") {
			t.Error(when, "is kept with the secret")
		}
	}
	b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: from, Name: "started", Message: message})
	if err != nil {
		t.Fatal(err)
	}
	if text := read(t, got); !strings.HasSuffix(text, message+"\n") {
		t.Errorf("the agent got %q", text)
	}
	if strings.Contains(b.Message, secret) || !strings.Contains(b.Message, "use token") {
		t.Errorf("the answer has the message %q", b.Message)
	}
	kept("a branch whose agent was started")

	s.Settings.Commands = map[string][]string{"claude": {filepath.Join(s.top, "missing")}}
	if _, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: from, Name: "later", Message: message}); err != nil {
		t.Fatal(err)
	}
	kept("a branch whose agent was not started")
	c, err := s.Open(t.Context(), user, branches.OneParams{Where: s.where(), Name: "later"})
	if err != nil || !strings.HasSuffix(c.Line[len(c.Line)-1], message) {
		t.Errorf("it is started later with %q, %v", c.Line, err)
	}
}
