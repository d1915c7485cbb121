package acting

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// taken checks that an answer reports neither invalid nor ignored fields.
func taken(t *testing.T, d *e2etest.Acted) {
	t.Helper()
	if len(d.Invalid)+len(d.Ignored) > 0 {
		t.Errorf("\n%s", d)
	}
}

const order = `<form id="f" aria-label="Checkout" onsubmit="event.preventDefault(); sent.textContent = Number(sent.textContent) + 1">
	<label>Name <input id="name" required></label><label>Email <input id="email" type="email" required></label>
	<label>Confirmation code <input id="code" type="email"></label>
	<label><input type="radio" name="pay" required> Cash</label><label><input type="radio" name="pay" required> Card</label>
	<button>Order</button><button formnovalidate>Save draft</button>
	<button type="button" onclick="f.requestSubmit()">By script</button><button type="button" onclick="f.reportValidity()">Check</button></form><p role="status" id="sent">0</p>`

// TestASubmitThatTheBrowserRefusesSaysWhy, each time anew, however it is tried.
func TestASubmitThatTheBrowserRefusesSaysWhy(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Order", order)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	ref := func(name string) string { return e2etest.RefOf(t, first, `"`+name+`"`) }
	click := func(button string) *e2etest.Acted {
		return a.Act("browser_click", map[string]any{"ref": ref(button)})
	}
	typed := func(args map[string]any) *e2etest.Acted {
		args["clear"] = true
		return a.Act("browser_type", args)
	}
	// refused checks an answer for what it names, and for nothing else.
	refused := func(d *e2etest.Acted, named ...act.InvalidField) {
		t.Helper()
		t.Logf("\n%s", d)
		for i, f := range named {
			if i >= len(d.Invalid) || d.Invalid[i].Element != f.Element || !strings.Contains(d.Invalid[i].Message, f.Message) {
				t.Errorf("%+v is not at %d of %+v", f, i, d.Invalid)
			}
		}
		if len(d.Invalid) != len(named) {
			t.Errorf("%d fields are named, want %d:\n%s", len(d.Invalid), len(named), d)
		}
		e2etest.Intact(t, d)
	}
	named := func(role, name, message string) act.InvalidField {
		return act.InvalidField{Element: role + ` "` + name + `" [` + ref(name) + "]", Message: message}
	}
	missing := []act.InvalidField{named("textbox", "Name", "Please fill out this field."), named("textbox", "Email", ""), named("radio", "Cash", "")}
	for _, button := range []string{"Order", "Order", "By script", "Check"} {
		refused(click(button), missing...)
	}
	a.Do("browser_hover", map[string]any{"ref": ref("Name")})
	refused(a.Act("browser_press_key", map[string]any{"key": "Space", "ref": ref("Order")}), missing...)
	refused(a.Act("browser_fill_form", map[string]any{"fields": []any{
		map[string]any{"ref": ref("Name"), "value": "Ada"}, map[string]any{"ref": ref("Cash"), "value": true},
	}, "submit": ref("Order")}), named("textbox", "Email", "Please fill out this field."))
	refused(typed(map[string]any{"ref": ref("Email"), "text": "ada", "submit": true}), named("textbox", "Email", `Please include an '@' in the email address. 'ada' is missing an '@'.`))
	for range 2 {
		refused(a.Act("browser_press_key", map[string]any{"key": "Enter"}), named("textbox", "Email", `'ada' is missing`))
	}
	refused(a.Act("browser_press_key", map[string]any{"key": "Enter", "ref": ref("Name")}), named("textbox", "Email", `'ada' is missing`))
	if got := p.Text(`sent.textContent`); got != "0" {
		t.Errorf("it was submitted %s times", got)
	}

	// What is secret is not quoted, and what is submitted not refused.
	taken(t, typed(map[string]any{"ref": ref("Email"), "text": "ada@example.org"}))
	d := typed(map[string]any{"ref": ref("Confirmation code"), "text": "xyzzy", "submit": true})
	refused(d, named("textbox", "Confirmation code", ""))
	if d.Invalid[0].Message != "" {
		t.Errorf("the browser's message may quote what is secret: %s", d.Invalid[0].Message)
	}
	e2etest.Lacks(t, d.String(), "xyzzy")
	taken(t, click("Save draft"))
	taken(t, typed(map[string]any{"ref": ref("Confirmation code"), "text": "a@b.org", "submit": true}))
	if got := p.Text(`sent.textContent`); got != "2" {
		t.Errorf("it was submitted %s times", got)
	}
}

// TestASubmitIsToldAsRefusedInFramesAndShadowRootsToo.
func TestASubmitIsToldAsRefusedInFramesAndShadowRootsToo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	inner := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Inner", `<form><label>Inner <input required></label><button>Send</button></form>`)})
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Outer", `<iframe title="Other" src="`+inner.URL+`" width="600" height="1200"></iframe><open-form></open-form><closed-form></closed-form><script>
		for (const mode of ['open', 'closed']) customElements.define(mode + '-form', class extends HTMLElement { connectedCallback() { this.attachShadow({mode}).innerHTML = '<form><label>In ' + mode + ' <input required></label><button>Send ' + mode + '</button></form>' } })</script>`)})
	a := w.NewAgent(t, "--origin", s.URL, "--origin", inner.URL)
	w.Open(t, s.URL)
	first := a.Everything()
	for button, field := range map[string]string{"Send": "Inner", "Send open": "In open", "Send closed": "In closed"} {
		d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"`+button+`"`)})
		t.Logf("\n%s", d)
		want := act.InvalidField{Element: `textbox "` + field + `" [` + e2etest.RefOf(t, first, `"`+field+`"`) + "]", Message: "Please fill out this field."}
		if !slices.Equal(d.Invalid, []act.InvalidField{want}) {
			t.Errorf("%+v, want %+v", d.Invalid, want)
		}
	}
}

// TestAPageThatOnlyLooksForWhatIsWrongSubmitsNothing: nor does one whose form the browser does not check.
func TestAPageThatOnlyLooksForWhatIsWrongSubmitsNothing(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Form", `<form id="f"><label>Name <input required></label><label>Mail <input required></label><label><input type="checkbox" required> Agree</label>
			<button type="button">Help</button><button id="go" disabled>Go</button></form>
		<form id="g" novalidate><label>Own <input required></label><button>Own go</button></form><p role="status" id="said"></p><script>
		for (const type of ['input', 'change', 'click', 'keydown']) f.addEventListener(type, () => { go.disabled = !f.checkValidity() });
		g.onsubmit = (e) => { e.preventDefault(); said.textContent = g.checkValidity() ? 'fine' : 'Own is missing' }</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	ref := func(name string) string { return e2etest.RefOf(t, first, `"`+name+`"`) }
	taken(t, a.Act("browser_type", map[string]any{"ref": ref("Name"), "text": "Ada"}))
	taken(t, a.Act("browser_press_key", map[string]any{"key": "Backspace"}))
	for _, button := range []string{"Agree", "Agree", "Help"} {
		taken(t, a.Act("browser_click", map[string]any{"ref": ref(button)}))
	}
	for range 2 {
		taken(t, a.Act("browser_click", map[string]any{"ref": ref("Own go")}))
	}
}

// TestTextThatAFieldDoesNotTakeIsToldSo, and no other.
func TestTextThatAFieldDoesNotTakeIsToldSo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Fields", `
		<label>Refuses input <input onbeforeinput="event.preventDefault()" value="12"></label>
		<label>Refuses keys <input onkeydown="event.preventDefault()"></label>
		<label>Full <input maxlength="3" value="abc"></label>
		<label>Puts back <input value="12" oninput="this.value = '12'"></label>
		<label>Puts back later <input value="12" oninput="requestAnimationFrame(() => { this.value = '12' })"></label>
		<label>Number <input type="number"></label>
		<label>Area <textarea onbeforeinput="event.preventDefault()">fixed</textarea></label>
		<div contenteditable role="textbox" aria-label="Editor" onbeforeinput="event.preventDefault()">written</div>
		<label>Password <input type="password" onbeforeinput="event.preventDefault()" value="hunter2-hunter2"></label>
		<label>Half <input maxlength="3"></label>
		<label>Digits <input value="1" oninput="this.value = this.value.replace(/\D/g, '')"></label>
		<label>Upper <input oninput="this.value = this.value.toUpperCase()"></label>
		<label>Same <input value="hello"></label>
		<form onsubmit="event.preventDefault(); heard.append(task.value + ';'); task.value = ''"><label>Task <input id="task"></label></form><p role="status" id="heard"></p>
		<label>Chips <input onkeydown="if (event.key === 'Enter') { heard.append(this.value + ';'); this.value = '' }"></label>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	ref := func(name string) string { return e2etest.RefOf(t, first, `"`+name+`"`) }
	const hidden = "(a secret)"
	// ignored are the fields that did not take their input, with what they contain and how much was typed.
	ignored := func(d *e2etest.Acted) string {
		var b strings.Builder
		for _, f := range d.Ignored {
			value := hidden
			if f.Value != nil {
				value = *f.Value
			}
			fmt.Fprintf(&b, "%s: %s, %d;", f.Element, value, f.Typed)
		}
		return b.String()
	}
	for name, value := range map[string]string{
		"Refuses input": "12", "Refuses keys": "", "Full": "abc", "Puts back": "12", "Puts back later": "12", "Number": "", "Area": "fixed", "Editor": "written", "Password": hidden,
	} {
		want := fmt.Sprintf(`"%s" [%s]: %s, 5;`, name, ref(name), value)
		ways := []map[string]any{{}, {"clear": true}, {"submit": true}}
		switch name {
		case "Full": // has room again once it is emptied
			ways = []map[string]any{{}, {"submit": true}}
		case "Puts back later": // what a page does after a submit is its own affair
			ways = ways[:2]
		}
		for _, args := range ways {
			args["ref"], args["text"] = ref(name), "hello"
			d := a.Act("browser_type", args)
			if name == "Puts back" && args["clear"] == nil {
				t.Logf("\n%s", d)
			}
			e2etest.Holds(t, ignored(d), want)
			e2etest.Lacks(t, d.String(), "hunter2")
		}
		if name != "Full" && name != "Refuses keys" { // which hears of the last character only
			e2etest.Holds(t, ignored(a.Act("browser_fill_form", map[string]any{"fields": []any{map[string]any{"ref": ref(name), "value": "hello"}}})), want)
		}
	}
	e2etest.Holds(t, ignored(a.Act("browser_type", map[string]any{"ref": ref("Refuses input"), "text": "", "clear": true})), ": 12, 0;")

	// What takes some of it, or what it makes of it, is told by the difference.
	for _, name := range []string{"Half", "Digits", "Upper", "Same", "Task", "Chips"} {
		taken(t, a.Act("browser_type", map[string]any{"ref": ref(name), "text": "he2llo", "clear": true}))
	}
	taken(t, a.Act("browser_type", map[string]any{"ref": ref("Same"), "text": "he2llo", "clear": true}))
	for _, name := range []string{"Task", "Chips"} {
		d := a.Act("browser_type", map[string]any{"ref": ref(name), "text": []string{"One", "Two"}, "clear": true, "submit": true})
		taken(t, d)
	}
	if got := p.Text(`heard.textContent`); got != "One;Two;One;Two;" {
		t.Errorf("it heard %s", got)
	}
	// Two fields of a form, and what comes after them.
	d := a.Act("browser_fill_form", map[string]any{"fields": []any{
		map[string]any{"ref": ref("Half"), "value": "x"}, map[string]any{"ref": ref("Refuses keys"), "value": "x"}, map[string]any{"ref": ref("Refuses input"), "value": "x"},
	}})
	t.Logf("\n%s", d)
	if got := ignored(d); len(d.Ignored) != 2 || strings.Contains(got, "Half") {
		t.Errorf("\n%s", d)
	}
	taken(t, a.Act("browser_wait_for", map[string]any{"settled": true}))
	taken(t, a.Act("browser_scroll", map[string]any{"direction": "down"}))
}

// TestFormerTextThatAnEditorKeepsIsReported, and no other text.
func TestFormerTextThatAnEditorKeepsIsReported(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Editors", `
		<div contenteditable role="textbox" aria-label="Deletes half"></div><div contenteditable role="textbox" aria-label="Signs"></div>
		<div contenteditable role="textbox" aria-label="Selects nothing"></div><div contenteditable role="textbox" aria-label="Locks a cell"></div>
		<div contenteditable role="textbox" aria-label="Mentions"></div><div contenteditable role="textbox" aria-label="Says what to write"></div>
		<div contenteditable role="textbox" aria-label="Upper"></div><div contenteditable role="textbox" aria-label="Bullets"></div><script>
		const of = (name) => document.querySelector('[aria-label="' + name + '"]')
		window.write = () => {
			for (const field of document.querySelectorAll('[contenteditable][aria-label]')) field.innerHTML = '<p>Dear Ada</p>'
			of('Locks a cell').innerHTML += '<table contenteditable="false"><tr><td contenteditable>x</td><td contenteditable>y</td></tr></table><p>Bye</p>'
			of('Mentions').innerHTML = '<p>Dear <b contenteditable="false">@Ada</b>, hello</p>'
			of('Says what to write').innerHTML = '<p></p><i contenteditable="false">Write a message</i>'
			of('Upper').textContent = 'DEAR ADA'
		}
		write()
		of('Deletes half').onbeforeinput = (event) => {
			if (event.inputType.startsWith('delete')) event.preventDefault()
			if (!event.target.textContent.startsWith('Ada')) event.target.innerHTML = '<p>Ada</p>'
		}
		of('Signs').oninput = ({target}) => { if (!target.textContent.includes('Ada')) target.insertAdjacentHTML('beforeend', '<p>Ada</p>') }
		of('Selects nothing').onbeforeinput = (event) => { event.preventDefault(); of('Selects nothing').lastElementChild.append(event.data ?? '') }
		of('Locks a cell').onbeforeinput = (event) => { if (event.inputType.startsWith('delete')) { event.preventDefault(); for (const p of of('Locks a cell').querySelectorAll('p')) p.textContent = '' } }
		of('Upper').oninput = ({target}) => { target.textContent = target.textContent.toUpperCase(); getSelection().selectAllChildren(target); getSelection().collapseToEnd() }
		of('Bullets').oninput = ({target}) => { if (target.textContent === '- A') target.innerHTML = '<ul><li>A</li></ul>' }
		</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	ref := func(name string) string { return e2etest.RefOf(t, first, `"`+name+`"`) }
	act := func(text string, names ...string) *e2etest.Acted {
		t.Helper()
		p.JS(`write()`)
		if len(names) == 1 && text != "- A" {
			return a.Act("browser_type", map[string]any{"ref": ref(names[0]), "text": text, "clear": true})
		}
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"ref": ref(name), "value": text})
		}
		return a.Act("browser_fill_form", map[string]any{"fields": list})
	}
	kept := func(d *e2etest.Acted, want ...string) {
		t.Helper()
		var got []string
		for _, f := range d.Uncleared {
			got = append(got, fmt.Sprintf("%s: %s, %d of %d, %d typed", f.Element, *f.Value, f.Kept, f.Former, f.Typed))
		}
		if len(d.Ignored) > 0 || !slices.Equal(got, want) {
			t.Errorf("%q, want %q\n%s", got, want, d)
		}
		e2etest.Intact(t, d)
	}
	named := func(name, rest string) string { return `textbox "` + name + `" [` + ref(name) + "]: " + rest }
	kept(act("", "Deletes half"), named("Deletes half", "Ada, 3 of 7, 0 typed"))
	kept(act("", "Signs"), named("Signs", "Ada, 3 of 7, 0 typed"))
	kept(act("New", "Signs"), named("Signs", "New\nAda, 3 of 7, 3 typed"))
	kept(act("New", "Selects nothing"), named("Selects nothing", "Dear AdaNew, 7 of 7, 3 typed"))
	kept(act("", "Locks a cell"), named("Locks a cell", "x\ny, 2 of 12, 0 typed"))
	kept(act("New", "Signs", "Mentions", "Selects nothing"), named("Signs", "New\nAda, 3 of 7, 3 typed"), named("Selects nothing", "Dear AdaNew, 7 of 7, 3 typed"))
	for _, name := range []string{"Mentions", "Says what to write", "Upper", "Bullets"} {
		for _, text := range []string{"", "New", "dear", "- A"} {
			kept(act(text, name))
			if got := p.Text(`of('Mentions').textContent.trim()`); name == "Mentions" && got != text {
				t.Errorf("the editor with mentions holds %q", got)
			}
		}
	}
}

// TestFieldsThatAPageEmptiesAreReported: after a submission that the server refuses, and only then.
func TestFieldsThatAPageEmptiesAreReported(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Sign in", `<form id="f" aria-label="Sign in"><label>Email <input id="email"></label>
		<label>Password <input id="password" type="password"></label><label>Nickname <input id="nick"></label><button>Log in</button></form><button id="empty">Start over</button><script>
		const clear = () => { email.value = ''; password.value = '' }
		f.onsubmit = async (event) => {
			event.preventDefault()
			await fetch('/config').catch(() => undefined)
			const answer = await fetch('/sign-in', {method: 'POST', body: email.value})
			if (email.value !== 'kept') clear()
		}
		document.getElementById('empty').onclick = clear</script>`)})
	s.Answer("/config", 404)
	s.Mux.HandleFunc("/sign-in", func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "ada" {
			rw.WriteHeader(http.StatusUnauthorized)
		}
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	ref := func(name string) string { return e2etest.RefOf(t, first, `"`+name+`"`) }
	fill := func(email string) []any {
		return []any{map[string]any{"ref": ref("Email"), "value": email}, map[string]any{"ref": ref("Password"), "value": "swordfish"}}
	}
	emptied := func(d *e2etest.Acted, names ...string) {
		t.Helper()
		var want []string
		for _, name := range names {
			want = append(want, `textbox "`+name+`" [`+ref(name)+"]")
		}
		if !slices.Equal(d.Emptied, want) {
			t.Errorf("%q, want %q\n%s", d.Emptied, want, d)
		}
	}
	emptied(a.Act("browser_fill_form", map[string]any{"fields": fill("eve"), "submit": ref("Log in")}), "Email", "Password")
	emptied(a.Act("browser_fill_form", map[string]any{"fields": fill("kept"), "submit": ref("Log in")}))
	emptied(a.Act("browser_fill_form", map[string]any{"fields": fill("ada"), "submit": ref("Log in")})) // it was accepted
	// Filled in by an earlier action, or by the user.
	a.Do("browser_type", map[string]any{"ref": ref("Email"), "text": "eve"})
	p.JS(`password.value = 'swordfish'; nick.value = 'E'; for (const field of [password, nick]) field.dispatchEvent(new Event('input', {bubbles: true}))`)
	emptied(a.Act("browser_press_key", map[string]any{"key": "Enter", "ref": ref("Email")}), "Email", "Password")
	a.Do("browser_fill_form", map[string]any{"fields": fill("eve")})
	emptied(a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, "Start over")}))
}

// TestTheFocusIsWhereThePageHasIt: also after an action that moved it several times, with work of the page in between.
func TestTheFocusIsWhereThePageHasIt(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Sign in", `<form id="f"><label>Email <input id="email"></label>
		<label>Password <input id="password" type="password"></label><button>Log in</button></form><script>f.onsubmit = (event) => event.preventDefault()</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	ref := func(name string) string { return e2etest.RefOf(t, first, `"`+name+`"`) }
	for range 2 {
		a.Do("browser_fill_form", map[string]any{"fields": []any{map[string]any{"ref": ref("Email"), "value": "eve"}, map[string]any{"ref": ref("Password"), "value": "swordfish"}}, "submit": ref("Log in")})
		text := a.Snapshot(map[string]any{"full_snapshot": true})
		e2etest.Holds(t, text, `button "Log in" [`+ref("Log in")+"] [focused]")
		if strings.Count(text, "[focused]") != 1 {
			t.Error(text)
		}
		a.Do("browser_click", map[string]any{"ref": ref("Email")})
	}
}
