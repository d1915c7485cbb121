package acting

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

// TestTypingIsHeardKeyByKey: many pages listen to keys, not to what a field holds.
func TestTypingIsHeardKeyByKey(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Keys", `
		<label>Search <input id="search"></label><ul id="found"></ul>
		<label>Amount <input id="amount"></label>
		<fieldset><legend>Code</legend><input aria-label="Digit 1" maxlength="1"><input aria-label="Digit 2" maxlength="1"><input aria-label="Digit 3" maxlength="1"></fieldset>
		<label>Name <input id="name"></label><label>Story <textarea id="story"></textarea></label><p role="status" id="left"></p>
		<div contenteditable role="textbox" aria-label="Chat" id="chat"></div><button id="send" disabled>Send</button><script>
		window.heard = []; window.sent = 0;
		for (const type of ['keydown', 'keypress', 'keyup']) document.addEventListener(type, (e) => heard.push([type, e.key, e.code, e.keyCode, e.shiftKey, e.isTrusted].join(' ')), true);
		search.onkeyup = () => found.innerHTML = ['Ada', 'Adam', 'Bob'].filter((n) => search.value && n.startsWith(search.value)).map((n) => '<li>' + n + '</li>').join('');
		amount.onkeydown = (e) => { if (e.key.length === 1 && !/\d/.test(e.key)) e.preventDefault() };
		for (const box of document.querySelectorAll('fieldset input')) box.onkeyup = () => box.value && box.nextElementSibling?.focus();
		story.onkeyup = () => left.textContent = 100 - story.value.length + ' left';
		story.onkeydown = chat.onkeydown = (e) => { if (e.key === 'Enter') sent++ };
		chat.onkeyup = () => send.disabled = chat.textContent === ''</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Everything()
	write := func(field, text string) *e2etest.Acted {
		return a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"`+field+`"`), "text": text})
	}
	d := write("Search", "Ada")
	e2etest.Holds(t, d.Page, `"Ada"`, `"Adam"`)
	e2etest.Lacks(t, d.String(), "Bob")
	if got, want := p.Text(`heard.slice(0, 6).join(', ')`), "keydown A KeyA 65 true true, keypress A KeyA 65 true true, keyup A KeyA 65 true true, keydown d KeyD 68 false true, keypress d KeyD 100 false true, keyup d KeyD 68 false true"; got != want {
		t.Errorf("the page heard %s, not %s", got, want)
	}
	write("Amount", "1a2.5")
	write("Digit 1", "123")
	const name = `Zoë O'Neil 5€ (me@home!) ~"x" 日本 🎉`
	write("Name", name)
	if got := p.Text(`[amount.value, ...[...document.querySelectorAll('fieldset input')].map((i) => i.value), document.getElementById('name').value].join('|')`); got != "125|1|2|3|"+name {
		t.Errorf("the fields hold %s", got)
	}
	p.JS(`heard = []`)
	e2etest.Holds(t, write("Story", "one\ntwo\tthree").Page, "87 left", `"one\ntwo\tthree"`)
	e2etest.Holds(t, write("Chat", "Hi\nAda").Page, `button "Send"`, "# was [disabled]")
	if got := p.Text(`sent + ' ' + chat.innerText.replace(/\n+/g, '|')`); got != "0 Hi|Ada" {
		t.Errorf("the editor holds and has sent %s", got)
	}
	long := strings.Repeat("a long text ", 40) + "end"
	d = a.Act("browser_fill_form", map[string]any{"fields": []any{map[string]any{"ref": e2etest.RefOf(t, first, `"Story"`), "value": long}, map[string]any{"ref": e2etest.RefOf(t, first, `"Search"`), "value": "Bo"}}})
	e2etest.Holds(t, d.Page, `"Bob"`, "-383 left")
	if got := p.Text(`story.value`); got != long {
		t.Errorf("the field holds %s", got)
	}
}

// TestAFieldThatGivesItsFocusAwayIsNotTypedInto: the keys would go to another one.
func TestAFieldThatGivesItsFocusAwayIsNotTypedInto(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<label>Delta <input onfocus="b.focus()"></label><label>Beta <input id="b"></label><label>Gone <input onfocus="this.blur()"></label>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	delta := a.Refusal("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Delta"`), "text": "delta"}, protocol.RefusedFailed, 0)
	e2etest.Holds(t, delta.Refused.Element, `textbox "Delta"`)
	e2etest.Holds(t, delta.Refused.Detail, `moves the focus to textbox "Beta"`)
	delta = a.Refusal("browser_fill_form", map[string]any{"fields": []map[string]any{{"ref": e2etest.RefOf(t, first, `"Delta"`), "value": "delta"}}}, protocol.RefusedFailed, 0)
	e2etest.Holds(t, delta.Refused.Detail, `moves the focus to textbox "Beta"`)
	gone := a.Refusal("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Gone"`), "text": "x"}, protocol.RefusedFailed, 0)
	e2etest.Holds(t, gone.Refused.Detail, `moves the focus to the page itself`)
	if got := p.Text(`[...document.querySelectorAll('input')].map((i) => i.value).join('|')`); got != "||" {
		t.Errorf("the page has %q", got)
	}
}

// TestWhatIsTypedPressesNoButton that gets the focus in the middle of it.
func TestWhatIsTypedPressesNoButton(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<label>Name <input id="n" oninput="d.focus()"></label><button id="d" onclick="n.value += ' DELETED'">Delete</button>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	d := a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"Name"`), "text": "a b c"})
	e2etest.Holds(t, d.Page, `textbox "Name"`)
	e2etest.Lacks(t, d.String(), "DELETED")
}
