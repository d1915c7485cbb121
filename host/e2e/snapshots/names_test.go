package snapshots

import (
	"regexp"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

var reference = regexp.MustCompile(` \[e\d+\]`)

// TestLinesSayWhatElementsMean: each element, alone in its page's main part, has these lines.
func TestLinesSayWhatElementsMean(t *testing.T) {
	w := e2etest.SharedWorld(t)
	cases := []struct{ html, lines string }{
		// Words that mean something else than the same words unmarked.
		{`<p>Was <del>$100</del> $80</p>`, `text: "Was ~$100~ $80"`},
		{`<p>Was <s> $100 </s>now <ins>$80</ins></p>`, `text: "Was ~$100~ now +$80+"`},
		{`<p>10<sup>2</sup>, H<sub>2</sub>O, x<sup>n + 1</sup></p>`, `text: "10^2, H_2O, x^(n + 1)"`},
		{`<p>a <mark>found</mark> word</p>`, `text: "a ==found== word"`},
		{`<p><del>a <a href="#">link</a> b</del> c</p>`, "text: \"~a~\"\nlink \"link\" [deleted]\ntext: \"~b~ c\""},
		{`<a href="#">Was <del>$100</del> $80</a>`, `link "Was $100 $80": "Was ~$100~ $80"`},
		{`<h2>10<sup>2</sup></h2>`, `heading "102" [level=2]`},
		{`<p>co&shy;operate</p>`, `text: "cooperate"`},
		// What an author names has a line, icons in what is named by them do not.
		{`<p><span aria-label="3 of 5 stars">★★★</span></p>`, `group "3 of 5 stars": "★★★"`},
		{`<button><i aria-label="Delete"></i></button>`, `button "Delete"`},
		{`<img src="data:," aria-describedby="d"><p id="d" hidden>Sales</p>`, `img ("Sales")`},
		// Hints and descriptions.
		{`<label>Size <input placeholder="in cm"></label>`, `textbox "Size" ("in cm"): ""`},
		{`<label>Size <input placeholder="in cm" title="of the box"></label>`, `textbox "Size" ("of the box"): ""`},
		{`<input placeholder="Size">`, `textbox "Size": ""`},
		// States of the roles that have them.
		{`<div role="radiogroup" aria-label="Size" aria-required="true" aria-invalid="true"><div role="radio" aria-checked="true">S</div></div>`, "radiogroup \"Size\" [invalid] [required]:\n  radio \"S\" [checked]"},
		{`<select multiple aria-label="Sizes"><option selected>S</select>`, "listbox \"Sizes\" [multiselectable] [value=\"S\"]:\n  option \"S\" [selected]"},
		{`<div role="tree"><div role="treeitem" aria-level="2">Leaf</div></div>`, "tree:\n  treeitem \"Leaf\" [level=2]"},
		// A field keeps its value in any role, and a label the role that it is given.
		{`<label for="n">Count</label><input id="n" type="number" role="alert" value="5">`, "alert \"Count\": \"5\""},
		{`<label role="button" tabindex="0"><input type="checkbox" hidden>Pick</label>`, "button \"Pick\""},
		{`<span id="l">Size <output>5</output></span><input type="range" aria-labelledby="l" value="5" max="9">`, "text: \"Size\"\nstatus: \"5\"\nslider \"Size 5\": \"5\""},
		// Conditional roles.
		{`<address>Mail us</address>`, "group: \"Mail us\""},
		{`<search><button>Find</button></search>`, "search:\n  button \"Find\""},
		{`<svg width="90" height="30"><a xlink:href="/a"><text y="20">Next</text></a></svg>`, `link "Next"`},
		{`<summary>Nothing to open</summary>`, `text: "Nothing to open"`},
	}
	var page strings.Builder
	for _, c := range cases {
		page.WriteString("<article>" + c.html + "</article>")
	}
	s := e2etest.NewSite(t, map[string]string{"/": "<!doctype html><title>Lines</title>" + page.String()})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL+"/")
	a.Changes() // until it is settled
	text := reference.ReplaceAllString(a.Snapshot(map[string]any{"interactive_only": false, "full_snapshot": true}), "")
	articles := regexp.MustCompile(`(?m)^( *)- article`).Split(text, -1)[1:]
	if len(articles) != len(cases) {
		t.Fatalf("%d articles of %d: %s", len(articles), len(cases), text)
	}
	for i, c := range cases {
		if got := inside(articles[i]); got != c.lines {
			t.Errorf("%s\nis\n%s\nnot\n%s", c.html, got, c.lines)
		}
	}
}

// inside returns the lines that stand in an article, of which the rest of its own line and what follows is given.
func inside(article string) string {
	own, rest, _ := strings.Cut(article, "\n")
	if text, ok := strings.CutPrefix(own, ": "); ok {
		return "text: " + text
	}
	lines := strings.Split(strings.TrimRight(rest, "\n "), "\n")
	depth := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
	for i, l := range lines {
		if len(l) < depth {
			return strings.Join(lines[:i], "\n")
		}
		l = l[depth:]
		lines[i] = strings.Repeat(" ", len(l)-len(strings.TrimLeft(l, " "))) + strings.TrimPrefix(strings.TrimLeft(l, " "), "- ")
	}
	return strings.Join(lines, "\n")
}

// TestRolesFollowWhatIsAroundThem: a role that depends on other elements changes with them.
func TestRolesFollowWhatIsAroundThem(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Roles", `<button>Stays</button><ul id="u"><li>First entry</li></ul><section id="s" aria-labelledby="n">Words</section><p id="n"></p>
		<div id="o"></div><p role="listitem" id="i">Owned entry</p><details id="d" open><summary>Opens</summary></details>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	all := map[string]any{"interactive_only": false, "full_snapshot": true}
	first := a.Snapshot(all)
	e2etest.Holds(t, first, `listitem`, `button "Opens"`)
	e2etest.Lacks(t, first, `region`, `"Owned entry" [`)
	p.JS(`document.getElementById('u').setAttribute('role', 'none'); document.getElementById('n').textContent = 'Named'`)
	p.JS(`document.getElementById('o').outerHTML = '<ul aria-label="Owner" aria-owns="i"></ul>'`)
	p.JS(`document.getElementById('d').insertAdjacentHTML('afterbegin', '<summary>Opens now</summary>')`)
	now := a.Snapshot(all)
	e2etest.Holds(t, now, `region "Named"`, `list "Owner"`, `listitem`, `button "Opens now"`)
	e2etest.Lacks(t, now, `button "Opens" `)
	if n := strings.Count(now, "listitem"); n != 1 {
		t.Errorf("%d list items:\n%s", n, now)
	}
}

// TestListItemsInOneAnotherAreRead: whose role depends on whose is decided without going in circles, or through all of them
// again for each.
func TestListItemsInOneAnotherAreRead(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Items", strings.Repeat(`<div role="listitem">`, 60)+`<button>Innermost</button>`+strings.Repeat(`</div>`, 60)+
		`<div role="listitem" id="a" aria-owns="b">One</div><div role="listitem" id="b" aria-owns="a">Other</div>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	e2etest.Holds(t, a.Snapshot(map[string]any{"interactive_only": false}), `button "Innermost"`, `One`, `Other`)
}

// TestRolesOfDigitalPublishingAreShown: an agent follows the references of a book as links.
func TestRolesOfDigitalPublishingAreShown(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Book</title><nav role="doc-toc" aria-label="Contents"><a href="#one">One</a></nav>
		<section role="doc-chapter" id="one"><a href="#n" role="doc-noteref">1</a></section><section role="doc-abstract"><button>Fold</button></section>`})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	e2etest.Holds(t, a.Look(), `doc-toc "Contents" [`, `doc-chapter [`, `doc-noteref "1" [`, `button "Fold" [`)
}
