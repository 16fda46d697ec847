package store

import (
	"time"

	"muster/internal/fleet"
)

// The bodies of statuses, versions and summaries as they lie in the database. They convert from and to the fleet's
// types, so that a field added there is a compile error here and not a field that is silently not kept. What a column
// holds already is left out.

type statusBody struct {
	MyID             fleet.DeviceID `json:"myID"`
	Alloc            int64          `json:"alloc"`
	CPUPercent       float64        `json:"cpuPercent"`
	DiscoveryEnabled bool           `json:"discoveryEnabled"`
	DiscoveryMethods int64          `json:"discoveryMethods"`
	GoRoutines       int64          `json:"goRoutines"`
	PathSeparator    string         `json:"pathSeparator"`
	Sys              int64          `json:"sys"`
	Tilde            string         `json:"tilde"`
	Uptime           int64          `json:"uptime"`
	StartTime        string         `json:"startTime"`
	AddressFixed     bool           `json:"addressFixed"`
	CreatedAt        time.Time      `json:"-"`
	UpdatedAt        time.Time      `json:"-"`
}

type versionBody struct {
	Device      fleet.DeviceID `json:"-"`
	Arch        string         `json:"arch"`
	Codename    string         `json:"codename"`
	LongVersion string         `json:"longVersion"`
	OS          string         `json:"os"`
	Version     string         `json:"version"`
	Directories []string       `json:"directories,omitempty"`
	CreatedAt   time.Time      `json:"-"`
	UpdatedAt   time.Time      `json:"-"`
}

type summaryBody struct {
	Device            fleet.DeviceID `json:"-"`
	Folder            string         `json:"-"`
	GlobalBytes       int64          `json:"globalBytes"`
	GlobalDeleted     int64          `json:"globalDeleted"`
	GlobalDirectories int64          `json:"globalDirectories"`
	GlobalFiles       int64          `json:"globalFiles"`
	GlobalSymlinks    int64          `json:"globalSymlinks"`
	LocalBytes        int64          `json:"localBytes"`
	LocalDeleted      int64          `json:"localDeleted"`
	LocalDirectories  int64          `json:"localDirectories"`
	LocalFiles        int64          `json:"localFiles"`
	LocalSymlinks     int64          `json:"localSymlinks"`
	InSyncBytes       int64          `json:"inSyncBytes"`
	InSyncFiles       int64          `json:"inSyncFiles"`
	NeedBytes         int64          `json:"needBytes"`
	NeedDeletes       int64          `json:"needDeletes"`
	NeedDirectories   int64          `json:"needDirectories"`
	NeedFiles         int64          `json:"needFiles"`
	NeedSymlinks      int64          `json:"needSymlinks"`
	IgnorePatterns    bool           `json:"ignorePatterns"`
	Sequence          int64          `json:"sequence"`
	Version           int64          `json:"version"`
	State             string         `json:"state"`
	Error             string         `json:"error"`
	CreatedAt         time.Time      `json:"-"`
	UpdatedAt         time.Time      `json:"-"`
}
