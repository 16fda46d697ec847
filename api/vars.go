package api

import "encoding/json"

// Vars are values that templates read as device.vars: those of one device, or of the devices with a tag.
type Vars struct {
	Vars map[string]json.RawMessage `json:"vars" nullable:"false" doc:"By name"`
}

// PutVars is the body of a PUT of Vars.
type PutVars struct {
	Vars map[string]json.RawMessage `json:"vars" nullable:"false" doc:"All of them, by name: letters, digits and _, no digit first. At most 64, and 16 KiB as JSON"`
}

// EffectiveVars are all vars that templates read of a device.
type EffectiveVars struct {
	Vars map[string]EffectiveVar `json:"vars" nullable:"false" doc:"By name"`
}

// EffectiveVar is one var that templates read. Vars of tags apply in the order of the tags' names, the device's own
// last; the last one wins.
type EffectiveVar struct {
	Value json.RawMessage `json:"value" doc:"Any JSON value"`
	Tag   string          `json:"tag" doc:"Whose var it is; blank: the device's own"`
}

// WhatIfVars are vars as they might be: of each device and tag that is named, all of them.
type WhatIfVars struct {
	Devices map[string]map[string]json.RawMessage `json:"devices,omitempty" doc:"By device ID"`
	Tags    map[string]map[string]json.RawMessage `json:"tags,omitempty" doc:"By tag"`
}
