package grants_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// newStore returns a store in a directory of its own, and an empty directory for projects.
func newStore(t testing.TB) (*grants.Store, string) {
	t.Helper()
	h := home.Home{State: filepath.Join(t.TempDir(), "home")}
	h.Config = filepath.Join(h.State, "config.toml")
	dir, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &grants.Store{File: h.Grants(), Lock: h.LockGrants, Own: []string{h.State}, Clock: time.Now}, dir
}

func mkdir(t testing.TB, elements ...string) string {
	t.Helper()
	dir := filepath.Join(elements...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// must returns a decision that was made without an error.
func must(t testing.TB) func(d grants.Decision, err error) grants.Decision {
	return func(d grants.Decision, err error) grants.Decision {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

func TestNothingIsAllowedUntilTheUserAllowedIt(t *testing.T) {
	s, dir := newStore(t)
	d, err := s.Require(dir, grants.Workspace)
	if d.State != grants.Undecided || d.Has(grants.Workspace) || usererr.CodeOf(err) != usererr.NotAllowed ||
		!strings.Contains(err.Error(), "run `tidemark project allow "+dir+"`") {
		t.Fatalf("%+v, %v", d, err)
	}
	if _, err := os.Stat(s.File); !os.IsNotExist(err) {
		t.Error("reading wrote the file")
	}
	d = must(t)(s.Allow(t.Context(), dir, nil, nil))
	for _, g := range grants.Table {
		if d.Has(g.Name) != g.Default {
			t.Errorf("%s is %v", g.Name, d.Has(g.Name))
		}
	}
	if _, err := s.Require(dir, grants.Workspace); err != nil {
		t.Error(err)
	}
	if _, err := s.Require(dir, grants.AgentsRestore); err == nil || !strings.Contains(err.Error(), "`tidemark project allow --grant agents-restore "+dir+"`") {
		t.Error(err)
	}
	if info, err := os.Stat(s.File); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestASecondDecisionChangesOnlyWhatItNames(t *testing.T) {
	s, dir := newStore(t)
	must(t)(s.Allow(t.Context(), dir, []string{grants.AgentsRestore}, nil))
	d := must(t)(s.Allow(t.Context(), dir, []string{grants.AgentsBranch}, nil))
	if !d.Has(grants.Workspace) || !d.Has(grants.AgentsRestore) || !d.Has(grants.AgentsBranch) {
		t.Errorf("%+v", d)
	}
	d = must(t)(s.Allow(t.Context(), dir, nil, []string{grants.AgentsRestore, grants.Workspace}))
	if d.Has(grants.Workspace) || d.Has(grants.AgentsRestore) || !d.Has(grants.AgentsBranch) {
		t.Errorf("%+v", d)
	}
	// A denial leaves nothing for a later permission.
	must(t)(s.Deny(t.Context(), dir))
	if d = must(t)(s.Allow(t.Context(), dir, nil, nil)); d.Has(grants.AgentsBranch) || !d.Has(grants.Workspace) {
		t.Errorf("%+v", d)
	}
	for _, c := range [][2][]string{{{"everything"}, nil}, {nil, {""}}, {{grants.Workspace}, {grants.Workspace}}} {
		if _, err := s.Allow(t.Context(), dir, c[0], c[1]); usererr.CodeOf(err) != usererr.InvalidArgument {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestAGrantHasItsTime: it stays as long as the grant does.
func TestAGrantHasItsTime(t *testing.T) {
	s, dir := newStore(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s.Clock = func() time.Time { now = now.Add(time.Minute); return now }
	first := must(t)(s.Allow(t.Context(), dir, []string{grants.Conversation}, nil)).Since(grants.Conversation)
	if d := must(t)(s.Allow(t.Context(), dir, []string{grants.Fence}, nil)); first.IsZero() || !d.Since(grants.Conversation).Equal(first) || !d.Since(grants.Fence).Equal(now) {
		t.Errorf("%v, %v", first, d)
	}
	if d := must(t)(s.Allow(t.Context(), dir, nil, []string{grants.Conversation})); !d.Since(grants.Conversation).IsZero() {
		t.Errorf("%v", d)
	}
	if must(t)(s.Allow(t.Context(), dir, []string{grants.Conversation}, nil)); !must(t)(s.Lookup(mkdir(t, dir, "src"))).Since(grants.Conversation).Equal(now) {
		t.Error("a grant that is given again has its old time")
	}
	must(t)(s.Deny(t.Context(), dir))
	if d := must(t)(s.Allow(t.Context(), dir, nil, nil)); !d.Since(grants.Workspace).Equal(now) {
		t.Errorf("%v", d)
	}
}

func TestADeniedDirectoryBelowIsLeftOut(t *testing.T) {
	s, dir := newStore(t)
	secrets, partly := mkdir(t, dir, "a", "secrets"), mkdir(t, dir, "partly")
	mkdir(t, dir, "a", "secrets2")
	must(t)(s.Allow(t.Context(), dir, nil, nil))
	must(t)(s.Deny(t.Context(), secrets))
	must(t)(s.Allow(t.Context(), partly, []string{grants.AgentsBranch}, []string{grants.Workspace}))
	d := must(t)(s.Lookup(dir))
	out, branch := d.Without(grants.Workspace), d.Without(grants.AgentsBranch)
	for path, want := range map[string][2]bool{
		"a": {}, "a/secrets": {true, true}, "a/secrets/x/y": {true, true}, "a/secrets2": {}, "partly": {true, false}, "x/partly": {},
	} {
		if got := [2]bool{grants.Covers(out, path), grants.Covers(branch, path)}; got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if below := d.Below(); len(below) != 2 || below[0].Dir != secrets || below[0].State != grants.Denied || below[1].Dir != partly {
		t.Errorf("%+v", below)
	}
	if d := must(t)(s.Lookup(mkdir(t, secrets, "deep"))); d.State != grants.Denied || d.For != secrets {
		t.Errorf("%+v", d)
	}
}

// A denial applies though it cannot be saved, until the file has a newer decision for the directory.
func TestADenialThatCannotBeSavedApplies(t *testing.T) {
	s, dir := newStore(t)
	sub := mkdir(t, dir, "sub")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s.Clock = func() time.Time { now = now.Add(time.Second); return now }
	if err := s.DenyUnsaved(sub); err != nil { // without a file
		t.Fatal(err)
	}
	if d := must(t)(s.Lookup(sub)); d.State != grants.Denied || d.For != sub {
		t.Errorf("%+v", d)
	}
	cli := &grants.Store{File: s.File, Lock: s.Lock, Clock: s.Clock} // another process
	must(t)(cli.Allow(t.Context(), dir, nil, nil))
	if d := must(t)(s.Lookup(dir)); d.State != grants.Allowed || !slices.Equal(d.Without(grants.Workspace), []string{"sub"}) {
		t.Errorf("%+v", d)
	}
	if err := s.DenyUnsaved(dir); err != nil {
		t.Fatal(err)
	}
	_, err := s.Require(dir, grants.Workspace)
	if usererr.CodeOf(err) != usererr.NotAllowed || !strings.Contains(err.Error(), "the user denied it") {
		t.Error(err)
	}
	if d := must(t)(cli.Lookup(dir)); d.State != grants.Allowed {
		t.Errorf("it was saved: %+v", d)
	}
	must(t)(cli.Allow(t.Context(), dir, nil, nil))
	if d := must(t)(s.Lookup(dir)); d.State != grants.Allowed {
		t.Errorf("a newer decision does not apply: %+v", d)
	}
}

func TestAFullDiskIsNamed(t *testing.T) {
	s, dir := newStore(t)
	full := disktest.Small(t, "64k")
	s.File = filepath.Join(full, "grants.json")
	must(t)(s.Allow(t.Context(), dir, nil, nil))
	if err := os.WriteFile(filepath.Join(full, "ballast"), make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	_, err := s.Deny(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), "Free some space on its disk, then run the command again.") {
		t.Error(err)
	}
	if d := must(t)(s.Lookup(dir)); d.State != grants.Allowed {
		t.Errorf("%+v", d)
	}
}

// The decisions for a directory that was moved, and for those below it, are taken along when the user says so.
func TestDecisionsMove(t *testing.T) {
	s, root := newStore(t)
	old, beside := mkdir(t, root, "old"), mkdir(t, root, "older")
	secrets, both := mkdir(t, old, "secrets"), mkdir(t, old, "both")
	must(t)(s.Allow(t.Context(), old, []string{grants.AgentsBranch}, nil))
	must(t)(s.Deny(t.Context(), secrets))
	must(t)(s.Deny(t.Context(), both))
	must(t)(s.Deny(t.Context(), beside))
	place := filepath.Join(root, "place")
	if err := os.Rename(old, place); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Allow(t.Context(), filepath.Join(place, "both"), nil, nil))
	if d := must(t)(s.Lookup(place)); d.State != grants.Undecided {
		t.Errorf("%+v", d)
	}
	for range 2 { // the second call has nothing to do
		if err := s.Move(t.Context(), old, place); err != nil {
			t.Fatal(err)
		}
		all, err := s.All()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range all {
			got = append(got, filepath.ToSlash(strings.TrimPrefix(d.Dir, root))+" "+string(d.State))
		}
		if want := []string{"/older denied", "/place allowed", "/place/both allowed", "/place/secrets denied"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if d := must(t)(s.Lookup(place)); !d.Has(grants.AgentsBranch) {
			t.Errorf("%+v", d)
		}
	}
}

// The nearest decision at or above a directory applies, and no other.
func TestTheNearestDecisionApplies(t *testing.T) {
	s, root := newStore(t)
	names := []string{"a", "ab", "b\n", "ü"}
	switch runtime.GOOS {
	case "windows": // whose names have no control characters
		names[2] = "b n"
	case "linux":
		names = append(names, "\xff\xfe", "\xff")
	}
	var dirs []string
	var fill func(dir string, depth int)
	fill = func(dir string, depth int) {
		dirs = append(dirs, dir)
		for _, name := range names {
			if depth > 0 {
				fill(mkdir(t, dir, name), depth-1)
			}
		}
	}
	fill(root, 3)
	rapid.Check(t, func(t *rapid.T) {
		_ = os.Remove(s.File)
		model := map[string]grants.State{}
		for range rapid.IntRange(0, 8).Draw(t, "decisions") {
			dir := rapid.SampledFrom(dirs).Draw(t, "dir")
			var err error
			switch rapid.IntRange(0, 3).Draw(t, "decision") {
			case 0:
				_, err = s.Deny(context.Background(), dir)
				model[dir] = grants.Denied
			case 1:
				if _, err = s.Forget(context.Background(), dir); model[dir] == "" && usererr.CodeOf(err) == usererr.NotFound {
					err = nil
				}
				delete(model, dir)
			default:
				_, err = s.Allow(context.Background(), dir, nil, nil)
				model[dir] = grants.Allowed
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			dir := rapid.SampledFrom(dirs).Draw(t, "asked")
			want, at := grants.Undecided, ""
			for p := dir; len(p) >= len(root); p = filepath.Dir(p) {
				if model[p] != "" {
					want, at = model[p], p
					break
				}
			}
			d, err := s.Lookup(dir)
			if err != nil || d.State != want || d.For != at || d.Has(grants.Workspace) != (want == grants.Allowed) {
				t.Fatalf("%q: %+v, want %s by %q (%v)", dir, d, want, at, err)
			}
		}
		all, err := s.All()
		if err != nil || len(all) != len(model) {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, d := range all {
			if model[d.Dir] != d.State {
				t.Fatalf("%q: %s", d.Dir, d.State)
			}
		}
	})
}

func TestNoLinkBringsADecisionWithIt(t *testing.T) {
	s, root := newStore(t)
	real, other := mkdir(t, root, "real", "sub"), mkdir(t, root, "other", "sub")
	link := filepath.Join(root, "link")
	if err := symlink(filepath.Join(root, "real"), link); err != nil {
		t.Skipf("symbolic links cannot be made here: %v", err)
	}
	// A decision by a link is about the directory behind it.
	if d := must(t)(s.Allow(t.Context(), filepath.Join(link, "sub"), nil, nil)); d.For != real {
		t.Errorf("%+v", d)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(filepath.Join(root, "other"), link)); err != nil {
		t.Fatal(err)
	}
	if d := must(t)(s.Lookup(filepath.Join(link, "sub"))); d.State != grants.Undecided || d.Dir != other {
		t.Errorf("%+v", d)
	}
	// An allowed directory that is moved loses the decision, and a link in its place gets none.
	moved := filepath.Join(root, "moved")
	if err := errors.Join(os.Rename(filepath.Join(root, "real"), moved), os.Symlink(filepath.Join(root, "other"), filepath.Join(root, "real"))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(moved, "sub"), real} {
		if d := must(t)(s.Lookup(dir)); d.State != grants.Undecided {
			t.Errorf("%s: %+v", dir, d)
		}
	}
	// Its decision can still be removed, by the path that the list shows, and no other.
	must(t)(s.Deny(t.Context(), other))
	if got, err := s.Forget(t.Context(), real); err != nil || got != real {
		t.Errorf("%s, %v", got, err)
	}
	if all, err := s.All(); err != nil || len(all) != 1 || all[0].Dir != other {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestADecisionForAMissingDirectoryCanBeRemoved(t *testing.T) {
	s, root := newStore(t)
	dir := mkdir(t, root, "a")
	must(t)(s.Allow(t.Context(), dir, nil, nil))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup(dir); err == nil {
		t.Error("a missing directory has a decision")
	}
	if got, err := s.Forget(t.Context(), dir); err != nil || got != dir {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := s.Forget(t.Context(), dir); usererr.CodeOf(err) != usererr.NotFound {
		t.Error(err)
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Allow(t.Context(), file, nil, nil); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Error(err)
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	s, root := newStore(t)
	var all sync.WaitGroup
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		pause := time.Duration(1)
		if runtime.GOOS == "windows" {
			pause = 5 * time.Millisecond // it replaces no open file, and nobody reads one all the time
		}
		again := time.NewTicker(pause)
		defer again.Stop()
		for {
			select {
			case <-stop:
				return
			case <-again.C:
			}
			if _, err := s.All(); err != nil && runtime.GOOS != "windows" {
				t.Error(err)
				return
			}
		}
	})
	const writers = 24
	for i := range writers {
		dir := mkdir(t, root, fmt.Sprint(i))
		all.Go(func() {
			var err error
			if i%2 == 0 {
				_, err = s.Allow(t.Context(), dir, nil, nil)
			} else {
				_, err = s.Deny(t.Context(), dir)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(stop)
	reader.Wait()
	if decisions, err := s.All(); err != nil || len(decisions) != writers {
		t.Errorf("%d decisions, %v", len(decisions), err)
	}
}

func TestADamagedFileAllowsNothingAndIsKept(t *testing.T) {
	s, dir := newStore(t)
	must(t)(s.Allow(t.Context(), dir, nil, nil))
	good, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	project := func(fields string) string { return `{"format":1,"projects":[{` + fields + `}]}` }
	at := `"decided":"2026-01-02T03:04:05Z"`
	for _, c := range []struct{ content, why string }{
		{"", "unexpected end"},
		{string(good[:len(good)/2]), "unexpected end"},
		{string(good) + "{}", "invalid character"},
		{"\xff", "not UTF-8"},
		{"[]", "cannot unmarshal"},
		{"{}", "it has no format"},
		{`{"format":2,"new":true}`, "newer version of Tidemark (format 2, known 1). Nothing is allowed until you update Tidemark"},
		{`{"format":1,"projects":[],"all":"allow"}`, "unknown field"},
		{project(`"path":"` + filepath.ToSlash(dir) + `","decision":"allow","only":"a",` + at), "unknown field"},
		{project(`"path":"relative","decision":"allow",` + at), "not an absolute path"},
		{project(`"path":"/a/../b","decision":"allow",` + at), "not an absolute path"},
		{project(`"path":"/a","decision":"yes",` + at), "neither allow nor deny"},
		{project(`"path":"/a","decision":"deny","grants":["workspace"],` + at), "is denied and has grants"},
		{project(`"path":"/a","decision":"allow","decided":"soon"`), "pars"},
		{project(`"path":"/a","decision":"deny",` + at + `},{"path":"/a","decision":"allow",` + at), "two decisions"},
		{strings.Repeat(`{"format":`, 2000), "nested"},
	} {
		if runtime.GOOS == "windows" && strings.Contains(c.content, `"/a`) {
			continue // not absolute there
		}
		if err := os.WriteFile(s.File, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := s.Require(dir, grants.Workspace)
		if d.Has(grants.Workspace) || err == nil || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), "Nothing is allowed") ||
			!strings.Contains(err.Error(), s.File) || usererr.CodeOf(err) != usererr.NotAllowed {
			t.Errorf("%.60q: %v", c.content, err)
		}
		if _, err := s.Allow(t.Context(), dir, nil, nil); err == nil {
			t.Errorf("%.60q: was overwritten", c.content)
		}
		if data, err := os.ReadFile(s.File); err != nil || string(data) != c.content {
			t.Errorf("%.60q: is now %.60q, %v", c.content, data, err)
		}
	}
}

func TestAFileThatOthersCanWriteAllowsNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes on Windows")
	}
	s, dir := newStore(t)
	must(t)(s.Allow(t.Context(), dir, nil, nil))
	if err := os.Chmod(s.File, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup(dir); usererr.CodeOf(err) != usererr.NotAllowed || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

// A newer version may know more grants. They have no effect here and are not lost.
func TestGrantsOfOtherVersionsAreKept(t *testing.T) {
	s, dir := newStore(t)
	must(t)(s.Allow(t.Context(), dir, nil, nil))
	data, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), `"workspace"`, `"terminal", "workspace"`, 1)
	if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Allow(t.Context(), dir, []string{grants.AgentsBranch}, nil))
	if data, err = os.ReadFile(s.File); err != nil || !strings.Contains(string(data), `"terminal"`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestAPathThatCannotBeOneIsAMistake(t *testing.T) {
	for _, dir := range []string{"a\x00b", strings.Repeat("a", 5000)} {
		if _, err := grants.Resolve(dir); usererr.CodeOf(err) != usererr.InvalidArgument || len(err.Error()) > 300 {
			t.Errorf("%.20q: %v", dir, err)
		}
	}
}

func TestPathsForMessagesAndShells(t *testing.T) {
	for _, c := range []struct{ path, printable, quoted string }{
		{"/a/b-c_1.2", "/a/b-c_1.2", "/a/b-c_1.2"},
		{"/a b/ü", "/a b/ü", "'/a b/ü'"},
		{"/it's", "/it's", `'/it'\''s'`},
		{"/a\n\x1b[2J", `"/a\n\x1b[2J"`, ""},
		{"/\xff", `"/\xff"`, ""},
		{"/a\u202eb", `"/a\u202eb"`, ""},
		{"/$(x)", "/$(x)", "'/$(x)'"},
	} {
		quoted, ok := grants.Quoted(c.path)
		if got := grants.Printable(c.path); got != c.printable || ok != (c.quoted != "") || runtime.GOOS != "windows" && quoted != c.quoted {
			t.Errorf("%q: %s, %s", c.path, got, quoted)
		}
	}
	if p := grants.PathOf("/\xff"); p.String() != "/\xff" || p.Text != "/\uFFFD" {
		t.Errorf("%+v", p)
	}
}

func TestTheTableIsComplete(t *testing.T) {
	for _, g := range grants.Table {
		if g.Name == "" || !strings.HasSuffix(g.About, ".") {
			t.Errorf("%+v", g)
		}
	}
	if names := grants.Names(); len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(grants.Table) {
		t.Error(names)
	}
}

// symlink makes a symbolic link. Wine 8 returns no error and makes none.
func symlink(target, path string) error {
	if err := os.Symlink(target, path); err != nil {
		return err
	}
	_, err := os.Lstat(path)
	return err
}
