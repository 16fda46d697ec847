package syncthing

import "time"

// Limits bound what one daemon can cost. A daemon that breaks one is not believed (fleet.CodeUnbelievable), one that
// is too slow is not reached (fleet.CodeUnavailable).
type Limits struct {
	Dial      time.Duration // until the TCP connection stands
	Handshake time.Duration // of TLS
	Answer    time.Duration // from the request to the end of the answer's header; of a poll on top of its wait
	Body      time.Duration // for the whole body
	Grace     time.Duration // of the body, before MinRate counts
	MinRate   int64         // bytes per second

	HeaderBytes int64
	SmallBytes  int64 // of everything but configurations and events
	ConfigBytes int64
	EventsBytes int64
	PassedBytes int64 // of configurations in one answer with events, which are left out while it is read
	Depth       int   // of nested JSON; real answers have ten levels
	Values      int   // in one answer; a thousand folders with a hundred devices each have 400,000
	TextBytes   int   // of a single text in a status, version or summary
}

// DefaultLimits are what a healthy daemon on a slow line never meets.
var DefaultLimits = Limits{
	Dial: 10 * time.Second, Handshake: 10 * time.Second, Answer: 30 * time.Second, Body: time.Minute,
	Grace: 10 * time.Second, MinRate: 2 << 10,
	HeaderBytes: 64 << 10, SmallBytes: 1 << 20, ConfigBytes: 16 << 20, EventsBytes: 16 << 20, PassedBytes: 512 << 20,
	Depth: 100, Values: 2_000_000, TextBytes: 4 << 10,
}

func (l Limits) withDefaults() Limits {
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
	return l
}

func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}
