// Package budget divides file descriptors and memory, which the operating system limits, between the parts of the
// server. The API, the database, the workers and the logs must not fail, so they have a share that daemons cannot use.
package budget

import (
	"fmt"

	"muster/internal/fleet"
)

// Descriptors says how many connections each part of the server may have open.
type Descriptors struct {
	Limit      int // the process's limit of open files
	Reads      int // connections to the database, for reading
	API        int // connections of API clients
	APIReserve int // further connections of API clients, for short requests

	Kept    int // connections to daemons that are followed all the time
	Visits  int // connections to daemons that are visited in turn
	Seconds int // second connections to daemons that are also followed
	// connections of the last three kinds that are being established; each needs one descriptor more, for a name
	// lookup or a certificate
	Openings int
}

const (
	leastLimit = 128
	mostLimit  = 1 << 20

	ownFiles    = 24 // standard streams, listener, kernel queues, locks, files that are read now and then
	lookupFiles = 32 // address discovery and notifications
	workerFiles = 40 // pipes of all evaluations that run at the same time, and of one worker that is starting
	readFiles   = 3  // one connection to SQLite: the database, its log, a temporary file
)

// Share divides a limit of open files, on a machine with this number of CPUs.
func Share(limit, cpus int) (Descriptors, error) {
	if limit < leastLimit {
		return Descriptors{}, &fleet.Error{
			Code:    fleet.CodeInvalid,
			Message: fmt.Sprintf("the limit of open files is %d, and Muster needs at least %d", limit, leastLimit),
			Hint:    raise(leastLimit),
		}
	}
	limit = min(limit, mostLimit)
	d := Descriptors{
		Limit: limit, Reads: min(max(8, 2*cpus), max(4, limit/32)),
		API: min(max(limit/8, 16), 2048), APIReserve: min(max(limit/32, 4), 32),
	}
	writing := 2 * readFiles // the writing connection, and a migration or a backup
	left := limit - ownFiles - lookupFiles - workerFiles - readFiles*d.Reads - writing - d.API - d.APIReserve
	left = max(left, 0)
	d.Visits = min(max(left/8, 2), 1024)
	d.Seconds, d.Openings = d.Visits, d.Visits
	d.Kept = max(left-d.Visits-d.Seconds-d.Openings, 0)
	return d, nil
}

// LimitFor returns the lowest limit of open files with which this number of daemons can be followed.
func LimitFor(daemons, cpus int) int {
	low, high := leastLimit, mostLimit
	for low < high {
		middle := (low + high) / 2
		if d, err := Share(middle, cpus); err == nil && d.Kept >= daemons {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

func raise(limit int) string {
	const how = "Raise it and start Muster again: `ulimit -n %[1]d` in the shell that starts it, " +
		"or LimitNOFILE=%[1]d in its systemd unit."
	return fmt.Sprintf(how, limit)
}

// Reason says why a daemon is visited in turn rather than followed all the time.
func (d Descriptors) Reason() string {
	const why = "visited once a minute instead of followed: the limit of %d open files is used up " +
		"(raise it with `ulimit -n` or LimitNOFILE)"
	return fmt.Sprintf(why, d.Limit)
}

// Shortage says how the service is limited when there are more daemons than it can follow.
func (d Descriptors) Shortage() string {
	const what = "the limit of %d open files is too low to follow every daemon: those beyond %d are visited once a minute"
	return fmt.Sprintf(what, d.Limit, d.Kept)
}

// Advice says what to do so that this number of daemons can be followed.
func Advice(daemons, cpus int) string { return raise(LimitFor(daemons, cpus)) }
