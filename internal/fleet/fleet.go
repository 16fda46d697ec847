// Package fleet is the vocabulary that every other room speaks: who a device is, what a tag and a template are, how a
// failure is told. It validates, and does nothing else: no clock, network, disk or goroutine, standard library only.
package fleet
