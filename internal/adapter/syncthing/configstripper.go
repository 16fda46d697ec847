package syncthing

import (
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// configStripper removes the content of configurations from a list of events while the list is being read. A daemon
// puts its whole configuration into every ConfigSaved event, so an answer may be hundreds of times as large as its
// useful part. The stripper keeps the outer brackets of each configuration and everything else. It computes the
// checksum of the newest configuration. It relies on `type` coming before `data` in an event; events in another order
// are kept whole.
type configStripper struct {
	emptied int                  // configurations that were removed
	summer  *stconfig.TextSummer // checksum of the current configuration; nil before the first
	newest  stconfig.TextSum     // checksum of the last configuration that was read to its end

	depth   int
	inText  bool
	escaped bool
	passing bool // the current byte is inside a configuration

	// about the current event:
	inValue bool      // after a colon
	name    eventText // name of the current member
	text    eventText // the last string
	saved   bool      // the type is ConfigSaved
}

const (
	listDepth  = 1 // depth of the list of events
	eventDepth = 2 // depth of the members of an event
)

// eventText is the start of a string, long enough to recognise the few strings that matter.
type eventText struct {
	bytes [len("ConfigSaved") + 1]byte
	n     int
}

func (t *eventText) add(b byte) {
	if t.n < len(t.bytes) {
		t.bytes[t.n] = b
		t.n++
	}
}

func (t *eventText) is(text string) bool { return string(t.bytes[:t.n]) == text }

// strip moves the bytes of p that are kept to its front and returns their number.
func (s *configStripper) strip(p []byte) (kept int) {
	for i := 0; i < len(p); i++ {
		if s.passing {
			n := s.pass(p[i:])
			s.summer.Write(p[i : i+n])
			if i += n - 1; s.passing {
				break
			}
			s.newest = s.summer.Sum()
			s.emptied++
		} else {
			s.read(p[i])
		}
		p[kept] = p[i]
		kept++
	}
	return kept
}

// pass returns how many bytes of p belong to the current configuration, including its closing bracket. Most bytes are
// skipped here.
func (s *configStripper) pass(p []byte) int {
	depth, inText, escaped := s.depth, s.inText, s.escaped
	for i, b := range p {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped, inText = b == '\\', b != '"'
		case b == '"':
			inText = true
		case b == '{', b == '[':
			depth++
		case b == '}', b == ']':
			if depth--; depth == eventDepth {
				s.depth, s.inText, s.escaped, s.passing = depth, false, false, false
				return i + 1
			}
		}
	}
	s.depth, s.inText, s.escaped = depth, inText, escaped
	return len(p)
}

// read processes the next byte outside of configurations.
func (s *configStripper) read(b byte) {
	if s.inText {
		s.readText(b)
		return
	}
	switch b {
	case '"':
		s.inText, s.text.n = true, 0
	case '{', '[':
		s.open(b)
	case '}', ']':
		s.depth--
	case ':', ',':
		if s.depth == eventDepth {
			s.inValue = b == ':'
			s.name = s.text
		}
	}
}

func (s *configStripper) readText(b byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case b == '\\':
		s.escaped = true
	case b == '"':
		s.inText = false
		if s.depth == eventDepth && s.inValue && s.name.is("type") {
			s.saved = s.text.is("ConfigSaved")
		}
		return
	}
	s.text.add(b)
}

// open processes an opening bracket, which may start a configuration.
func (s *configStripper) open(bracket byte) {
	switch s.depth {
	case listDepth:
		s.inValue, s.saved = false, false
	case eventDepth:
		if s.passing = s.saved && s.inValue && s.name.is("data"); s.passing {
			if s.summer == nil {
				s.summer = stconfig.NewTextSummer()
			}
			s.summer.Reset()
			s.summer.Write([]byte{bracket})
		}
	}
	s.depth++
}

// sumNewest sets the checksum of the newest configuration on the last ConfigSaved of the parsed events. It sets none
// when the order of the members made it impossible to compute.
func (s *configStripper) sumNewest(events []fleet.DaemonEvent) {
	saved, last := 0, -1
	for i, e := range events {
		if e.Type == "ConfigSaved" {
			saved, last = saved+1, i
		}
	}
	if saved > 0 && saved == s.emptied {
		events[last].Config = s.newest
	}
}
