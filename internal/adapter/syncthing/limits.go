package syncthing

import "time"

// Limits bound what one daemon can cost. Exceeding a size is fleet.CodeUnbelievable; exceeding a time is
// fleet.CodeUnavailable.
type Limits struct {
	Dial      time.Duration // limit for the TCP connection
	Handshake time.Duration // limit for the TLS handshake
	Answer    time.Duration // limit from the request to the end of the answer's header; see answerTo
	Body      time.Duration // limit for the whole body
	Grace     time.Duration // time at the start of a body in which MinRate does not apply
	MinRate   int64         // bytes per second

	HeaderBytes int64
	SmallBytes  int64 // most bytes of an answer without configuration and events
	ConfigBytes int64
	EventsBytes int64
	PassedBytes int64 // bytes of configurations that are skipped in one answer with events
	Depth       int   // nesting of JSON; real answers have ten levels
	Values      int   // in one answer; a thousand folders with a hundred devices each have 400,000
	TextBytes   int   // bytes of one string in a status, version or summary
}

// DefaultLimits are wide enough for a healthy daemon on a slow line.
var DefaultLimits = Limits{
	Dial: 10 * time.Second, Handshake: 10 * time.Second, Answer: 15 * time.Second, Body: time.Minute,
	Grace: 10 * time.Second, MinRate: 2 << 10,
	HeaderBytes: 64 << 10, SmallBytes: 1 << 20, ConfigBytes: 16 << 20, EventsBytes: 16 << 20, PassedBytes: 512 << 20,
	Depth: 100, Values: 2_000_000, TextBytes: 4 << 10,
}

// answerTo returns how long the answer to a call may take. A poll may take its waiting time in addition. A write may
// take twice as long as a read: it waits for the daemon's disk, and after a timeout its result would be unknown.
func (l *Limits) answerTo(k *call) time.Duration {
	if k.writes() {
		return 2 * l.Answer
	}
	return l.Answer + k.wait
}

func (l Limits) withDefaults() *Limits {
	d := DefaultLimits
	orDefault(&l.Dial, d.Dial)
	orDefault(&l.Handshake, d.Handshake)
	orDefault(&l.Answer, d.Answer)
	orDefault(&l.Body, d.Body)
	orDefault(&l.Grace, d.Grace)
	orDefault(&l.MinRate, d.MinRate)
	orDefault(&l.HeaderBytes, d.HeaderBytes)
	orDefault(&l.SmallBytes, d.SmallBytes)
	orDefault(&l.ConfigBytes, d.ConfigBytes)
	orDefault(&l.EventsBytes, d.EventsBytes)
	orDefault(&l.PassedBytes, d.PassedBytes)
	orDefault(&l.Depth, d.Depth)
	orDefault(&l.Values, d.Values)
	orDefault(&l.TextBytes, d.TextBytes)
	return &l
}

func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}
