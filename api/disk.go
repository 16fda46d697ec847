package api

// DiskUse is a disk that a device's daemon uses, as the agent of the device tells it.
type DiskUse struct {
	Use        string `json:"use" enum:"home,folder,versions" doc:"What is kept there: the daemon's own files, a folder, or the older versions of its files"`
	Folder     string `json:"folder" doc:"ID of the folder; blank for home"`
	FreeBytes  int64  `json:"freeBytes" doc:"Bytes that the daemon may fill"`
	TotalBytes int64  `json:"totalBytes" doc:"Bytes of the disk; 0: not known"`
	NearlyFull bool   `json:"nearlyFull" doc:"Less than a twentieth is free, and less than 20 GiB"`
	Path       string `json:"path" enum:"there,missing,unknown" doc:"Whether the folder's path is there; missing: the agent saw it before"`
	Marker     string `json:"marker" enum:"there,missing,unknown" doc:"Whether the folder's marker is there; missing: the agent saw it before"`
	AsOf       Time   `json:"asOf" format:"date-time" doc:"Until when this is known to hold"`
}
