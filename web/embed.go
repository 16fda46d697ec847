// Package web holds the browser console as it was built by `make build`. It is no more than files: internal/edge/httpapi
// serves them.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Console gives the files of the console; nil when this binary was built without them.
func Console() fs.FS {
	files, err := fs.Sub(dist, "dist/console")
	if err != nil {
		return nil
	}
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return nil
	}
	return files
}
