package viewer

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAnOverlayIsAnErrorWithItsPlace: it has the mark of one, and beside the message the file and line that it names.
func TestAnOverlayIsAnErrorWithItsPlace(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<h1>Shop</h1><script>
		function fail(message, file) {
			const overlay = document.createElement('vite-error-overlay');
			overlay.attachShadow({ mode: 'open' }).innerHTML = '<pre class="message"></pre><pre class="file"></pre>';
			overlay.shadowRoot.querySelector('.message').textContent = message;
			overlay.shadowRoot.querySelector('.file').textContent = file;
			document.body.append(overlay);
		}
		function warn() { document.body.insertAdjacentHTML('beforeend', '<div role="alert" class="error">The cart cannot be saved.</div>'); }
	</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	p.JS(`fail('Failed to resolve import "./components/checkout/PaymentMethodSelector" from "src/pages/checkout/CheckoutPage.tsx". Does the file exist?', '/shop/src/pages/checkout/CheckoutPage.tsx:24:31'); warn()`)
	v := w.OpenViewer(t, s)
	v.Shows("Failed to resolve import")
	v.JS(`
const line = (text) => [...document.querySelectorAll('.line')].find((l) => l.textContent.includes(text));
const overlay = line('Failed to resolve import');
if (!overlay.classList.contains('error')) throw new Error('no error: ' + overlay.className);
const place = overlay.querySelector('.source');
if (place?.textContent !== 'CheckoutPage.tsx:24') throw new Error('the place is ' + place?.textContent);
if (!place.title.endsWith('src/pages/checkout/CheckoutPage.tsx:24')) throw new Error('the whole place is ' + place.title);
if (!line('The cart cannot be saved').classList.contains('warning')) throw new Error('an alert is no error');`)
	v.JS(`
const [first] = document.querySelectorAll('.line.error, .line.warning');
if (!first.textContent.includes('Failed to resolve import')) throw new Error('first is ' + first.textContent);
await press('Events');
await until(() => document.querySelector('.event'), 'events');
const event = [...document.querySelectorAll('.event')].find((e) => e.textContent.includes('Failed to resolve import'));
if (!event.classList.contains('error')) throw new Error('its event is ' + event.className);`)
}
