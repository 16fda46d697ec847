package fleet

import "strings"

const deviceIDLen = checkedLen + 7 // with its hyphens

// Name is how a text names a device: "nas (P56IOI7)", or the first letters of its ID where it has no label.
func (id DeviceID) Name(label string) string {
	if label == "" {
		return id.Short()
	}
	return label + " (" + id.Short() + ")"
}

// WithNames is a text for a person in which device IDs are replaced by names. label gives that of a device, "" for one
// that is not known. A text without IDs costs next to nothing.
func WithNames(text string, label func(DeviceID) string) string {
	var out strings.Builder
	from, at := 0, 0
	for {
		hyphen := strings.IndexByte(text[at:], '-')
		if hyphen < 0 {
			break
		}
		start := at + hyphen - 7
		if start < from || start+deviceIDLen > len(text) || !isCanonical(text[start:start+deviceIDLen]) {
			at += hyphen + 1
			continue
		}
		id := DeviceID(text[start : start+deviceIDLen])
		out.WriteString(text[from:start])
		out.WriteString(id.Name(label(id)))
		from = start + deviceIDLen
		at = from
	}
	if from == 0 {
		return text
	}
	out.WriteString(text[from:])
	return out.String()
}

// Label is that of a registered device, "" for any other.
func (r *Registry) Label(id DeviceID) string {
	if device := r.Devices[id]; device != nil {
		return device.Label
	}
	return ""
}
