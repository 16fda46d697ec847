package fleet

import (
	"math"
	"time"
)

// HistoryPoint is the fleet in numbers at one moment.
type HistoryPoint struct {
	At        time.Time // when the minute or hour began
	Devices   int64     // that were registered
	Online    int64
	InSync    int64 // whose configuration was in sync
	Waiting   int64 // that waited for a person
	NeedBytes int64 // that the folders of all devices lacked, as last told
	Problems  int64 // that people were told of and that were not over
}

// AddBytes adds numbers of bytes as daemons tell them: one that cannot be counts as 0, and the sum never overflows.
func AddBytes(sum, more int64) int64 {
	switch {
	case more <= 0:
		return sum
	case sum > math.MaxInt64-more:
		return math.MaxInt64
	}
	return sum + more
}
