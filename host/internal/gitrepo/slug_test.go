package gitrepo_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/gitrepo"
)

// apart are names of worktrees that Claude Code keeps apart.
var apart = []string{
	"v1.2", "v1-2", "v1_2", "release/2", "release-2", "release.2", "release+2", "Foo", "foo", "FOO", "worktree", "a", "-a", "_a", "a.", "a-", ".", "..", "a..b", "x.lock",
	"implement-user-authentication-flow-with-mobile", "implement-user-authentication-flow-with-mobile-v2",
	strings.Repeat("x", 40), strings.Repeat("x", 41), strings.Repeat("x", 64),
}

// TestNamesThatDifferHaveSlugsThatDiffer, also on a system where upper and lower case are the same.
func TestNamesThatDifferHaveSlugsThatDiffer(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)
	of := map[string]string{}
	check := func(name string) string {
		slug := gitrepo.Slug(name)
		if !valid.MatchString(slug) {
			t.Errorf("the slug of %q is %q", name, slug)
		}
		if other, ok := of[slug]; ok {
			t.Errorf("%q and %q have the slug %q", name, other, slug)
		}
		of[slug] = name
		return slug
	}
	for _, name := range apart {
		slug := check(name)
		if slug != name {
			check(slug) // somebody can use it as a name
		}
	}
	for _, name := range []string{"foo", "v1-2", "worktree", "feature_2"} {
		if got := gitrepo.Slug(name); got != name {
			t.Errorf("the slug of %q is %q", name, got)
		}
	}
}

// TestNamesThatDifferAreWorktreesThatDiffer, and the same name is the same worktree.
func TestNamesThatDifferAreWorktreesThatDiffer(t *testing.T) {
	r := newRepo(t, "a")
	of := map[string]string{}
	for _, name := range []string{"v1.2", "v1-2", "Foo", "foo", "x.lock"} {
		path, err := gitrepo.AddWorktree(t.Context(), r.dir, name)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := gitrepo.AddWorktree(t.Context(), r.dir, name); err != nil || again != path || filepath.Dir(path) != filepath.Join(r.dir, ".claude", "worktrees") {
			t.Errorf("%q is at %s, then at %s: %v", name, path, again, err)
		}
		if other, ok := of[path]; ok {
			t.Errorf("%q and %q are at %s", name, other, path)
		}
		of[path] = name
	}
}
