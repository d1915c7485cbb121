package demo

import "slices"

// Breakage is one way in which a developer's edit breaks the shop.
type Breakage struct {
	// Name is the unique name, in lower case letters, digits and underscores.
	Name string
	// Title is the heading: what breaks, in a few words.
	Title string
	// Story describes the developer's edit in one sentence.
	Story string
	// Break applies the edit, Mend reverts it. Both can be repeated safely.
	Break, Mend func(*Shop)
	// Prepare runs in the healthy page, for breakages that show only in comparison with earlier behavior. See
	// [Script].
	Prepare string
	// Reload means that the page must reload before Trigger and before Recover, as a development server would
	// do after the edit.
	Reload bool
	// Trigger runs in the page after Break and waits for the effect.
	Trigger string
	// Recover runs in the page after Mend and waits until the page is healthy. Empty means the same as Trigger.
	Recover string
	// Expect is what an observer should report.
	Expect Expect
}

// Expect is the expected report of a breakage. Texts are fragments of the report. URLs are paths, or for other
// origins the end of the URL.
type Expect struct {
	// Severity is "error", "warning", or "clean" for a change that only looks like a problem.
	Severity string
	// Errors and Warnings are console messages, exceptions included.
	Errors, Warnings []string
	// Failures are requests that failed.
	Failures []Failure
	// Degraded are the endpoints that became slow.
	Degraded []string
	// Disconnections are URLs of WebSockets, SocketErrors the texts of their error messages.
	Disconnections, SocketErrors []string
	// Elements are the texts of error elements that appeared, even if they have disappeared since.
	Elements []string
}

// Failure is a request that failed.
type Failure struct {
	Method, URL string
	// Status is 0 without a response that the page can see.
	Status int
	// Error is a fragment of the reason if Status is 0.
	Error string
}

// Find returns the breakage with a name.
func Find(name string) (Breakage, bool) {
	i := slices.IndexFunc(Breakages, func(b Breakage) bool { return b.Name == name })
	if i < 0 {
		return Breakage{}, false
	}
	return Breakages[i], true
}

// MendAll reverts every breakage.
func (s *Shop) MendAll() {
	for _, b := range Breakages {
		b.Mend(s)
	}
}

// Script wraps Prepare, Trigger or Recover for evaluation in the page's main world. It returns a promise that
// is rejected with a message when a wait takes longer than five seconds.
func Script(steps string) string {
	return "(async () => {" + prelude + steps + "\n})()"
}

// prelude defines the functions that the steps use.
const prelude = `
const one = (selector) => document.querySelector(selector);
const until = (test) => new Promise((done, fail) => {
  const end = performance.now() + 5000;
  const look = () => {
    const value = test();
    if (value) done(value);
    else if (performance.now() > end) fail(new Error('the shop did not reach this state: ' + test));
    else setTimeout(look, 10);
  };
  look();
});
const ready = () => until(() => document.documentElement.dataset.state === 'ready');
const click = async (selector) => (await until(() => one(selector))).click();
const type = (selector, text) => {
  one(selector).value = text;
  one(selector).dispatchEvent(new Event('input', { bubbles: true }));
};
const live = (value) => until(() => one('#live').dataset.live === value);
`

// edit is a change to a file of the page. The old text occurs in the file exactly once.
type edit struct {
	breakage, file, old, new string
}

var edits = []edit{
	{"click_typeerror", "app.js", "function openCart() {\n", "function openCart() {\n  $('#cart-footer').classList.add('open');\n"},
	{"worker_throws", "shipping.js", "const zone = zones[country];", "const zone = zones.europe[country];"},
	{"script_404", "index.html", `src="/promo.js"`, `src="/promo.min.js"`},
	{"toast_flash", "app.js", "const TOAST_MS = 4000;", "const TOAST_MS = 150;"},
	{
		"warning_flood", "app.js", "function drawProducts() {\n",
		"function drawProducts() {\n  for (let id = 7001; id <= 7050; id++) console.warn(`[deprecated] Card#${id}: \"badge\" goes in 3.0, use \"label\"`);\n",
	},
}

// Breakages are all breakages, in the order of the demo. They are independent of each other.
var Breakages = []Breakage{
	{
		Name:    "api_500",
		Title:   "An endpoint returns 500",
		Story:   "A query for the product list names a column that the migration has not added yet.",
		Reload:  true,
		Trigger: `await ready();`,
		Expect: Expect{
			Severity: "error",
			Failures: []Failure{{Method: "GET", URL: "/api/products", Status: 500}},
			Elements: []string{"Products could not be loaded: the shop answered 500."},
		},
	},
	{
		Name:    "click_typeerror",
		Title:   "A click handler throws",
		Story:   "The cart's footer was removed from the markup, but not from the code that opens the cart.",
		Reload:  true,
		Trigger: `await ready(); await click('#open-cart'); one('#cart').close();`,
		Expect: Expect{
			Severity: "error",
			Errors:   []string{"Cannot read properties of null (reading 'classList')"},
		},
	},
	{
		Name:    "renamed_field",
		Title:   "A field was renamed, prices are NaN",
		Story:   "The API renamed price to unit_price, but the page still reads price.",
		Reload:  true,
		Trigger: `await ready();`,
		Expect: Expect{
			Severity: "error",
			Errors:   []string{"money(): expected a number, got undefined"},
		},
	},
	{
		Name:    "unhandled_rejection",
		Title:   "An unhandled promise rejection",
		Story:   "The wishlist now needs a sign-in, so its endpoint returns an HTML page with status 200.",
		Trigger: `await ready(); await click('[data-testid=save-3]'); await new Promise((done) => setTimeout(done, 300));`,
		Expect: Expect{
			Severity: "error",
			Errors:   []string{`Unexpected token '<', "<!doctype "... is not valid JSON`},
		},
	},
	{
		Name:    "slow_endpoint",
		Title:   "An endpoint became slow",
		Story:   "The search lost its index and now reads every row.",
		Prepare: `await ready(); for (const query of ['la', 'mug', 'glass', 'rope']) await search(query); await search('');`,
		Trigger: `await search('lantern'); await search('');`,
		Expect:  Expect{Severity: "warning", Degraded: []string{"/api/search"}},
	},
	{
		Name:    "socket_closed",
		Title:   "The live feed disconnects",
		Story:   "The stock feed reads a missing setting and crashes after its greeting.",
		Prepare: `await ready(); await live('on');`,
		Trigger: `await live('off');`,
		Recover: `await live('on');`,
		Expect:  Expect{Severity: "warning", Disconnections: []string{"/ws/stock"}},
	},
	{
		Name:    "socket_error",
		Title:   "The live feed reports an error",
		Story:   "The stock feed queries a warehouse that was turned off.",
		Prepare: `await ready(); await live('on');`,
		Trigger: `await live('stale');`,
		Recover: `await live('on');`,
		Expect:  Expect{Severity: "warning", SocketErrors: []string{"warehouse 3 does not respond"}},
	},
	{
		Name:    "image_404",
		Title:   "An image is missing",
		Story:   "The lantern's image was renamed in the data, but not on disk.",
		Reload:  true,
		Trigger: `await ready(); await until(() => [...document.images].every((image) => image.complete));`,
		Expect: Expect{
			Severity: "error",
			Failures: []Failure{{Method: "GET", URL: "/images/storm-lantern.svg", Status: 404}},
		},
	},
	{
		Name:    "script_404",
		Title:   "A script is missing",
		Story:   "The page requests a minified promo script, which no build creates.",
		Reload:  true,
		Trigger: `await ready();`,
		Expect: Expect{
			Severity: "error",
			Failures: []Failure{{Method: "GET", URL: "/promo.min.js", Status: 404}},
		},
	},
	{
		Name:    "cors_blocked",
		Title:   "Another origin is blocked by CORS",
		Story:   "The exchange rate service lost the header that allows other origins to read it.",
		Reload:  true,
		Trigger: `await ready(); await until(() => document.documentElement.dataset.rated);`,
		Expect: Expect{
			Severity: "error",
			Failures: []Failure{{Method: "GET", URL: "/rates", Error: "CORS"}},
		},
	},
	{
		Name:   "toast_flash",
		Title:  "An error appears for 150 ms",
		Story:  "A test setting of 150 ms for toasts was left in, and the coupon has expired.",
		Reload: true,
		Trigger: `await ready(); type('#coupon', 'TIDE10'); one('#coupon-form').requestSubmit();
await until(() => one('.toast')); await until(() => !one('.toast'));`,
		Recover: `await ready(); type('#coupon', 'TIDE10'); one('#coupon-form').requestSubmit();
await until(() => state.percentOff === 10);`,
		Expect: Expect{Severity: "warning", Elements: []string{"Coupon TIDE10 is not valid"}},
	},
	{
		Name:   "worker_throws",
		Title:  "A worker throws",
		Story:  "The worker now expects shipping zones grouped by continent, but its table was not changed.",
		Reload: true,
		Trigger: `await ready(); const failed = new Promise((done) => shippingWorker.addEventListener('error', done));
await click('[data-testid=add-4]'); await until(() => state.cart.lines.length > 0); openCart();
await Promise.race([failed, until(() => state.shipping !== null)]); one('#cart').close();`,
		Expect: Expect{
			Severity: "error",
			Errors:   []string{"Cannot read properties of undefined (reading 'DE')"},
		},
	},
	{
		Name:    "warning_flood",
		Title:   "Fifty deprecation warnings",
		Story:   "The updated card component warns about a deprecated property, with a different ID each time.",
		Reload:  true,
		Trigger: `await ready();`,
		Expect:  Expect{Severity: "warning", Warnings: []string{`"badge" goes in 3.0, use "label"`}},
	},
	{
		Name:    "dead_connection",
		Title:   "A request gets no answer",
		Story:   "The cart's endpoint panics before it answers, so the connection ends.",
		Trigger: `await ready(); await click('[data-testid=add-6]'); await until(() => one('.toast-error'));`,
		Recover: `await click('[data-testid=add-6]'); await until(() => state.cart.lines.some((line) => line.product === 6));`,
		Expect: Expect{
			Severity: "error",
			Failures: []Failure{{Method: "POST", URL: "/api/cart", Error: "ERR_EMPTY_RESPONSE"}},
			Elements: []string{"Brass Compass could not be added: Failed to fetch"},
		},
	},
	{
		Name:   "endless_scroll",
		Title:  "Busy, but healthy",
		Story:  "Nothing is broken: a long scroll loads page after page of reviews.",
		Reload: true,
		Trigger: `await ready(); await until(() => {
  scrollTo(0, document.body.scrollHeight);
  return Number(document.documentElement.dataset.reviews) >= 48;
}); scrollTo(0, 0);`,
		Expect: Expect{Severity: "clean"},
	},
}

func init() {
	for i := range Breakages {
		b := &Breakages[i]
		name := b.Name
		b.Break = func(s *Shop) { s.set(name, true) }
		b.Mend = func(s *Shop) { s.set(name, false) }
		switch name {
		case "socket_closed":
			b.Break = func(s *Shop) { s.set(name, true); s.feed.send(nil) }
		case "socket_error":
			b.Break = func(s *Shop) { s.set(name, true); s.feed.send(troubleFrame) }
			b.Mend = func(s *Shop) { s.set(name, false); s.feed.send(helloFrame) }
		}
		if b.Recover == "" {
			b.Recover = b.Trigger
		}
	}
}
