// Package docs holds the manual as it is written. internal/edge/manual renders it.
package docs

import "embed"

//go:embed *.md *.svg adr/*.md
var Files embed.FS
