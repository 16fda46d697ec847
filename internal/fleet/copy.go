package fleet

// Completion is what a daemon knows of a peer's copy of a folder, from /rest/db/completion.
type Completion struct {
	NeedItems   int64  `json:"needItems"`   // files, directories and symlinks that the peer lacks
	NeedDeletes int64  `json:"needDeletes"` // items that the peer has yet to delete
	NeedBytes   int64  `json:"needBytes"`   // size of the files that the peer lacks
	Sequence    int64  `json:"sequence"`    // number up to which the daemon knows the peer's index
	RemoteState string `json:"remoteState"` // "valid" where both share the folder; "" from 1.19.2
}
