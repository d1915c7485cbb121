package devservers

import (
	"path"
	"slices"
)

// server is a development server with an application, and what an agent does to it.
type server struct {
	name string
	// title is how documents call it, and of is its package.
	title, of string
	// path is where the application's page is, "" for the server's first one.
	path string
	// shared are folders of the application that other servers have too.
	shared []string
	edits  []edit
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
	// placed edits make an error that has a place, which is the line of the piece.
	placed bool
}

// editsOf returns the edits of an application whose views are in two files: six that are healthy, and the rest, which break
// something.
func editsOf(app, item string) []edit {
	return []edit{
		{kind: "text", file: app, from: "<h1>Items</h1>", to: "<h1>Goods</h1>", shows: `document.querySelector('main h1')?.textContent === 'Goods'`, healthy: true},
		{kind: "style", file: "src/app.css", from: "body {", to: "h1 { color: rgb(1, 2, 3); } body {", shows: `getComputedStyle(document.querySelector('main h1')).color === 'rgb(1, 2, 3)'`, healthy: true},
		{kind: "a module", file: "src/price.js", from: "toFixed(2)", to: "toFixed(3)", shows: `document.querySelector('main li')?.textContent.includes('1.200')`, healthy: true},
		{kind: "a component", file: item, from: "Add\n", to: "Buy\n", shows: `document.querySelector('main li button')?.textContent.trim() === 'Buy'`, healthy: true},
		{kind: "a handler", file: "src/cart.js", from: "[...cart.lines, item]", to: "[item, ...cart.lines]", then: `document.querySelector('main li button').click()`, healthy: true},
		{kind: "an effect", file: "src/title.js", from: "items`", to: "goods`", shows: `document.title.includes('goods')`, healthy: true},

		{kind: "syntax", file: app, from: "</ul>", to: "</ol>", placed: true},
		{kind: "missing import", file: app, from: "'./" + path.Base(item), to: "'./Missing" + path.Ext(item), placed: true},
		{kind: "undefined at render", file: item, from: "item.cents", to: "item.price.cents", placed: true},
		{kind: "failing route", file: "src/api.js", from: "/api/items", to: "/api/goods"},
		{kind: "error in an effect", file: "src/title.js", from: "`${count} items`", to: "count.items.length", placed: true},
		{kind: "error in a click", file: "src/cart.js", from: "...cart.lines", to: "...cart.rows", then: `document.querySelector('main li button').click()`, placed: true},
		{kind: "rejected promise", file: "src/api.js", from: "return answer.json()", to: "throw new TypeError('no items')", placed: true},
		{kind: "missing picture", file: app, from: "<h1>", to: `<img src="/none.png" alt="none" /><h1>`},
		{kind: "warning", file: "src/title.js", from: "`${count} items`", to: "(console.warn('count', count), `${count} items`)"},
	}
}

// rendered adds what is wrong only in a page that its server rendered: a heading that differs in the browser.
func rendered(edits []edit, heading string) []edit {
	return append(slices.Clone(edits), edit{kind: "hydration mismatch", file: edits[0].file, from: edits[0].from, to: heading})
}

// angular are the edits of an application whose views are in templates, which name no modules.
var angular = func() []edit {
	edits := editsOf("src/App.html", "src/Item.html")
	for i, e := range edits {
		switch e.kind {
		case "missing import":
			edits[i].file, edits[i].from, edits[i].to = "src/App.ts", "'./Item'", "'./Missing'"
		case "undefined at render":
			edits[i].from, edits[i].to = "item().cents", "item().price.cents"
		}
	}
	return edits
}()

// Headings that differ in the browser. Svelte replaces a text that differs, and warns of markup.
const (
	inReact  = "<h1>{Date.now()}</h1>"
	inVue    = "<h1>{{ Date.now() }}</h1>"
	inSvelte = "<h1>{@html String(Date.now())}</h1>"
)

var (
	reactFiles, nextFiles, vueFiles = []string{"shop", "app"}, []string{"shop", "app", "next"}, []string{"shop", "vueapp"}

	react, vue = editsOf("src/App.jsx", "src/Item.jsx"), editsOf("src/App.vue", "src/Item.vue")
)

// shown is the baseline of the application.
const shown = `document.querySelectorAll('main li').length === 2 && document.querySelector('main h1')?.textContent === 'Items' && document.querySelector('main li').textContent.includes('1.20')`

var servers = []server{
	{name: "vite", title: "Vite with React", of: "vite", shared: reactFiles, edits: react},
	{name: "webpack", title: "webpack", of: "webpack-dev-server", shared: reactFiles, edits: react},
	{name: "next", title: "Next.js with Turbopack", of: "next", shared: reactFiles, edits: rendered(react, inReact)},
	{name: "next-webpack", title: "Next.js with webpack", of: "next", shared: nextFiles, edits: rendered(react, inReact)},
	{name: "preact", title: "Vite with Preact", of: "vite", shared: reactFiles, edits: react},
	{name: "vue", title: "Vite with Vue", of: "vite", shared: vueFiles, edits: vue},
	{name: "solid", title: "Vite with Solid", of: "vite", shared: []string{"shop"}, edits: react},
	{name: "sveltekit", title: "SvelteKit", of: "@sveltejs/kit", shared: []string{"shop"}, edits: rendered(editsOf("src/App.svelte", "src/Item.svelte"), inSvelte)},
	{name: "nuxt", title: "Nuxt", of: "nuxt", shared: vueFiles, edits: rendered(vue, inVue)},
	{name: "angular", title: "Angular", of: "@angular/build", shared: []string{"shop"}, edits: angular},
	{name: "react-router", title: "React Router", of: "react-router", shared: reactFiles, edits: rendered(react, inReact)},
	{name: "astro", title: "Astro", of: "astro", shared: reactFiles, edits: rendered(react, inReact)},
	{name: "parcel", title: "Parcel", of: "parcel", shared: reactFiles, edits: react},
	{name: "storybook", title: "Storybook", of: "storybook", path: "/iframe.html?id=app--whole&viewMode=story", shared: reactFiles, edits: react},
}
