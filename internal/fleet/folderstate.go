package fleet

import (
	"fmt"
	"strings"
)

// FolderState is the state of a folder on one device. Larger values are worse: a device, or a folder on several
// devices, is shown by its worst state. The state of one folder on one device comes from rules that package health
// tries in a different order: the first rule that applies wins.
type FolderState uint8

// The states of a folder.
const (
	FolderUpToDate       FolderState = iota
	FolderScanning                   // the daemon looks for changes on its disk
	FolderSyncing                    // items are missing, and they arrive
	FolderUnshared                   // the device shares it with no other device
	FolderPaused                     // the folder is paused, or every connection to a device that shares it
	FolderUnknown                    // there are no numbers from the current connection
	FolderBehind                     // items are missing, and no connected device is known to have them
	FolderConflicts                  // all items are there, and files are in conflict
	FolderLocalChanges               // files of a receive-only folder were changed here
	FolderOutOfSync                  // other devices have changes that a send-only folder does not accept
	FolderAlone                      // no device that shares it is connected
	FolderDisagree                   // all items are there, and the devices that share it count different files
	FolderStalled                    // items are missing, a connected device has them, and nothing arrives
	FolderFailedItems                // the daemon cannot sync some items
	FolderDiskNearlyFull             // all items are there, and its disk is nearly full
	FolderDriveMissing               // its path or marker is not there, and the daemon did not notice yet
	FolderStopped                    // the daemon cannot sync the folder
)

var folderStates = [...]string{
	FolderUpToDate: "upToDate", FolderScanning: "scanning", FolderSyncing: "syncing", FolderUnshared: "unshared",
	FolderPaused: "paused", FolderUnknown: "unknown", FolderBehind: "behind", FolderConflicts: "conflicts",
	FolderLocalChanges: "localChanges", FolderOutOfSync: "outOfSync", FolderAlone: "alone", FolderDisagree: "disagree",
	FolderStalled: "stalled", FolderFailedItems: "failedItems", FolderDiskNearlyFull: "diskNearlyFull",
	FolderDriveMissing: "driveMissing", FolderStopped: "stopped",
}

// FolderStateCount is the number of folder states.
const FolderStateCount = len(folderStates)

// FolderStates returns all states, the best first.
func FolderStates() []FolderState {
	all := make([]FolderState, FolderStateCount)
	for i := range all {
		all[i] = FolderState(i) //nolint:gosec // they are few
	}
	return all
}

// String returns the word for the state in the API, the CLI and the metrics.
func (s FolderState) String() string { return folderStates[s] }

// IsCurrent reports whether the numbers of a folder in this state describe the present. The numbers of a folder that
// is stopped, paused or without a connected device describe an earlier time.
func (s FolderState) IsCurrent() bool {
	switch s {
	case FolderUnknown, FolderStopped, FolderPaused, FolderUnshared, FolderAlone:
		return false
	case FolderUpToDate, FolderScanning, FolderSyncing, FolderBehind, FolderConflicts, FolderLocalChanges,
		FolderOutOfSync, FolderDisagree, FolderStalled, FolderFailedItems, FolderDiskNearlyFull, FolderDriveMissing:
	}
	return true
}

// ParseFolderState parses what String returns.
func ParseFolderState(word string) (FolderState, error) {
	for state, known := range folderStates {
		if known == word {
			return FolderState(state), nil //nolint:gosec // they are few
		}
	}
	message := fmt.Sprintf("%q is no state of a folder: it is one of %s", word, strings.Join(folderStates[:], ", "))
	return FolderUnknown, InvalidWord("folderState", word, message, folderStates[:])
}

// FolderCounts counts folders, or folders on devices, by their state.
type FolderCounts [FolderStateCount]int32

// Add adds by, which may be negative, to the count of a state.
func (c *FolderCounts) Add(state FolderState, by int) { c[state] += int32(by) } //nolint:gosec // folders of a fleet

// Of returns the count of a state.
func (c FolderCounts) Of(state FolderState) int { return int(c[state]) }

// All returns the sum of all counts.
func (c FolderCounts) All() (sum int) {
	for _, count := range c {
		sum += int(count)
	}
	return sum
}

// Unknown returns how many are in a state whose numbers do not describe the present; see IsCurrent.
func (c FolderCounts) Unknown() (sum int) {
	for state, count := range c {
		if !FolderState(state).IsCurrent() { //nolint:gosec // they are few
			sum += int(count)
		}
	}
	return sum
}

// Worst returns the worst state with a count above 0, or FolderUpToDate when all are 0.
func (c FolderCounts) Worst() FolderState {
	for state := FolderStateCount - 1; state > 0; state-- {
		if c[state] > 0 {
			return FolderState(state) //nolint:gosec // they are few
		}
	}
	return FolderUpToDate
}
