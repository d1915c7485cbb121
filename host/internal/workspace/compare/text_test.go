package compare_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

func TestTheTextIsThatOfGit(t *testing.T) {
	d := diffOf(t,
		files{"a b": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "bin": "\x00a", "gone": "x", "link": "-> a", ".env": "KEY=1\n", "huge": strings.Repeat("x", 1<<20+1)},
		files{"a b": "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "bin": "\x00ab", "new\nname": "\x1b[31mred", "link": "-> b\x1b", ".env": "KEY=2\nB=1\n", "huge": "x"},
		compare.Options{})
	want := `# .env: modified, +2 -1; not shown, it looks like a secret: environment variables, often with passwords and keys
diff --git a/a b b/a b
--- a/a b	
+++ b/a b	
@@ -2,7 +2,7 @@
 2
 3
 4
-5
+five
 6
 7
 8
# bin: modified; not shown, binary: 2 → 3 bytes
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
\ No newline at end of file
# huge: modified; not shown, large: it is larger than 1 MiB
diff --git a/link b/link
--- a/link
+++ b/link
@@ -1 +1 @@
-a
\ No newline at end of file
+b\x1b
\ No newline at end of file
diff --git "a/new\nname" "b/new\nname"
new file mode 100644
--- /dev/null
+++ "b/new\nname"
@@ -0,0 +1 @@
+\x1b[31mred
\ No newline at end of file
`
	if got := d.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if d.Applies || d.Escaped != 2 || d.Uncounted != 2 || d.Added != 5 || d.Removed != 4 {
		t.Errorf("%+v", d)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	paths := []string{
		".env", "app/.env.local", "x/server.pem", ".ssh/id_rsa", "tls.KEY", "aws/credentials", "credentials.json", ".npmrc", ".netrc", "cert.p12",
		"kubeconfig", "home/.kube/config", "gcp/service-account-1.json", ".docker/config.json", "prod.tfvars", "secrets.yml",
	}
	for _, path := range paths {
		before, after := files{path: "zebra-before\n"}, files{path: "zebra-after\nmore\n"}
		d := diffOf(t, before, after, compare.Options{})
		if f := d.Files[0]; f.Content != compare.Secret || f.Added != 2 || f.Removed != 1 || f.Hunks != nil || f.Why == "" || d.Applies || strings.Contains(d.Text(), "zebra") {
			t.Errorf("%s: %+v\n%s", path, f, d.Text())
		}
		if d := diffOf(t, before, after, compare.Options{Secrets: true}); !strings.Contains(d.Text(), "+zebra-after\n") {
			t.Errorf("%s: %s", path, d.Text())
		}
	}
	for _, path := range []string{"credentials.go", ".env.example", "id_rsa.pub", "environment.ts", "keys.md", "config", "config.json"} {
		if d := diffOf(t, nil, files{path: "word\n"}, compare.Options{}); d.Files[0].Content != compare.Text {
			t.Errorf("%s is a secret: %s", path, d.Files[0].Why)
		}
	}
	for _, s := range compare.SecretFiles {
		if _, err := path.Match(s.Pattern, "x"); err != nil || s.Reason == "" || s.Pattern != strings.ToLower(s.Pattern) {
			t.Errorf("%+v", s)
		}
	}
	for _, content := range []string{"-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n", `{"type": "service_account", "private_key": "x"}`, "apiVersion: v1\nusers:\n- user:\n    client-key-data: eA==\n"} {
		if d := diffOf(t, files{"moved": content}, files{"moved": "x\n"}, compare.Options{}); d.Files[0].Content != compare.Secret {
			t.Errorf("%q is shown: %s", content, d.Text())
		}
	}
	if d := diffOf(t, files{".env": "A=zebra\nB=1\nC=2\n"}, files{"x": "A=zebra\nB=1\nC=3\n"}, compare.Options{}); strings.Contains(d.Text(), "zebra") || d.Files[0].Change != compare.Renamed {
		t.Error(d.Text())
	}
}

// TestSecretsInATextAreMasked, those of several lines too, also where the difference shows only one of them.
func TestSecretsInATextAreMasked(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA\n", 20) + "-----END RSA PRIVATE KEY-----\n"
	before := "package x\n\nconst key = `\n" + key + "`\n"
	after := strings.Replace(before, "MIIEpAIBAAKCAQEA\n-----END", "NIIEpAIBAAKCAQEA\n-----END", 1) + "// password: correct-horse-battery\n"
	d := diffOf(t, files{"x.go": before}, files{"x.go": after}, compare.Options{})
	text := d.Text()
	for _, secret := range []string{"IIEpA", "correct-horse"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in\n%s", secret, text)
		}
	}
	if d.Masked < 3 || d.Applies || d.Added != 2 || d.Removed != 1 || !strings.Contains(text, "+// password: [masked]\n") {
		t.Errorf("%+v\n%s", d, text)
	}
	if text := diffOf(t, files{"x.go": before}, files{"x.go": after}, patch).Text(); !strings.Contains(text, "-MIIEpAIBAAKCAQEA\n+NIIEpAIBAAKCAQEA\n") {
		t.Error(text)
	}
}

// TestASecretWhoseKeyIsBesideTheShownLinesIsMasked: a hunk begins behind the key, or ends before it.
func TestASecretWhoseKeyIsBesideTheShownLinesIsMasked(t *testing.T) {
	for _, content := range []string{
		"{\n  \"password\"\n  :\n  \"zebra-stripes\",\n  \"n\": 1,\n  \"m\": 2\n}\n",
		"[{\n  \"m\": 2,\n  \"value\": \"zebra-stripes\",\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n  \"name\": \"password\"\n}]\n",
	} {
		for _, changed := range [][2]string{{"\"n\": 1", "\"n\": 3"}, {"\"m\": 2", "\"m\": 5"}} {
			d := diffOf(t, files{"x": content}, files{"x": strings.Replace(content, changed[0], changed[1], 1)}, compare.Options{})
			if text := d.Text(); strings.Contains(text, "zebra") {
				t.Error(text)
			}
		}
	}
}

// TestASecretOfManyLinesIsMasked: its key is further from the shown lines than these are looked at.
func TestASecretOfManyLinesIsMasked(t *testing.T) {
	for _, lines := range [][2]string{
		{"{\n  \"recovery_codes\": [\n    \"zebra-10\"", ",\n    \"zebra-%d\""},
		{"client_secret: |\n  zebra-10\n", "  zebra-%d\n"},
	} {
		text := lines[0]
		for i := range 30 {
			text += fmt.Sprintf(lines[1], 11+i)
		}
		text += map[bool]string{true: "\n  ]\n}\n", false: "other: 1\n"}[text[0] == '{']
		d := diffOf(t, files{"x": text}, files{"x": strings.Replace(text, "zebra-36", "zebra-99", 1)}, compare.Options{})
		if text := d.Text(); strings.Contains(text, "zebra") || !strings.Contains(text, "[masked]") {
			t.Error(text)
		}
	}
}

// TestACellOfATableIsMasked whose header is not beside the shown lines, in differences and in blame.
func TestACellOfATableIsMasked(t *testing.T) {
	for name, form := range map[string][3]string{
		"CSV":         {"id,user,password,role", "%d,u%d,hunter%d,r", "%d,u%d,hunter%d,q"},
		"quotes":      {"\"id\",\"user\",\"password\"", "%d,u%d,\"hunter%d\"", "%d,v%d,\"hunter%d\""},
		"TSV":         {"id\tuser\tpassword", "%d\tu%d\thunter%d", "%d\tu%d\thunter%d0"},
		"Markdown":    {"| id | user | password |\n|---|---|---|", "| %d | u%d | hunter%d |", "| %d | v%d | hunter%d |"},
		"over lines":  {"id,user,password", "%d,\"u\n\n%d\",hunter%d", "%d,\"u\n\n%d\",hunter%d0"},
		"of a report": {"# users\n\nid,user,password", "%d,u%d,hunter%d", "%d,u%d,hunter%d0"},
	} {
		var before, after strings.Builder
		before.WriteString(form[0] + "\n")
		after.WriteString(form[0] + "\n")
		for i := range 100 {
			fmt.Fprintf(&before, form[1]+"\n", i, i, i)
			if i%40 == 30 {
				fmt.Fprintf(&after, form[2]+"\n", i, i, i)
			} else {
				fmt.Fprintf(&after, form[1]+"\n", i, i, i)
			}
		}
		m := newMemory()
		m.take(files{"x": before.String()})
		m.take(files{"x": after.String()})
		c := compare.New(m, redactor)
		d, err := c.Diff(context.Background(), 1, 2, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text := d.Text(); strings.Contains(text, "hunter") || d.Masked < 8 {
			t.Errorf("%s: %s", name, text)
		}
		b, err := c.Blame(context.Background(), "x", compare.BlameOptions{First: 60, Last: 61})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range b.Lines {
			if strings.Contains(line.Text, "hunter") {
				t.Errorf("%s: %q", name, line.Text)
			}
		}
	}
}

// TestNoPlantedSecretIsShown, wherever it is in a text, and whichever lines of it changed.
func TestNoPlantedSecretIsShown(t *testing.T) {
	body := strings.Repeat("Zm9vYmFyYmF6cXV4", 4)
	planted := []struct{ text, secret string }{
		{"token = ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F292c69"},
		{"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY", "K7MDENG"},
		{"const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'", "dozjgNryP4J3"},
		{"  password: correct-horse-battery", "correct-horse"},
		{"-----BEGIN EC PRIVATE KEY-----\n" + body + "\n" + body + "1\n" + body + "2\n-----END EC PRIVATE KEY-----", body[:30]},
		{"postgres://admin:hunter2secret@db.example.com/app", "hunter2secret"},
	}
	ordinary := []string{"func main() {", "}", "", "x := 1", "// note", "{\"a\": 1}", "- item", "key:"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string {
			var all []string
			for range rapid.IntRange(0, 8).Draw(t, label) {
				if rapid.Bool().Draw(t, "plant") {
					all = append(all, rapid.SampledFrom(planted).Draw(t, "planted").text)
				} else {
					all = append(all, rapid.SampledFrom(ordinary).Draw(t, "ordinary"))
				}
			}
			return strings.Join(all, "\n") + "\n"
		}
		before := "// first\n" + draw("before")
		after := "// first\n" + draw("after")
		if rapid.Bool().Draw(t, "similar") {
			after = strings.Replace(before, body+"1\n", body+"3\n", 1) + "// last\n"
		}
		m := newMemory()
		m.take(files{"x": before})
		m.take(files{"x": after})
		c := compare.New(m, redactor)
		d, err := c.Diff(context.Background(), 1, 2, compare.Options{Context: rapid.IntRange(1, 5).Draw(t, "context")})
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(1, strings.Count(after, "\n")).Draw(t, "line")
		b, err := c.Blame(context.Background(), "x", compare.BlameOptions{First: n})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range planted {
			if text := d.Text() + b.Lines[0].Text; strings.Contains(text, p.secret) {
				t.Fatalf("%s is in\n%s", p.secret, text)
			}
		}
	})
}

func TestLimitsAreCounted(t *testing.T) {
	before, after := files{}, files{}
	for _, name := range []string{"a", "b", "c"} {
		before[name] = strings.Repeat(name+"\n", 100)
		after[name] = strings.Repeat(name+"+\n", 100)
	}
	d := diffOf(t, before, after, compare.Options{MaxFileLines: 150, MaxLines: 160, MaxFiles: 2})
	if d.Added != 200 || d.Removed != 200 || d.LeftOut != 50+190 || d.Uncounted != 1 || d.Applies || len(d.Files) != 3 {
		t.Errorf("%+v", d)
	}
	if text := d.Text(); !strings.Contains(text, "\n# a: 50 more changed lines are left out: the limit is reached\n") ||
		!strings.Contains(text, "@@ -1,10 +0,0 @@") || !strings.HasSuffix(text, "\n# 1 more modified files are not shown: the limit is reached\n") {
		t.Error(text)
	}
	if d := diffOf(t, before, after, compare.Options{MaxBytes: 40}); d.LeftOut < 580 || d.Uncounted != 0 {
		t.Errorf("%+v", d)
	}
	if d := diffOf(t, nil, files{"x": strings.Repeat("ü", 5000)}, compare.Options{}); d.Shortened != 1 || d.Applies || len(d.Files[0].Hunks[0].Lines[0].Text) > 2010 {
		t.Errorf("%+v", d)
	}
}

// TestLargeTexts have their changes found where the comparison begins with unique lines.
func TestLargeTexts(t *testing.T) {
	var before, after strings.Builder
	want := 0
	for i := range 40_000 {
		line := strings.Repeat("{ ", i%7) + "\n"
		if i%3 == 0 {
			line = fmt.Sprintf("key %d\n", i)
		}
		before.WriteString(line)
		if i%1000 == 500 {
			line = "changed " + line
			want++
		}
		after.WriteString(line)
	}
	d := diffOf(t, files{"x": before.String()}, files{"x": after.String()}, compare.Options{})
	if d.Added != want || d.Removed != want {
		t.Errorf("+%d -%d, want %d", d.Added, d.Removed, want)
	}
}

func TestStat(t *testing.T) {
	m := newMemory()
	c := compare.New(m, redactor)
	large := &tree.Entry{Kind: tree.File, Size: 1<<20 + 1}
	for _, test := range []struct {
		before, after  *tree.Entry
		added, removed int
		binary         bool
		err            error
	}{
		{nil, m.entry("a\nb"), 2, 0, false, nil},
		{m.entry("a\nb\n"), m.entry("a\nc\nd\n"), 2, 1, false, nil},
		{m.entry("a\n"), m.entry("a\n"), 0, 0, false, nil},
		{m.entry("\x00"), m.entry("a\n"), 0, 0, true, nil},
		{m.entry("-> a"), m.entry("-> b"), 1, 1, false, nil},
		{&tree.Entry{Kind: tree.Dir}, nil, 0, 0, false, nil},
		{large, nil, 0, 0, false, compare.ErrNotCounted},
		{nil, &tree.Entry{Kind: tree.File, Unread: "permission denied"}, 0, 0, false, compare.ErrNotCounted},
	} {
		added, removed, binary, err := c.Stat(test.before, test.after)
		if added != test.added || removed != test.removed || binary != test.binary || !errors.Is(err, test.err) {
			t.Errorf("%+v: +%d -%d %v %v", test, added, removed, binary, err)
		}
	}
}

// TestModesAndKinds: what Git does not know is a note, and a directory is named only where nothing else shows it.
func TestModesAndKinds(t *testing.T) {
	m := newMemory()
	m.take(files{"run": "x\n", "private": "x\n", "kind": "x\n", "d/f": "x\n", "e/f": "x\n", "tagged": "x\n", "empty/x": "y\n"})
	m.take(files{"run": "x\n", "private": "x\n", "kind": "-> run", "d/f": "x\n", "e/f": "x\n", "tagged": "x\n", "new/x/y": "z\n"})
	change := func(path string, change func(*tree.Entry)) tree.Change {
		e := &tree.Entry{Kind: tree.Dir}
		if n := m.trees[1].Lookup(path); n != nil {
			e = &n.Entry
		}
		change(e)
		return tree.Change{Path: path, After: e}
	}
	changes := []tree.Change{
		change("run", func(e *tree.Entry) { e.Mode, e.Xattrs = 0o755, []tree.Xattr{{Name: "user.d"}} }), change("private", func(e *tree.Entry) { e.Mode = 0o600 }),
		change("d", func(e *tree.Entry) { e.Mode = 0o700 }), change("d/f", func(e *tree.Entry) { e.Mtime = 7 }),
		change("hollow", func(e *tree.Entry) { e.Mode = 0o755 }),
		change("tagged", func(e *tree.Entry) { e.Xattrs = []tree.Xattr{{Name: "user.a", Value: []byte("1")}, {Name: "user.b"}} }),
		change("e", func(e *tree.Entry) { e.Xattrs = []tree.Xattr{{Name: "user.c"}} }),
	}
	tree.Sort(changes)
	if err := m.trees[1].Apply(changes); err != nil {
		t.Fatal(err)
	}
	d, err := compare.New(m, redactor).Diff(context.Background(), 1, 2, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := `# d: directory mode 755 → 700
# e: directory xattrs user.c
diff --git a/empty/x b/empty/x
deleted file mode 100644
--- a/empty/x
+++ /dev/null
@@ -1 +0,0 @@
-y
# hollow: directory added, mode 755
diff --git a/kind b/kind
deleted file mode 100644
--- a/kind
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/kind b/kind
new file mode 120000
--- /dev/null
+++ b/kind
@@ -0,0 +1 @@
+run
\ No newline at end of file
diff --git a/new/x/y b/new/x/y
new file mode 100644
--- /dev/null
+++ b/new/x/y
@@ -0,0 +1 @@
+z
# private: mode 644 → 600
diff --git a/run b/run
old mode 100644
new mode 100755
# run: xattrs user.d
# tagged: xattrs user.a, user.b
`
	if got := d.Text(); got != want || d.Touched != 1 {
		t.Errorf("%d touched; got\n%s\nwant\n%s", d.Touched, got, want)
	}
}

func TestACanceledComparisonEnds(t *testing.T) {
	m := newMemory()
	m.take(files{"a": "a\n"})
	m.take(files{"a": "b\n"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := compare.New(m, redactor)
	if _, err := c.Diff(ctx, 1, 2, compare.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := c.Blame(ctx, "a", compare.BlameOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestFilesThatWereNotReadMayHaveChanged.
func TestFilesThatWereNotReadMayHaveChanged(t *testing.T) {
	m := newMemory()
	for i := range 2 {
		m.take(files{"a": "a\n"})
		e := m.trees[i].Lookup("a").Entry
		e.Unread, e.Mtime = "permission denied", int64(i)
		if err := m.trees[i].Apply([]tree.Change{{Path: "a", After: &e}}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := compare.New(m, redactor).Diff(context.Background(), 1, 2, compare.Options{})
	if err != nil || len(d.Files) != 1 || d.Files[0].Content != compare.Unread || d.Applies || d.Text() != "# a: modified; not shown, unread: permission denied\n" {
		t.Errorf("%+v %v\n%s", d, err, d.Text())
	}
}

// TestContentsThatTheStoreLostAreNamed, and the rest is shown.
func TestContentsThatTheStoreLostAreNamed(t *testing.T) {
	m := newMemory()
	m.take(files{"a": "a\n", "b": "b\n"})
	m.take(files{"a": "A\n", "b": "B\n"})
	delete(m.contents, m.trees[0].Lookup("a").Content)
	d, err := compare.New(m, redactor).Diff(context.Background(), 1, 2, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Files[0].Content != compare.Unread || d.Files[0].Counted || d.Files[0].Why == "" || d.Files[1].Added != 1 || d.Applies {
		t.Errorf("%+v", d.Files)
	}
}

// apply is a patch's effect on one text, by an applier that is not Git.
func apply(t fataler, before string, hunks []compare.Hunk) string {
	t.Helper()
	old := strings.SplitAfter(before, "\n")
	if old[len(old)-1] == "" {
		old = old[:len(old)-1]
	}
	var out strings.Builder
	at := 0
	for _, h := range hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start = h.OldStart
		}
		for ; at < start; at++ {
			out.WriteString(old[at])
		}
		for _, l := range h.Lines {
			line := l.Text
			if !l.Unended {
				line += "\n"
			}
			if l.Op != "+" {
				if old[at] != line {
					t.Fatal(old[at], line)
				}
				at++
			}
			if l.Op != "-" {
				out.WriteString(line)
			}
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String()
}

func FuzzText(f *testing.F) {
	f.Add("a", "one\ntwo\n", "one\nthree", 3, 100)
	f.Add("a\x1b[2J\n", "\x1b]0;x\x07\r\n", "\xff\u202e", 1, 1)
	f.Add(".env", "A=1\n", "-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----\n", 0, 3)
	f.Add("x\"\\", "password: abc\r\rdef", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlc2ln", 3, 0)
	f.Add("\ufe0f", "\u034f\n", "\ufff8", 3, 9)
	f.Fuzz(func(t *testing.T, name, before, after string, around, most int) {
		if name == "" || strings.Contains(name, "/") || strings.HasPrefix(before, "-> ") || strings.HasPrefix(after, "-> ") || around > 100 {
			return
		}
		d := diffOf(t, files{name: before}, files{name: after}, compare.Options{Context: around, MaxLines: most, Secrets: true})
		checkSafe(t, d.Text())
		exact := diffOf(t, files{name: before}, files{name: after}, patch)
		if len(exact.Files) == 1 && exact.Files[0].Content == compare.Text {
			if got := apply(t, before, exact.Files[0].Hunks); got != after {
				t.Fatalf("%q is %q", after, got)
			}
		}
	})
}

// TestBytesOfALine: a line of any bytes is escaped so that a terminal shows it, once and for all.
func TestBytesOfALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := strings.ReplaceAll(string(rapid.SliceOf(rapid.Byte()).Draw(t, "line")), "\n", "")
		once, n := compare.Escape(line)
		checkSafe(t, once+"\n")
		checkSafe(t, compare.Quote(line))
		if twice, again := compare.Escape(once); twice != once || again != 0 || (n == 0) != (once == line) {
			t.Fatalf("%q %q %d", once, twice, n)
		}
	})
}

// TestSecretsInNamesAreMasked, of renamed files too.
func TestSecretsInNamesAreMasked(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2c3", 6)
	moved := strings.Repeat("the same line\n", 20)
	before, after := files{"old " + token + ".txt": moved}, files{"new.txt": moved, "pass " + token + ".txt": "x\n"}
	d := diffOf(t, before, after, compare.Options{MaskPaths: true})
	if text := d.Text(); strings.Contains(text, "ghp_") || strings.Count(text, "[masked]") < 3 || d.Masked != 2 || d.Applies {
		t.Errorf("%d are masked: %s", d.Masked, text)
	}
	for _, f := range d.Files {
		if strings.Contains(f.Path+f.OldPath, "ghp_") {
			t.Errorf("%+v", f)
		}
	}
	if d := diffOf(t, before, after, compare.Options{MaskPaths: true, Exact: true}); !strings.Contains(d.Text(), token) || !d.Applies {
		t.Error(d.Text())
	}
}
