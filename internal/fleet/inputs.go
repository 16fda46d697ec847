package fleet

import (
	"encoding/json"
	"strings"
)

// Inputs are what a template's program reads: the same inputs give the same value. They are found once, by compiling
// the text, when a template is saved, and are kept with it.
type Inputs struct {
	Known   bool        `json:"known"` // false: they were not found yet
	Device  DeviceFacts `json:"device,omitempty"`
	Config  bool        `json:"config,omitempty"`  // the configuration so far
	Devices bool        `json:"devices,omitempty"` // the facts of all devices
	Tags    bool        `json:"tags,omitempty"`    // the names of all tags
	Secrets bool        `json:"secrets,omitempty"` // which secrets there are
	Sharing bool        `json:"sharing,omitempty"` // no input: the value may name devices that a folder is shared with
}

// OrAll is every input where it is not known what a program reads.
func (in Inputs) OrAll() Inputs {
	if in.Known {
		return in
	}
	return Inputs{Known: true, Device: AllFacts, Config: true, Devices: true, Tags: true, Secrets: true, Sharing: true}
}

// ReadsFleet tells whether the value depends on other devices than the one that it is for.
func (in Inputs) ReadsFleet() bool { return in.Devices || in.Tags }

// ReadsTagsOfDevices tells whether the value depends on what some device is tagged with.
func (in Inputs) ReadsTagsOfDevices() bool { return in.ReadsFleet() || in.Device.Has("tags") }

// ReadsVars tells whether the value depends on the vars of its device.
func (in Inputs) ReadsVars() bool { return in.Device.Has("vars") }

// Text is the form that is kept.
func (in Inputs) Text() string {
	if !in.Known {
		return ""
	}
	text, err := json.Marshal(in)
	if err != nil {
		panic(err) // texts and booleans
	}
	return string(text)
}

// ParseInputs reads what Text gave. Inputs that cannot be read are not known.
func ParseInputs(text string) Inputs {
	var in Inputs
	if json.Unmarshal([]byte(text), &in) != nil {
		return Inputs{}
	}
	return in
}

// DeviceFacts are the names of the facts that a program reads of its device, sorted and separated by blanks; AllFacts
// when it passes the device on as a whole. It is a text so that templates can be compared.
type DeviceFacts string

// AllFacts are all facts of a device.
const AllFacts DeviceFacts = "*"

// FactsNamed are the facts with these sorted names.
func FactsNamed(names []string) DeviceFacts { return DeviceFacts(strings.Join(names, " ")) }

// Any tells whether the program reads its device at all.
func (f DeviceFacts) Any() bool { return f != "" }

// Has tells whether the program reads a fact.
func (f DeviceFacts) Has(name string) bool {
	return f == AllFacts || strings.Contains(" "+string(f)+" ", " "+name+" ")
}
