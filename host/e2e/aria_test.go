package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// snapshot calls browser_snapshot.
func (a *agent) snapshot(args map[string]any) string {
	a.t.Helper()
	text, err := a.Text("browser_snapshot", args)
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

// look is a snapshot as agents take it, and everything is all of it with its text.
func (a *agent) look() string { a.t.Helper(); return a.snapshot(nil) }

func (a *agent) everything() string {
	a.t.Helper()
	return a.snapshot(map[string]any{"interactive_only": false})
}

// holds fails unless each part is in the text.
func holds(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in\n%s", p, text)
		}
	}
}

func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%q is in\n%s", p, text)
		}
	}
}

// refOf is the reference of the first line that contains a text.
func refOf(t *testing.T, text, line string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		if m := regexp.MustCompile(`\[(e\d+)\]`).FindStringSubmatch(l); m != nil && strings.Contains(l, line) {
			return m[1]
		}
	}
	t.Fatalf("no line with %q has a reference in\n%s", line, text)
	return ""
}

// links is a menu of n links, so that a page is larger than what changes in it.
func links(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<a href="/section/%d">Section %d of the store</a> `, i, i)
	}
	return b.String()
}

var checkout = `<!doctype html><title>Checkout - Example Store</title>
<header><a href="/">Logo</a></header><nav>` + links(20) + `</nav>
<main><h1>Checkout</h1>
<form aria-label="Payment">
<label>Full Name <input id="name"></label>
<label>Expiry hint <input id="hint" placeholder="MM/YY"></label>
<label>Country <select id="country"><option>Norway</option><option>Spain</option></select></label>
<label><input type="checkbox" id="terms"> I agree</label>
<button id="pay" disabled>Pay Now</button>
</form>
<p id="total">Total: 12 €</p>
<div role="status" id="status">Ready</div>
<table><tr><th>Item</th><th>Price</th></tr><tr><td>Mug</td><td id="price">12 €</td></tr></table>
</main>`

func TestASecondLookTellsOnlyWhatChanged(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": checkout})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	t.Logf("\n%s", first)
	holds(t, first, `[Page: Checkout - Example Store]`, `textbox "Full Name" [e`, `button "Pay Now" [e`, `[disabled]`, `status`, `: "Ready"`, `heading "Checkout"`)
	lacks(t, first, "Mug", "Total")
	all := a.everything()
	t.Logf("\n%s", all)
	holds(t, all, `"Total: 12 €"`, `cell [e`, `: "Mug"`)
	same := a.look()
	t.Logf("\n%s", same)
	holds(t, same, "[Same page: Checkout - Example Store]", "[Unchanged: e")
	p.js(`document.getElementById('name').value = 'Ada "L" Lovelace';
		document.getElementById('pay').disabled = false;
		document.getElementById('terms').checked = true;
		document.getElementById('country').value = 'Spain';
		document.getElementById('status').textContent = 'Saved';
		document.getElementById('price').firstChild.data = '13 €'`)
	d := a.look()
	t.Logf("\n%s", d)
	holds(t, d, `: "Ada \"L\" Lovelace"  # was ""`, `# was [disabled]`, `# was not [checked]`, `"Saved"  # was "Ready"`, `"Spain"`, `# was "Norway"`)
	lacks(t, d, "Logo", "13 €")
	full := a.everything()
	t.Logf("\n%s", full)
	holds(t, full, `"13 €"  # was "12 €"`)
}
