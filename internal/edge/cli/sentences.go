package cli

import (
	"fmt"
	"strings"

	"muster/api"
)

// mostUnfolded is how many changes are shown with their keys and values below the sentences without -v.
const mostUnfolded = 10

// sentenceSigns are the first letter of a sentence by its kind, and the style.
var sentenceSigns = map[string][2]string{
	"failed": {"!", red}, "unread": {"?", yellow}, "removed": {"-", red}, "added": {"+", green}, "changed": {"~", yellow},
	"unplanned": {"·", faint},
}

// sentences prints what a plan does. all is how a reader gets the changes that have no sentence.
func (p *painter) sentences(s api.Summary, all string) {
	for _, one := range s.Sentences {
		sign, known := sentenceSigns[one.Kind]
		if !known {
			sign = [2]string{"~", plain}
		}
		p.line(sign[1], "  "+sign[0]+" "+printable(one.Text))
		if text := labelsText(one.Labels, one.Devices); one.Devices > 1 {
			p.line(faint, "      "+text)
		}
	}
	if s.MoreChanges > 0 {
		p.line(yellow, fmt.Sprintf("  and %s on %s: %s", counted(s.MoreChanges, "more change"),
			counted(s.MoreDevices, "device"), all))
	}
	if s.Removal != "" {
		p.line(plain, s.Removal)
	}
}

// labelsText lists the first labels of a number of devices.
func labelsText(labels []string, devices int) string {
	text := printable(strings.Join(labels, ", "))
	if more := devices - len(labels); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// changesIn counts what the devices of a plan show.
func changesIn(devices []api.DeviceEffect) (n int) {
	for _, device := range devices {
		n += max(1, len(device.Changes)+len(device.Dropped))
	}
	return n
}
