package syncthing

import (
	"maps"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// parseStatus parses /rest/system/status. discoveryEnabled and discoveryMethods are absent when discovery is off.
func parseStatus(body []byte, l *Limits) (fleet.Status, error) {
	const during = "read the status"
	var w struct {
		MyID                 string  `json:"myID"`
		Alloc                int64   `json:"alloc"`
		CPUPercent           float64 `json:"cpuPercent"`
		DiscoveryEnabled     bool    `json:"discoveryEnabled"`
		DiscoveryMethods     int64   `json:"discoveryMethods"`
		Goroutines           int64   `json:"goroutines"`
		PathSeparator        string  `json:"pathSeparator"`
		Sys                  int64   `json:"sys"`
		Tilde                string  `json:"tilde"`
		Uptime               int64   `json:"uptime"`
		StartTime            string  `json:"startTime"`
		GUIAddressOverridden bool    `json:"guiAddressOverridden"`
	}
	if err := decode(body, &w, l, during); err != nil {
		return fleet.Status{}, err
	}
	id, err := fleet.ParseDeviceID(w.MyID)
	if err != nil {
		return fleet.Status{}, disbelieve(during, "it does not say whose status it is", err)
	}
	if err := counters(during, w.Alloc, w.DiscoveryMethods, w.Goroutines, w.Sys, w.Uptime); err != nil {
		return fleet.Status{}, err
	}
	if w.CPUPercent < 0 {
		return fleet.Status{}, disbelieve(during, "it holds a negative counter", nil)
	}
	if err := sane(l, during, w.PathSeparator, w.Tilde, w.StartTime); err != nil {
		return fleet.Status{}, err
	}
	return fleet.Status{
		MyID: id, Alloc: w.Alloc, CPUPercent: w.CPUPercent, DiscoveryEnabled: w.DiscoveryEnabled,
		DiscoveryMethods: w.DiscoveryMethods, GoRoutines: w.Goroutines, PathSeparator: w.PathSeparator, Sys: w.Sys,
		Tilde: w.Tilde, Uptime: w.Uptime, StartTime: w.StartTime, AddressFixed: w.GUIAddressOverridden,
	}, nil
}

func parseVersion(body []byte, l *Limits) (fleet.Version, error) {
	const during = "read the version"
	var w struct {
		Arch        string `json:"arch"`
		Codename    string `json:"codename"`
		LongVersion string `json:"longVersion"`
		OS          string `json:"os"`
		Version     string `json:"version"`
	}
	if err := decode(body, &w, l, during); err != nil {
		return fleet.Version{}, err
	}
	if w.Version == "" {
		return fleet.Version{}, disbelieve(during, "it names no version", nil)
	}
	if err := sane(l, during, w.Arch, w.Codename, w.LongVersion, w.OS, w.Version); err != nil {
		return fleet.Version{}, err
	}
	return fleet.Version{Arch: w.Arch, Codename: w.Codename, LongVersion: w.LongVersion, OS: w.OS, Version: w.Version},
		nil
}

// maxPaths is several times the number that a daemon has (12 in 2.1).
const maxPaths = 100

// parsePaths parses /rest/system/paths, an object with the daemon's files and directories by their purpose
// (lib/locations of 2.1). It skips defFolder, the directory where users' folders are created by default.
func parsePaths(body []byte, l *Limits) ([]string, error) {
	const during = "read the daemon's own paths"
	var paths map[string]any
	if err := decode(body, &paths, l, during); err != nil {
		return nil, err
	}
	if len(paths) > maxPaths {
		return nil, disbelieve(during, "it names far too many", nil)
	}
	var directories []string
	for name, said := range paths {
		path, isText := said.(string)
		if !isText || path == "" || path == "-" || name == "defFolder" {
			continue
		}
		if err := sane(l, during, path); err != nil {
			return nil, err
		}
		if name == "config" || strings.HasSuffix(name, "File") && name != "logFile" {
			path = path[:max(0, strings.LastIndexAny(path, `/\`))]
		}
		directories = append(directories, path)
	}
	slices.Sort(directories)
	return slices.Compact(directories), nil
}

func parseIgnores(body []byte, l *Limits) ([]string, error) {
	const during = "read the ignore patterns"
	var w struct {
		Ignore []string `json:"ignore"`
		Error  *string  `json:"error"`
	}
	if err := decode(body, &w, l, during); err != nil {
		return nil, err
	}
	if w.Ignore == nil && w.Error != nil && *w.Error != "" {
		return nil, &fleet.Error{Code: fleet.CodeUnavailable, During: during,
			Message: "the daemon cannot read the ignore patterns: " + quote([]byte(*w.Error)),
			Hint:    "Check the folder on the daemon."}
	}
	if w.Ignore == nil {
		return []string{}, nil
	}
	return w.Ignore, nil
}

// parseConnected parses /rest/system/connections, which also lists devices that are not connected.
func parseConnected(body []byte, l *Limits) (fleet.Peers, error) {
	var w struct {
		Connections map[string]struct {
			Connected bool `json:"connected"`
		} `json:"connections"`
	}
	if err := decode(body, &w, l, "ask for the daemon's connections"); err != nil {
		return fleet.Peers{}, err
	}
	maps.DeleteFunc(w.Connections, func(_ string, c struct {
		Connected bool `json:"connected"`
	}) bool {
		return !c.Connected
	})
	return peersIn(w.Connections), nil
}
