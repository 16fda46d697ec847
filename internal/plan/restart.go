package plan

import (
	"slices"
	"strings"

	"muster/internal/stconfig"
)

// needRestart are the options that take effect only when the daemon starts anew: in 2.1 the first two, in 1.19 the
// last.
var needRestart = []string{"options.auditenabled", "options.auditfile", "options.databasetuning"}

// NeedsRestart tells whether what is written at a key may take effect only when the daemon starts anew.
func NeedsRestart(key stconfig.Key) bool {
	name := strings.ToLower(key.String())
	return name == "options" || slices.Contains(needRestart, name)
}
