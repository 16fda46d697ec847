package stsim

// Version is the Syncthing release that a daemon imitates.
type Version string

const (
	V2 Version = "v2.1.3"
	V1 Version = "v1.19.2"
)
