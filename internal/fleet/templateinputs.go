package fleet

import (
	"encoding/json"
	"strings"
)

// Inputs are what a template's program reads: equal inputs give equal values. They are determined once, by compiling
// the text when a template is saved, and stored with the template.
type Inputs struct {
	Known   bool        `json:"known"` // false: they were not determined yet
	Device  DeviceFacts `json:"device,omitempty"`
	Config  bool        `json:"config,omitempty"`  // the configuration after the templates before this one
	Devices bool        `json:"devices,omitempty"` // the facts of all devices
	Tags    bool        `json:"tags,omitempty"`    // the names of all tags
	Peers   bool        `json:"peers,omitempty"`   // the vars and addresses of all devices
	Secrets bool        `json:"secrets,omitempty"` // the names of the secrets that exist
	// the value may name devices that a folder is shared with (a property of the value, not an input)
	Sharing bool `json:"sharing,omitempty"`
}

// OrAll returns every input when the inputs of a program are unknown, without Peers: what a program reads of them is
// given only to those that are known to read it.
func (in Inputs) OrAll() Inputs {
	if in.Known {
		return in
	}
	return Inputs{Known: true, Device: AllFacts, Config: true, Devices: true, Tags: true, Secrets: true, Sharing: true}
}

// ReadsFleet reports whether the value depends on other devices than the one it is evaluated for.
func (in Inputs) ReadsFleet() bool { return in.Devices || in.Tags }

// ReadsTagsOfDevices reports whether the value depends on the tags of any device.
func (in Inputs) ReadsTagsOfDevices() bool { return in.ReadsFleet() || in.Device.Has("tags") }

// ReadsVars reports whether the value depends on the vars of its device.
func (in Inputs) ReadsVars() bool { return in.Device.Has("vars") }

// Text returns the form that is stored.
func (in Inputs) Text() string {
	if !in.Known {
		return ""
	}
	text, err := json.Marshal(in)
	if err != nil {
		panic(err) // Strings and booleans always encode.
	}
	return string(text)
}

// ParseInputs parses what Text returned. Inputs that cannot be parsed are unknown.
func ParseInputs(text string) Inputs {
	var in Inputs
	if json.Unmarshal([]byte(text), &in) != nil {
		return Inputs{}
	}
	return in
}

// DeviceFacts are the names of the facts that a program reads of its device, sorted and separated by blanks, or
// AllFacts when the program passes the device on as a whole. The type is a string so that templates can be compared.
type DeviceFacts string

// AllFacts are all facts of a device.
const AllFacts DeviceFacts = "*"

// FactsNamed makes DeviceFacts of sorted names.
func FactsNamed(names []string) DeviceFacts { return DeviceFacts(strings.Join(names, " ")) }

// Any reports whether the program reads its device.
func (f DeviceFacts) Any() bool { return f != "" }

// Has reports whether the program reads a fact.
func (f DeviceFacts) Has(name string) bool {
	return f == AllFacts || strings.Contains(" "+string(f)+" ", " "+name+" ")
}
