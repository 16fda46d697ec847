package api

import "encoding/json"

// Why says where the value of a key comes from.
type Why struct {
	Key       string          `json:"key" doc:"In the daemon's spelling"`
	Value     json.RawMessage `json:"value" doc:"Any JSON, secrets masked: what the device shall have; null where it shall not have the key"`
	Observed  json.RawMessage `json:"observed" doc:"What the daemon had when it was last read; null where it does not have the key"`
	Reason    string          `json:"reason" doc:"Where the value comes from, for a person"`
	Help      string          `json:"help" doc:"What the key is for; blank where Muster does not know it"`
	Origin    string          `json:"origin" enum:"template,base,implied" doc:"template: the last of steps; base: what was there without Muster; implied: a shared folder needs the device"`
	Base      json.RawMessage `json:"base" doc:"What the device has without Muster; null where it does not have the key"`
	Steps     []WhyStep       `json:"steps" nullable:"false" doc:"The templates that change the key, in the order in which they apply"`
	Agreed    []WhyTemplate   `json:"agreed" nullable:"false" doc:"Templates that ask for the value that is there without them"`
	Skipped   []WhySkipped    `json:"skipped" nullable:"false" doc:"What templates ask for there and this device cannot take"`
	Conflicts []string        `json:"conflicts" nullable:"false" doc:"Which template has the last word over which, at this key"`
}

// WhyStep is one template that changes the key.
type WhyStep struct {
	WhyTemplate
	From json.RawMessage `json:"from" doc:"What was there before in the fold; null where the key was not there"`
	To   json.RawMessage `json:"to" doc:"What the template made of it; null where it removed the key"`
}

// WhyTemplate is a template that applies to a device, and who saved it last.
type WhyTemplate struct {
	Template int64    `json:"template" doc:"ID of the template"`
	Label    string   `json:"label" doc:"Of the template; blank: it has none"`
	Priority int64    `json:"priority" doc:"Ascending, then by id: the larger number has the last word"`
	Op       string   `json:"op" enum:"set,merge,append,remove" doc:"What the template does with its key"`
	At       string   `json:"at" doc:"The key of the template"`
	Line     int      `json:"line" doc:"Of its text, where the name stands; 0 where that is not known"`
	Tags     []string `json:"tags" nullable:"false" doc:"That the device shares with it"`
	Vars     []WhyVar `json:"vars" nullable:"false" doc:"Vars of the device that its text names; of a template that changes or names a key"`
	SavedBy  string   `json:"savedBy" doc:"Who last changed op, key or text; blank where that is not known"`
	SavedAt  *Time    `json:"savedAt" format:"date-time" nullable:"true" doc:"When; null where that is not known"`
}

// WhyVar is a var that a template reads.
type WhyVar struct {
	Name  string          `json:"name" doc:"Of the variable"`
	Value json.RawMessage `json:"value" doc:"Any JSON"`
	Tag   string          `json:"tag" doc:"Whose var it is; blank: the device's own"`
}

// ManagedKey is a key of a device's configuration with an owner. It holds for everything below the key, unless another
// key is nearer.
type ManagedKey struct {
	Key       string  `json:"key" doc:"Key that a template manages"`
	Owner     string  `json:"owner" enum:"template,implied,daemon" doc:"template: templates ask for the value; implied: a shared folder needs the device; daemon: somebody at the daemon, or the daemon, set it inside of what Muster made"`
	Templates []int64 `json:"templates" nullable:"false" doc:"That ask for it, in the order in which they apply; the last one decides"`
}

// WhySkipped is what a template asks for and the device cannot take.
type WhySkipped struct {
	Template int64  `json:"template" doc:"ID of the template"`
	Key      string `json:"key" doc:"Its key"`
	Reason   string `json:"reason" doc:"Why it does not apply, for a person"`
}
