package conversation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/conversation"
)

// Of commands that ran at once, the one that writes the file by name has changed it.
func TestACommandThatWritesAFileByName(t *testing.T) {
	for command, is := range map[string]bool{
		"echo 1 > src/b.txt":                            true,
		"echo 1 >> 'src/b.txt'; make":                   true,
		"echo 1 >\"src/b.txt\"":                         true,
		"make 2>&1 | tee -a src/b.txt":                  true,
		"if true; then echo 1 &> src/b.txt; fi":         true,
		"cat > src/b.txt <<'EOF'\na > c.txt\nEOF\n":     true,
		"sed -i s/a/b/ src/b.txt":                       true,
		"sed -n -i.bak s/a/b/ src/b.txt":                true,
		"cp a.txt src/b.txt":                            true,
		"rm -f src/a.txt src/b.txt":                     true,
		"cd src && echo 1 > b.txt":                      true,
		"(cd src; touch ./b.txt)":                       true,
		"echo 1 > ROOT/src/b.txt":                       true,
		"echo 1 > ../x/src/b.txt":                       false,
		"cat src/b.txt":                                 false,
		"cp src/b.txt a.txt":                            false,
		"sed s/a/b/ src/b.txt":                          false,
		"echo '> src/b.txt'":                            false,
		"echo 1 > src/b.txt.bak":                        false,
		"echo 1 > b.txt":                                false,
		"cd src && echo 1 > lib/b.txt":                  false,
		"echo 1 > $DIR/src/b.txt":                       false,
		"echo 1 > src/*.txt":                            false,
		"cat < src/b.txt":                               false,
		"cat <<EOF\n> src/b.txt\nEOF\n":                 false,
		"echo 1 > src/b.txt |||":                        false,
		"cat > other.txt <<'EOF'\na > src/b.txt\nEOF\n": false,
	} {
		w := newWorld(t)
		input, err := json.Marshal(map[string]string{"command": strings.ReplaceAll(command, "ROOT", w.root)})
		if err != nil {
			t.Fatal(err)
		}
		start := w.runs(
			ran{session: "a", id: "c1", tool: "Bash", input: string(input), end: 2000, took: 900},
			ran{session: "a", id: "c2", tool: "Bash", input: `{"command":"sleep 1"}`, end: 2100, took: 1000},
		)
		for range 2 {
			_, prompt := w.store.MadeBy(w.change(start, "src/b.txt", 1500, nil))
			outlines := w.store.Outlines(w.root, start.UnixMilli(), at(start, 3000).UnixMilli())
			makers := conversation.MakersOf(outlines, w.change(start, "src/b.txt", 1500, nil))
			if got := len(makers) == 1 && makers[0].Call.ID == "c1"; got != is || prompt != "the prompt of a" {
				t.Errorf("%q alone is the maker: %t, of %d", command, got, len(makers))
			}
			w.reopen()
		}
	}
}

// A command that is as long as one may be, and nested as deep, is read in bounded time.
func TestACommandThatIsNestedDeep(t *testing.T) {
	for _, part := range []string{"$(", "(", "{ ", "`", "if ", "$((", "<(", "[[ ("} {
		t.Run(part, func(t *testing.T) {
			w := newWorld(t)
			command := "> a; "
			for len(command) < 16<<10-16 {
				command += part
			}
			input, err := json.Marshal(map[string]string{"command": command})
			if err != nil {
				t.Fatal(err)
			}
			start := w.runs(
				ran{session: "a", id: "c1", tool: "Bash", input: string(input), end: 2000, took: 900},
				ran{session: "a", id: "c2", tool: "Bash", input: `{"command":"echo 1 > b.txt"}`, end: 2100, took: 1000},
			)
			if makers := conversation.MakersOf(w.store.Outlines(w.root, start.UnixMilli(), at(start, 3000).UnixMilli()), w.change(start, "b.txt", 1500, nil)); len(makers) != 1 || makers[0].Call.ID != "c2" {
				t.Errorf("%d makers", len(makers))
			}
		})
	}
}
