package frameworks

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/installer"
)

// naming is a page of the ways in which elements get their names.
const naming = `<!doctype html><title>Naming</title><h1>Names <small>of things</small></h1>
<button aria-label="By label">x</button><button aria-labelledby="a b">y</button><span id="a">First</span> <span id="b" hidden>and second</span>
<button><img alt="Picture" src="data:,"> and text</button><button title="By title"></button><button><svg><title>Drawn</title></svg></button>
<input type="submit"><input type="reset" value="Start over"><input type="image" alt="Go" src="data:,"><input type="button" value="Press">
<label for="f">Outside</label><input id="f"><label>Around <input type="checkbox"> it</label><input placeholder="Only a hint"><input aria-label="Amount" type="number"><input aria-label="Loud" type="range" value="3">
<label>Pick <select><option>One</option><option selected>Two</option></select></label><select aria-label="Many" multiple><option>Red</option><option selected>Green</option></select>
<fieldset><legend>Colour</legend><label><input type="radio" name="c" checked> Red</label><label><input type="radio" name="c"> Blue</label></fieldset>
<table><caption>Prices</caption><tr><th scope="col">Item</th><th>Price</th></tr><tr><th scope="row">Mug</th><td>12</td></tr><tr><th>Lamp</th><td>13</td></tr></table>
<ul aria-label="Menu"><li><a href="/a">Alpha</a></li><li><a href="/b"><b>Be</b>ta</a></li></ul><nav aria-label="Main"><a href="/c">Gamma</a><a>no link</a></nav>
<figure><img alt="Chart" src="data:,"><figcaption>Sales</figcaption></figure><img alt="" src="data:,">
<div role="tablist"><div role="tab" aria-selected="true">General</div><div role="tab">More</div></div><div role="tabpanel" aria-label="General">Words</div>
<div role="switch" aria-checked="true" tabindex="0">Night</div><div role="menu"><div role="menuitemcheckbox" aria-checked="mixed">Some</div></div>
<div role="progressbar" aria-label="Loading" aria-valuenow="30"></div><meter aria-label="Fill" value="0.4"></meter><progress aria-label="Done" value="2" max="4"></progress>
<details><summary>More about it</summary>Hidden until opened</details><dialog open aria-label="Sure?"><button>Yes</button></dialog>
<section aria-label="Part"><h2>Inside</h2></section><section><h2>No region</h2></section><form aria-label="Send"><textarea aria-label="Words">Text</textarea></form><form></form>
<div role="alert">Careful</div><div role="status">Fine</div><output>42</output><blockquote>Said</blockquote>
<div role="presentation"><button>In presentation</button></div><ul role="none"><li>No item</li></ul><div aria-hidden="true"><button>Unheard</button></div><button style="visibility:hidden">Unseen</button>
<button>  White
space </button><a href="/d" aria-label="Overridden">shown</a><button aria-description="more">Described</button><div style="display:contents"><button>In contents</button></div>
<style>.icon::before { content: "Pre " }</style><button class="icon">fixed</button><div role="listbox" aria-label="Owner" aria-owns="owned"><div role="option">Own</div></div><section aria-label="Apart"><div role="option" id="owned">Claimed</div></section><div role="grid"><div role="row"><div role="gridcell">Cell</div></div></div><hr>`

// explained are the roles that the two show in different ways, on purpose:
//   - words that only look different, and paragraphs, are text of what is around them;
//   - rowgroups and presentation say nothing that the tree's shape does not;
//   - what a canvas, a video or a sound shows no other element says: each has a line, where Playwright has none;
//   - item stands for a block that looks like one of a list, which Playwright shows as text;
//   - generic stands for what takes clicks and has no role, which Playwright shows by a cursor only;
//   - lines that begin with a slash are properties.
var explained = regexp.MustCompile(`^(paragraph|strong|emphasis|code|mark|subscript|superscript|insertion|deletion|time|rowgroup|generic|item|text|document|options|separator|canvas|video|audio)$`)

// apart are lines that only one of the two has, each with its reason.
var apart = map[string]string{
	"img Picture":          "the button that it is in has the image's name in its own",
	"img Drawn":            "likewise",
	"button More about it": "a summary is operable: Playwright shows it as text",
}

// unnamed are roles of which Tidemark does not repeat in a name what stands inside them.
var unnamed = regexp.MustCompile(`^(row|cell|gridcell)$`)

var listed = regexp.MustCompile(`^\s*- '?([a-z]+)(?: "((?:[^"\\]|\\.)*)")?`)

// shown are the roles and names in a listing, sorted.
func shown(listing string) []string {
	var out []string
	for l := range strings.Lines(listing) {
		m := listed.FindStringSubmatch(strings.ReplaceAll(l, "''", "'"))
		if strings.Contains(l, "- options: [") {
			for _, o := range regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(l, -1) {
				out = append(out, "option "+o[1])
			}
			continue
		}
		if m == nil || explained.MatchString(m[1]) {
			continue
		}
		name := strings.Join(strings.FieldsFunc(m[2], func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Co, r) }), " ")
		if unnamed.MatchString(m[1]) {
			name = ""
		}
		if m[1] == "img" && name == "" {
			continue // an image that nobody named says nothing
		}
		out = append(out, m[1]+" "+name)
	}
	slices.Sort(out)
	return out
}

// TestTreesAreThoseOfAnOracle: roles and names are those of Playwright's ariaSnapshot, but for what is
// explained above.
func TestTreesAreThoseOfAnOracle(t *testing.T) {
	w := e2etest.SharedWorld(t)
	chromium, err := installer.FindBrowser()
	if err != nil {
		t.Skip(err)
	}
	s := e2etest.NewSite(t, map[string]string{"/naming": naming})
	adminPages(t, s)
	paths := []string{"/naming", "/tables.html", "/index.html", "/buttons.html", "/cards.html", "/register.html", "/login.html", "/404.html", "/utilities-color.html", "/blank.html"}
	args := []string{"oracle.mjs", chromium.Path}
	for _, p := range paths {
		args = append(args, s.URL+p)
	}
	cmd := exec.Command("node", args...)
	cmd.Dir = "../apps"
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the oracle: %v", err)
	}
	var oracle map[string]string
	if err := json.Unmarshal(out, &oracle); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(strings.Trim(path, "/"), func(t *testing.T) {
			a := w.AgentOf(t, s)
			w.Open(t, s.URL+path)
			a.Changes() // until it is settled
			theirs, ours := shown(oracle[s.URL+path]), shown(a.Snapshot(map[string]any{"interactive_only": false, "full_snapshot": true}))
			counts := map[string]int{}
			for _, l := range theirs {
				counts[l]++
			}
			for _, l := range ours {
				counts[l]--
			}
			for l, n := range counts {
				if n != 0 && apart[l] == "" {
					t.Errorf("%q: %+d in the oracle's", l, n)
				}
			}
			if t.Failed() && path == "/naming" {
				t.Logf("%s\n%s", oracle[s.URL+path], a.Snapshot(map[string]any{"interactive_only": false, "full_snapshot": true}))
			}
		})
	}
}
