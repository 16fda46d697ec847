package rogue

import (
	"strings"

	"golang.org/x/net/http2"
)

// Behaviour is what an agent does with a request for its daemon.
type Behaviour struct {
	Name   string
	Reason string // part of what the state of the device says then
	do     func(a *agent, stream uint32)
	reads  reading
	end    <-chan struct{} // of an agent that does not read everything
}

type reading int

const (
	everything reading = iota
	nothing            // from the first request on
	slowly             // likewise, a byte a second
)

const (
	cutOff   = "far more than it was asked for"
	protocol = "does not speak the agents' protocol"
)

// Behaviours are those of agents that break the rules.
func Behaviours() []Behaviour {
	return []Behaviour{
		{Name: "a flood of pings", Reason: cutOff, do: func(a *agent, _ uint32) {
			a.endless(func() error { return a.WritePing(true, [8]byte{1}) })
		}},
		{Name: "a flood of unknown frames", Reason: cutOff, do: func(a *agent, _ uint32) {
			a.endless(func() error { return a.WriteRawFrame(0xbe, 0, 0, make([]byte, 1000)) })
		}},
		{Name: "a flood of window updates", Reason: "not connected", do: func(a *agent, _ uint32) {
			a.endless(func() error { return a.WriteWindowUpdate(0, 1) })
		}},
		{Name: "a flood of resets", Reason: "not connected", do: func(a *agent, s uint32) {
			a.endless(func() error { return a.WriteRSTStream(s, http2.ErrCodeCancel) })
		}},
		{Name: "100,000 streams of its own", Reason: "not connected", do: func(a *agent, _ uint32) {
			for n := range uint32(100_000) {
				if !a.headers(2*n+2, false, ":status", "200") {
					return
				}
			}
		}},
		{Name: "each request reset at once", Reason: "", do: func(a *agent, s uint32) {
			a.headers(s, false, ":status", "200")
			a.write(func() error { return a.WriteRSTStream(s, http2.ErrCodeCancel) })
		}},
		{Name: "an answer that is reset again and again", Reason: "", do: func(a *agent, s uint32) {
			for range 10_000 {
				if !a.headers(s, false, ":status", "200") ||
					!a.write(func() error { return a.WriteRSTStream(s, http2.ErrCodeCancel) }) {
					return
				}
			}
		}},
		{Name: "data before the header", Reason: "", do: func(a *agent, s uint32) { a.data(s, true, "{}") }},
		{Name: "a continuation of nothing", Reason: protocol, do: func(a *agent, s uint32) {
			a.write(func() error { return a.WriteContinuation(s, true, nil) })
		}},
		{Name: "data of no stream", Reason: protocol, do: func(a *agent, _ uint32) { a.data(0, true, "{}") }},
		{Name: "a promise", Reason: protocol, do: func(a *agent, s uint32) {
			a.write(func() error {
				return a.WritePushPromise(http2.PushPromiseParam{StreamID: s, PromiseID: 2, EndHeaders: true})
			})
		}},
		{Name: "a header without end", Reason: "", do: func(a *agent, s uint32) {
			a.headers(s, false, ":status", "200", "x", strings.Repeat("x", 4<<20))
		}},
		{Name: "more data than the window has", Reason: "not connected", do: func(a *agent, s uint32) {
			a.headers(s, false, ":status", "200")
			for a.data(s, false, strings.Repeat("x", 8<<10)) {
			}
		}},
	}
}

// SlowBehaviours are those of agents that hardly read from the first request on, until end is closed. The server gives
// up such a device after half a minute.
func SlowBehaviours(end <-chan struct{}) []Behaviour {
	return []Behaviour{
		{Name: "nothing is read any more", Reason: "", reads: nothing, end: end},
		{Name: "a byte a second is read", Reason: "", reads: slowly, end: end},
	}
}
