// Package dashboard holds the web dashboard's source and, once `make build` has run, its built files, which the
// daemon serves.
package dashboard

import "embed"

// Dist is the built dashboard below "dist". Without a build it holds nothing but a .gitignore.
//
//go:embed all:dist
var Dist embed.FS
