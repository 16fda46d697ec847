package hostile

import (
	"time"

	"muster/internal/fleet"
	"muster/internal/stsim"
)

// answer is one way of a daemon to misbehave, and what Muster must make of it.
type answer struct {
	name       string
	faults     stsim.Faults
	connection fleet.Connection // "" where the daemon may be watched all the same
	reason     string           // part of what a person is told
}

// What cannot be true of a folder makes that folder unknown, and the daemon is watched all the same.
const (
	summaryOf10GB    = "summary of 10 GB"
	summaryBelowZero = "summary below zero"
)

var other = fleet.DeviceIDOf([32]byte{1})

// Answers on every path: the daemon is not even identified.
var everywhere = []answer{
	{"body of 10 GB", stsim.Faults{HugeBody: 10 << 30}, fleet.Unreachable, "larger than"},
	{"a byte a second", stsim.Faults{Drip: time.Second}, fleet.Unreachable, "too slow"},
	{"a million levels of JSON", stsim.Faults{Deep: 1_000_000}, fleet.Unreachable, "not believed"},
	{"wrong types", stsim.Faults{WrongTypes: true}, fleet.Unreachable, "not the JSON"},
	{"negative counters", stsim.Faults{Negative: true}, fleet.Unreachable, "negative counter"},
	{"a page", stsim.Faults{HTML: true}, fleet.Unreachable, "not the JSON"},
	{"HTML in every string", stsim.Faults{Script: true}, fleet.Unreachable, "whose status"},
	{"redirect to a stranger", stsim.Faults{Redirect: "http://127.0.0.1:9/"}, fleet.Unreachable, "redirects"},
	{"compression bomb", stsim.Faults{GzipBomb: 10 << 30}, fleet.Unreachable, "compressed"},
	{"another device's ID", stsim.Faults{MyID: other}, fleet.IdentityMismatch, other.Short() + " answers there"},
	{"wrong key", stsim.Faults{Status: 403}, fleet.KeyRefused, "API key"},
	{"broken server", stsim.Faults{Status: 500}, fleet.Unreachable, "could not answer"},
	{"no answer", stsim.Faults{Hang: true}, fleet.Unreachable, "too slow"},
	{"connections closed", stsim.Faults{Refuse: true}, fleet.Unreachable, "closed the connection"},
	{"answers cut off", stsim.Faults{Cut: 5}, fleet.Unreachable, "closed the connection"},
}

func on(path string, f stsim.Faults) stsim.Faults {
	f.Paths = []string{path}
	return f
}

// Answers on one path of a daemon that is who it says it is.
var inPlaces = []answer{
	{"configuration of 10 GB", on("/rest/config", stsim.Faults{HugeBody: 10 << 30}), fleet.Unreachable, "larger than"},
	{"configuration packed", on("/rest/config", stsim.Faults{GzipBomb: 10 << 30}), fleet.Unreachable, "compressed"},
	{"configuration a million levels deep", on("/rest/config", stsim.Faults{Deep: 1_000_000}), fleet.Unreachable,
		"nested"},
	{"configuration with wrong types", on("/rest/config", stsim.Faults{WrongTypes: true}), fleet.Unreachable,
		"configuration"},
	{"configuration with HTML", on("/rest/config", stsim.Faults{Script: true}), fleet.Unreachable, "configuration"},
	{"configuration a byte a second", on("/rest/config", stsim.Faults{Drip: time.Second}), fleet.Unreachable, "too slow"},
	{"events of 10 GB", on("/rest/events", stsim.Faults{HugeBody: 10 << 30}), fleet.Unreachable, "larger than"},
	{"events with wrong types", on("/rest/events", stsim.Faults{WrongTypes: true}), fleet.Unreachable, "not the JSON"},
	{"events that run backwards", on("/rest/events", stsim.Faults{Backwards: true}), fleet.Unreachable, "run backwards"},
	{"a flood of events", on("/rest/events", stsim.Faults{Flood: 1000}), "", ""},
	{summaryOf10GB, on("/rest/db/status", stsim.Faults{HugeBody: 10 << 30}), "", ""},
	{summaryBelowZero, on("/rest/db/status", stsim.Faults{Negative: true}), "", ""},
	{"version with HTML", on("/rest/system/version", stsim.Faults{Script: true}), "", ""},
	{"version of 10 GB", on("/rest/system/version", stsim.Faults{HugeBody: 10 << 30}), fleet.Unreachable, "larger than"},
}
