package frameworks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// randomActions is how many things happen to each application.
const randomActions = 200

// buildApps builds the applications, with the npm packages that they are pinned to.
func buildApps(t *testing.T) string {
	t.Helper()
	for _, needed := range []string{"npm", "node"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip(err)
		}
	}
	out := t.TempDir()
	if err := testbed.BuildApps("../apps", out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFrameworks: whatever happens to an application, every change is told, no reference ever names
// another thing, and references are kept: all of them over what happens around them, nearly all over a
// rendering of everything anew.
func TestFrameworks(t *testing.T) {
	w := e2etest.SharedWorld(t)
	built := buildApps(t)
	pages := map[string]string{}
	for _, app := range testbed.Apps {
		script, err := os.ReadFile(filepath.Join(built, app+".js"))
		if err != nil {
			t.Fatal(err)
		}
		pages["/"+app+".js"] = string(script)
		pages["/"+app] = `<!doctype html><title>` + app + `</title><nav>` + e2etest.Links(20) + `</nav><main id="app"></main><script src="/` + app + `.js"></script>`
	}
	for _, app := range testbed.Apps {
		t.Run(app, func(t *testing.T) { drive(t, w, e2etest.NewSite(t, pages), app) })
	}
}

func drive(t *testing.T, w *e2etest.World, s *e2etest.Site, app string) {
	p := w.Open(t, s.URL+"/"+app)
	reader, witness := w.AgentOf(t, s), w.AgentOf(t, s)
	all := map[string]any{"interactive_only": false, "full_snapshot": true}
	reader.Everything()
	before := parseListing(t, witness.Snapshot(all))
	names := map[string]string{} // reference → the thing that it names
	kept, anew, both, keptBoth, diffs := 0, 0, 0, 0, 0
	p.JS(fmt.Sprintf(`seed(%d)`, seed(app)))
	for i := range randomActions {
		kind := map[int]string{12: "anew", 6: "both", 18: "both"}[i%25]
		p.JS(`window.did = await act('` + kind + `')`)
		did := p.Text(`window.did`)
		told := reader.Everything()
		listing := witness.Snapshot(all)
		now := parseListing(t, listing)
		if t.Failed() {
			return
		}
		mentioned := mentions(told)
		whole := strings.HasPrefix(told, "[Page:")
		if !whole {
			diffs++
		}
		for ref, line := range now {
			if was, known := before[ref]; !whole && (!known || was.text != line.text) && !mentioned[ref] {
				t.Errorf("action %d (%s): %s is not told: %s, was %s\n%s", i, did, ref, line.text, was.text, told)
			}
			if thing := names[ref]; line.thing != "" && thing != "" && thing != line.thing && !(did == "both" && looks(before, thing) == looks(now, line.thing)) {
				t.Errorf("action %d (%s): %s was %s and is %s\n%s", i, did, ref, thing, line.thing, told)
			}
			if line.thing != "" {
				names[ref] = line.thing
			}
		}
		things := map[string]string{}
		for ref, line := range now {
			things[line.thing] = ref
		}
		for ref, line := range before {
			if _, still := now[ref]; !still && !whole && !mentioned[ref] {
				t.Errorf("action %d (%s): that %s is gone is not told\n%s", i, did, ref, told)
			}
			after := things[line.thing]
			if line.thing == "" || after == "" {
				continue
			}
			switch {
			case did == "anew":
				anew++
				if after == ref {
					kept++
				}
			case did == "both": // which of those that look alike is which cannot always be told
				both++
				if after == ref {
					keptBoth++
				}
			case after != ref:
				t.Errorf("action %d (%s): %s was %s and is %s\n%s", i, did, line.thing, ref, after, told)
			}
		}
		before = now
	}
	if anew == 0 || float64(kept) < .95*float64(anew) {
		t.Errorf("%d of %d references were kept over a rendering of everything anew", kept, anew)
	}
	t.Logf("%d of %d looks were differences; %d of %d references kept over a rendering anew, %d of %d when something else happened with it", diffs, randomActions, kept, anew, keptBoth, both)
}

// looks is all that can be seen of an item that a thing belongs to: one that looks the same in every way, in
// the same place, is the same to whoever sees only the page.
func looks(lines map[string]line, thing string) string {
	id, _, _ := strings.Cut(thing, " ")
	var parts []string
	for _, l := range lines {
		if owner, part, _ := strings.Cut(l.thing, " "); owner == id {
			parts = append(parts, part+described.ReplaceAllString(reference.ReplaceAllString(l.text, ""), ""))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// line is what a listing says of one element.
type line struct{ thing, text string }

var (
	reference = regexp.MustCompile(`\[e(\d+)\]`)
	described = regexp.MustCompile(`\("([^"]*)"\)`)
	spanOf    = regexp.MustCompile(`e(\d+)(?:-e(\d+))?`)
)

// parseListing reads a full snapshot: each element's own line, and the text that stands directly in it.
func parseListing(t *testing.T, listing string) map[string]line {
	t.Helper()
	lines := map[string]line{}
	var open []string // the element at each level
	for l := range strings.Lines(listing) {
		body := strings.TrimLeft(strings.TrimRight(l, "\n"), " ")
		if !strings.HasPrefix(body, "- ") {
			continue
		}
		level := (len(l) - 1 - len(body)) / 2
		if m := reference.FindString(body); m != "" {
			ref := m[1 : len(m)-1]
			if _, twice := lines[ref]; twice {
				t.Errorf("%s stands twice in\n%s", ref, listing)
			}
			thing := ""
			if d := described.FindStringSubmatch(body); d != nil {
				thing = d[1]
			}
			lines[ref] = line{thing, strings.TrimSuffix(body, ":")}
			open = append(open[:min(level, len(open))], ref)
		} else if level > 0 && level <= len(open) {
			in := lines[open[level-1]]
			in.text += " | " + body
			lines[open[level-1]] = in
		}
	}
	return lines
}

// mentions are the references that a difference speaks of, those between the ends of ranges included.
func mentions(diff string) map[string]bool {
	out := map[string]bool{}
	for l := range strings.Lines(diff) {
		if strings.HasPrefix(l, "[") {
			continue
		}
		for _, m := range spanOf.FindAllStringSubmatch(l, -1) {
			from, _ := strconv.Atoi(m[1])
			to, err := strconv.Atoi(m[2])
			if err != nil {
				to = from
			}
			for ref := from; ref <= to; ref++ {
				out["e"+strconv.Itoa(ref)] = true
			}
		}
	}
	return out
}

// seed is where an application's random actions begin; TIDEMARK_SEED asks for others than the usual ones.
func seed(app string) int {
	n, err := strconv.Atoi(os.Getenv("TIDEMARK_SEED"))
	if err != nil {
		n = 0
	}
	return n + len(app)
}
