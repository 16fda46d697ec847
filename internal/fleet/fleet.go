// Package fleet is the vocabulary of all other packages: devices, tags, templates, changes, errors. It validates and
// does nothing else: no clock, network, disk or goroutine. It imports only the standard library.
package fleet
