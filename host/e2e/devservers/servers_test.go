package devservers

// server is a development server with an application, and what an agent does to it.
type server struct {
	name, shared string
	// baseline is an expression that is true while the page is as it should be.
	baseline string
	edits    []edit
}

// edit replaces a piece of a file. Its repair puts the piece back.
type edit struct {
	kind, file, from, to string
	// shows is an expression that is true in a page that has the edit, "" where nothing can be seen.
	shows string
	// then is what a user does afterwards.
	then string
	// healthy edits break nothing.
	healthy bool
	// place is the place of the error that the edit makes, as the base name and line of the source, "" for any.
	place string
}

// react are edits of the application that several servers share.
var react = []edit{
	{kind: "text", file: "src/App.jsx", from: "<h1>Items</h1>", to: "<h1>Goods</h1>", shows: `document.querySelector('h1')?.textContent === 'Goods'`, healthy: true},
	{kind: "style", file: "src/app.css", from: "body {", to: "h1 { color: rgb(1, 2, 3); } body {", shows: `getComputedStyle(document.querySelector('h1')).color === 'rgb(1, 2, 3)'`, healthy: true},
	{kind: "a module", file: "src/price.js", from: "toFixed(2)", to: "toFixed(3)", shows: `document.querySelector('li')?.textContent.includes('1.200')`, healthy: true},
	{kind: "a component", file: "src/Item.jsx", from: "        Add\n", to: "        Buy\n", shows: `document.querySelector('li button')?.textContent === 'Buy'`, healthy: true},
	{kind: "a handler", file: "src/cart.js", from: "[...cart.lines, item]", to: "[item, ...cart.lines]", then: `document.querySelector('li button').click()`, healthy: true},
	{kind: "an effect", file: "src/title.js", from: "items`", to: "goods`", shows: `document.title.includes('goods')`, healthy: true},

	{kind: "syntax", file: "src/App.jsx", from: "</ul>", to: "</ol>", place: "App.jsx:24"},
	{kind: "missing import", file: "src/App.jsx", from: "./Item.jsx", to: "./Items.jsx", place: "App.jsx:5"},
	{kind: "undefined at render", file: "src/Item.jsx", from: "item.cents", to: "item.price.cents", place: "Item.jsx:6"},
	{kind: "failing route", file: "src/api.js", from: "/api/items", to: "/api/goods"},
	{kind: "error in an effect", file: "src/title.js", from: "`${count} items`", to: "count.items.length", place: "title.js:1"},
	{kind: "error in a click", file: "src/cart.js", from: "...cart.lines", to: "...cart.rows", then: `document.querySelector('li button').click()`, place: "cart.js:3"},
	{kind: "rejected promise", file: "src/api.js", from: "return answer.json()", to: "throw new TypeError('no items')", place: "api.js:3"},
	{kind: "missing picture", file: "src/App.jsx", from: "<h1>", to: `<img src="/none.png" alt="none" /><h1>`},
	{kind: "warning", file: "src/App.jsx", from: "{list.map((item) => (", to: "{console.warn('list', list.length)}{list.map((item) => ("},
}

// shown is the baseline of applications with the list of items.
const shown = `document.querySelectorAll('li').length === 2 && document.querySelector('h1')?.textContent === 'Items' && document.querySelector('li').textContent.includes('1.20')`

var servers = []server{
	{name: "vite", shared: "app", baseline: shown, edits: react},
	{name: "webpack", shared: "app", baseline: shown, edits: react},
	{name: "next", shared: "app", baseline: shown, edits: react},
}
