package fleet

import "time"

// FolderStanding is the state of one folder on one device, with its reason and its numbers.
type FolderStanding struct {
	Device DeviceID
	Folder string
	State  FolderState
	Reason string    // sentence for people; never empty
	Next   string    // next step for a person; "" when nothing needs to be done
	Since  time.Time // beginning of the state; zero: unknown
	// Witnessed is set when Muster itself saw the state change at Since: it knew the state before, since its own start.
	Witnessed bool
	AsOf      time.Time // time at which the daemon sent the numbers; zero: never
	// Trouble is set while a person should look at the folder.
	Trouble bool
	// Last is the last known state while State is FolderUnknown; nil when there was none.
	Last *FolderState

	// PausedBy says who paused the folder, while State is FolderPaused; nil when unknown. view.View.Explain sets it.
	PausedBy *PausedBy

	Type   string // "sendreceive", "sendonly", "receiveonly" or "receiveencrypted"; "" while unknown
	Paused bool

	Progress Progress
	Error    *FolderError // error of the folder as a whole; nil: the daemon reports none
	Failed   int64        // number of items that the daemon could not sync
	// LocalChanges is the number of items that were changed on the device in a receive-only folder.
	LocalChanges int64

	Conflicts ConflictsOn

	// Besides lists further findings, the worst first. A finding becomes the state when the folder is fine otherwise.
	Besides []FolderFinding

	// PeersShared is the number of other devices that share the folder. PeersConnected is how many of them are
	// connected to this device.
	PeersShared, PeersConnected int
}

// Progress is what a folder lacks, and how fast it arrives.
type Progress struct {
	GlobalBytes int64
	NeedBytes   int64
	NeedItems   int64 // files, directories and symlinks
	NeedDeletes int64
	Rate        float64 // bytes per second over the last 30 s; 0: nothing arrives, or unknown
	// DoneFrom and DoneTo are the range in which the transfer probably ends; zero unless the rate is steady.
	DoneFrom, DoneTo time.Time
}

// ResumeThere is the next step for a folder that other devices paused.
const ResumeThere = "Resume it there."

// FolderTrouble is a folder on a device at which a person should look.
type FolderTrouble struct {
	Folder string
	Cause  WaitCause
	Since  time.Time
}

// FolderFinding is something that is wrong with a folder on a device besides its state.
type FolderFinding struct {
	FolderTrouble
	Trouble bool // it lasts for so long that a person should look
	Reason  string
	Next    string
}

// Finding returns the finding with this cause, from the state or from Besides, nil when the folder does not have it.
func (f FolderStanding) Finding(cause WaitCause) *FolderFinding {
	if f.State.String() == string(cause) {
		return &FolderFinding{FolderTrouble: FolderTrouble{Folder: f.Folder, Cause: cause, Since: f.Since},
			Trouble: f.Trouble, Reason: f.Reason, Next: f.Next}
	}
	for i := range f.Besides {
		if f.Besides[i].Cause == cause {
			return &f.Besides[i]
		}
	}
	return nil
}

// Text returns why a folder has this trouble, and what a person can do.
func (f FolderStanding) Text(cause WaitCause) (reason, next string) {
	if found := f.Finding(cause); found != nil {
		return found.Reason, found.Next
	}
	return f.Reason, f.Next
}

// FolderError is the reason why a daemon cannot sync a folder.
type FolderError struct {
	Kind FolderErrorKind
	Text string // the daemon's own text
}

// FolderErrorKind classifies a daemon's error text.
type FolderErrorKind string

// The kinds of errors of a folder.
const (
	ErrorPathMissing   FolderErrorKind = "pathMissing"
	ErrorMarkerMissing FolderErrorKind = "markerMissing"
	ErrorNoSpace       FolderErrorKind = "noSpace"
	ErrorPermission    FolderErrorKind = "permission"
	ErrorOther         FolderErrorKind = "other"
)

// FailedItem is a file, directory or symlink that a daemon could not sync.
type FailedItem struct {
	Path string
	Text string // the daemon's reason
}

// Lacks reports whether anything is missing.
func (p Progress) Lacks() bool { return p.NeedBytes > 0 || p.NeedItems > 0 || p.NeedDeletes > 0 }

// Size returns how many bytes of memory the item needs.
func (i FailedItem) Size() int { return 32 + len(i.Path) + len(i.Text) }

// WorstFolder summarises the folders of a device by the worst state among them. Values can be compared with ==.
type WorstFolder struct {
	State   FolderState
	Folder  string // the first of those in the state, by ID; "" when the device has no folder
	Count   int    // how many are in the state
	Trouble bool
	Since   time.Time
	Reason  string // "" when all are up to date
	Next    string
}
