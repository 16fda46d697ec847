package syncthing

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// parseStatus maps /rest/system/status. discoveryEnabled and discoveryMethods are absent when discovery is off.
func parseStatus(body []byte, l Limits) (fleet.Status, error) {
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

func parseVersion(body []byte, l Limits) (fleet.Version, error) {
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

// maxPaths is several times what a daemon has (12 in 2.1).
const maxPaths = 100

// parsePaths maps /rest/system/paths: names of files and directories by what they are for (lib/locations of 2.1).
// defFolder is where folders of people go by default.
func parsePaths(body []byte, l Limits) ([]string, error) {
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

// parseSummary maps /rest/db/status, and the summary in a FolderSummary event, which is the same.
func parseSummary(folder string, body []byte, l Limits) (fleet.FolderSummary, error) {
	const during = "read the summary of a folder"
	var w struct {
		fleet.FolderSummary
		PullErrors int64 `json:"pullErrors"`
	}
	if err := decode(body, &w, l, during); err != nil {
		return fleet.FolderSummary{}, err
	}
	err := counters(during, w.GlobalBytes, w.GlobalDeleted, w.GlobalDirectories, w.GlobalFiles, w.GlobalSymlinks,
		w.LocalBytes, w.LocalDeleted, w.LocalDirectories, w.LocalFiles, w.LocalSymlinks,
		w.NeedBytes, w.NeedDeletes, w.NeedDirectories, w.NeedFiles, w.NeedSymlinks, w.Sequence, w.Version, w.PullErrors)
	if err == nil {
		err = sane(l, during, w.State, w.Error)
	}
	if err != nil {
		return fleet.FolderSummary{}, err
	}
	if w.Error == "" && w.PullErrors > 0 {
		w.Error = fmt.Sprintf("%d items could not be synced", w.PullErrors)
	}
	w.Folder = folder
	// A daemon computes these two as a difference of counters it reads one after the other.
	w.InSyncBytes, w.InSyncFiles = max(w.InSyncBytes, 0), max(w.InSyncFiles, 0)
	return w.FolderSummary, nil
}

func parseIgnores(body []byte, l Limits) ([]string, error) {
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
