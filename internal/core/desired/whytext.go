package desired

import (
	"fmt"

	"muster/internal/core/stconfig"
)

// Reason tells a person, in one sentence without a full stop, where the value of the key comes from. IDs of devices in
// it are to be replaced by names.
func (e Explanation) Reason() string {
	reason := e.origin()
	switch {
	case same(e.Observed, e.Desired):
		return reason
	case e.Drift:
		return reason + ". Somebody changed it at the daemon"
	}
	return reason + ". The daemon has not got this yet"
}

func (e Explanation) origin() string {
	isTheirs := e.Inner == ByDaemon && same(e.Observed, e.Desired)
	switch {
	case isTheirs && e.Introduced:
		return "an introducer or the daemon set it, inside of what Muster made"
	case isTheirs:
		return "somebody set it at the daemon, inside of what Muster made"
	case len(e.Steps) > 0:
		return e.byTemplates()
	case e.Implied:
		return "it is there because a folder is shared with this device"
	case len(e.Agreed) > 0:
		return named(e.Agreed[len(e.Agreed)-1]) + " asks for the value that the device has without Muster, too"
	case !e.Base.Exists() && e.Observed.Exists():
		return "Muster made it, and no template asks for it any more"
	case isDefault(e.Key, e.Base):
		return "no template asks for it: it is the default of Syncthing"
	}
	return "no template asks for it: somebody set it at the daemon, or the daemon did"
}

func (e Explanation) byTemplates() string {
	last := e.Steps[len(e.Steps)-1]
	verb := "sets it"
	if !last.To.Exists() {
		verb = "removes it"
	}
	text := fmt.Sprintf("%s %s", named(last.Template), verb)
	if others := len(e.Steps) - 1; others > 0 {
		text += fmt.Sprintf(", as the last of %d templates that change it", others+1)
	}
	return text
}

// isDefault reports whether a value is the one with which a current daemon starts.
func isDefault(key stconfig.Key, v stconfig.Value) bool {
	setting, _, err := stconfig.SettingAt(key.String())
	return err == nil && same(v, setting.Default)
}
