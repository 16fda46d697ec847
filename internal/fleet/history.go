package fleet

import (
	"math"
	"time"
)

// HistoryPoint are the numbers of the fleet in one minute or hour.
type HistoryPoint struct {
	At        time.Time // beginning of the minute or hour
	Devices   int64     // number of registered devices
	Online    int64
	InSync    int64 // devices whose configuration was in sync
	Waiting   int64 // devices that waited for a person
	NeedBytes int64 // bytes that the folders of all devices lacked, as last reported
	Problems  int64 // problems that were announced and not over
	Folders   int64
	UpToDate  int64 // folders that were up to date on all devices
	Troubled  int64 // devices with any trouble
}

// AddBytes adds numbers of bytes that daemons reported. A negative number counts as 0, and the sum never overflows.
func AddBytes(sum, more int64) int64 {
	switch {
	case more <= 0:
		return sum
	case sum > math.MaxInt64-more:
		return math.MaxInt64
	}
	return sum + more
}
