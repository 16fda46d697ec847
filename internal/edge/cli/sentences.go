package cli

import (
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

// mostUnfolded is how many changes are shown with their keys and values below the sentences without -v.
const mostUnfolded = 10

// sentenceSign is printed before a sentence. The style is that of the whole line.
type sentenceSign struct{ sign, style string }

// signByKind has the sign of each kind of sentence.
var signByKind = map[string]sentenceSign{
	"failed": {"!", red}, "unread": {"?", yellow}, "removed": {"-", red}, "added": {"+", green}, "changed": {"~", yellow},
	"unplanned": {"·", faint},
}

// sentences prints the sentences of a plan. all says where the changes without a sentence are shown.
func (p *painter) sentences(s api.Summary, all string) {
	for _, one := range s.Sentences {
		sign, isKnown := signByKind[one.Kind]
		if !isKnown {
			sign = sentenceSign{"~", plain}
		}
		p.line(sign.style, "  "+sign.sign+" "+printable(one.Text))
		if text := labelsText(one.Labels, one.Devices); one.Devices > 1 {
			p.line(faint, "      "+text)
		}
	}
	if s.MoreChanges > 0 {
		p.line(yellow, "  and "+moreChangesText(s)+": "+all)
	}
	if s.MoreWithoutPlan > 0 {
		p.line(yellow, "  and "+moreWithoutPlanText(s))
	}
	if s.Removal != "" {
		p.line(plain, s.Removal)
	}
}

// moreChangesText counts the changes that have no sentence.
func moreChangesText(s api.Summary) string {
	return counted(s.MoreChanges, "more change") + " on " + counted(s.MoreDevices, "device")
}

// moreWithoutPlanText counts the devices that have neither a plan nor a sentence.
func moreWithoutPlanText(s api.Summary) string {
	return counted(s.MoreWithoutPlan, "more device") + " without a plan"
}

// labelsText lists the first labels of a number of devices.
func labelsText(labels []string, devices int) string {
	text := printable(strings.Join(labels, ", "))
	if more := devices - len(labels); more > 0 {
		text += " and " + fleet.NumberText(more) + " more"
	}
	return text
}

// changesIn counts the changes of a plan. A device without changes counts as one.
func changesIn(devices []api.DeviceEffect) (n int) {
	for _, device := range devices {
		n += max(1, len(device.Changes)+len(device.Dropped))
	}
	return n
}
