package shellsyntax_test

import (
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"tidemark.dev/tidemark/host/internal/shellsyntax"
)

// What the parser takes, it takes in pieces too.
func TestACommandIsReadAsAWhole(t *testing.T) {
	for _, command := range []string{
		"npm test", "cd app && CI=1 npx vitest run 'a b.test.ts' 2>&1", "cat > größe.txt <<'EOF'\n" + strings.Repeat("größe → $(x) `y`\n", 500) + "EOF\nnpm test",
		"echo $(echo $(echo `date`))", strings.Repeat("(", 50) + "true" + strings.Repeat(")", 50), strings.Repeat("echo \\\n", 300) + "a",
		"for f in *.ts; do if [[ $f == a* ]]; then echo ${f%.ts}; fi; done", strings.Repeat("true | ", 2000) + "true", "",
	} {
		whole, err := syntax.NewParser().Parse(strings.NewReader(command), "")
		if err != nil {
			t.Fatal(err)
		}
		file, ok := shellsyntax.Parse(command)
		if !ok {
			t.Errorf("%.60q is refused", command)
			continue
		}
		if got, want := printed(t, file), printed(t, whole); got != want {
			t.Errorf("%.60q is read as %.200q, want %.200q", command, got, want)
		}
	}
	for _, command := range []string{"echo (", "if true", "'"} {
		if _, ok := shellsyntax.Parse(command); ok {
			t.Errorf("%q is taken", command)
		}
	}
}

func printed(t *testing.T, file *syntax.File) string {
	t.Helper()
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, file); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A hostile command takes neither long nor much of the stack: about as long as the longest ordinary one.
func TestAHostileCommandIsReadInTime(t *testing.T) {
	took := func(command string, most time.Duration) (least time.Duration) {
		least = time.Hour // on a busy machine a run may take longer, but not each of them
		for n := 0; n < 10 && least > most; n++ {
			began := time.Now()
			shellsyntax.Parse(command)
			least = min(least, time.Since(began))
		}
		return least
	}
	ordinary := took(strings.Repeat("echo a > b; ", 128<<10/12), 0)
	for _, part := range []string{
		"$(", "(", "((", "{ ", "`", "\\`", "if ", "$((", "<(", "[[ (", "[[ ! ", "${a:-", "${a[", "$[", "\"$(", "! ", "time ", "coproc ", "f() ", "a() { ", "while ", "case a in a) ",
		"a=(", "let (", "a | ", "a && ", "<<a ", "<<a\n", "a <<-a;", "$'", "\\", "\\\n", "a=", "-", "$", "((a;", "function a { ", "select a in b; do ", "for ((;;)); do ", "@(", "a@(", "${a/", "$((a[", "a[",
	} {
		for _, size := range []int{10 << 10, 100 << 10, 2 << 20} {
			if least := took(strings.Repeat(part, size/len(part)), 5*ordinary); least > 5*ordinary {
				t.Errorf("%d bytes of %q take %s, an ordinary command takes %s", size, part, least, ordinary)
			}
		}
	}
}
