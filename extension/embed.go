// Package extension holds the browser extension's source and, once `make build` has run, its built
// files, embedded so that one binary carries everything.
package extension

import "embed"

// Dist is the built extension below "dist". Without a build it holds nothing but a .gitignore.
//
//go:embed all:dist
var Dist embed.FS
