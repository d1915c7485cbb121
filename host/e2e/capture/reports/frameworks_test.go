package reports

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// logging is what frameworks log about errors of the page's code, as they do it.
const logging = `export function vue(err, where) {
  console.warn('[Vue warn]: Unhandled error during execution of ' + where, '\n', ' at <CartList>');
  console.error(err);
}
const queue = [];
setInterval(() => {
  for (const { component, place } of queue.splice(0)) {
    console.error('The above error occurred in the <' + component + '> component:\n\n    at ' + component + ' (' + place + ')\n    at main\n\nConsider adding an error boundary');
    throw new Error('Too many re-renders. React limits the number of renders to prevent an infinite loop.');
  }
}, 20);
export function react(component, place) { queue.push({ component, place }); }
`

// TestWhatAFrameworkLogsAboutAnErrorIsOneEntry with it, at the component that it names where the error has no other place.
func TestWhatAFrameworkLogsAboutAnErrorIsOneEntry(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":                     e2etest.StorePage("Frameworks", `<button>Handler</button><button>Forever</button><button>Unknown</button><button>Renders</button><script type="module" src="/src/main.js"></script>`),
		"/node_modules/logging.js": logging,
		"/src/CartList.vue":        "export const name = 'CartList';\n",
		"/src/main.js": `import { vue, react } from '/node_modules/logging.js';
fetch('/src/CartList.vue');
const does = {
  Handler: () => vue(new TypeError('no price'), 'native event handler'),
  Forever: () => vue('Maximum recursive updates exceeded in component <CartList>. This means you have a reactive effect', 'app errorHandler'),
  Unknown: () => vue('Maximum recursive updates exceeded in component <Other>. This means you have a reactive effect', 'app errorHandler'),
  Renders: () => react('Menu', location.origin + '/src/main.js:9:3'),
};
for (const b of document.querySelectorAll('button')) b.onclick = () => does[b.textContent]();
`,
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	for _, c := range []struct{ button, source string }{{"Handler", "main.js:4"}, {"Forever", "CartList.vue"}, {"Unknown", ""}, {"Renders", "main.js:9"}} {
		p.Press(c.button)
		p.JS(`await new Promise((done) => setTimeout(done, 100))`) // the error is thrown later
		r := a.ChangesWith(map[string]any{"wait": "settled"})
		if len(r.Console.NewErrors) != 1 || len(r.Console.NewWarnings) != 0 || r.Severity != report.Error || r.Console.NewErrors[0].Source != c.source {
			t.Errorf("%s, want %s: %s", c.button, c.source, e2etest.Show(r))
		}
	}
}
