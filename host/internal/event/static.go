package event

import (
	"path"
	"slices"
	"strings"
)

// staticResources are the browser's types of the files that a page is made of.
var staticResources = []string{"script", "stylesheet", "font", "image", "media", "texttrack", "manifest"}

// staticNames are the endings of their names.
var staticNames = namesOf(`js mjs cjs jsx ts mts tsx vue svelte astro css scss sass less styl map wasm
	woff woff2 ttf otf eot png jpg jpeg gif svg webp avif ico mp3 mp4 webm`)

func namesOf(list string) map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		names["."+name] = true
	}
	return names
}

// IsStatic reports whether the request was for a file that a page is made of, a module, chunk, style sheet, font or picture.
func (n *Network) IsStatic() bool {
	if slices.Contains(staticResources, n.Resource) {
		return true
	}
	if n.Method != "GET" {
		return false
	}
	address, _, _ := strings.Cut(n.URL, "?")
	address, _, _ = strings.Cut(address, "#")
	return staticNames[path.Ext(address)]
}
