package syncthing

import (
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// sifter empties the configurations in a list of events while the list is being read. A daemon puts its whole
// configuration into every ConfigSaved, so an answer to a poll may be hundreds of times as large as what is wanted of
// it. The sifter keeps a configuration's outer brackets only, and everything else as it is; of the newest configuration
// it knows the sum. It relies on the type coming before the data: of events in another order it keeps all.
type sifter struct {
	emptied int                  // configurations
	summer  *stconfig.TextSummer // of the one at hand; nil before the first
	newest  stconfig.TextSum     // of the last one that was read to its end

	depth   int
	inText  bool
	escaped bool
	passing bool // inside a configuration

	// of the event at hand:
	inValue bool      // after a colon
	name    eventText // of the member at hand
	text    eventText // that was read last
	saved   bool      // the type is ConfigSaved
}

const (
	listDepth  = 1 // of the list of events
	eventDepth = 2 // of an event's members
)

// eventText is the beginning of a text, long enough to tell the ones that matter from all others.
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

// sift moves what is kept of p to its front, and gives its length.
func (s *sifter) sift(p []byte) (kept int) {
	began := 0 // of the configuration at hand, in p
	for i, b := range p {
		was := s.passing
		keeps := s.keeps(b)
		switch {
		case s.passing && !was:
			began = i
			s.begin()
		case was && !s.passing:
			s.end(p[began : i+1])
		}
		if keeps {
			p[kept] = b
			kept++
		}
	}
	if s.passing {
		s.summer.Write(p[began:])
	}
	return kept
}

// begin begins the sum of a configuration.
func (s *sifter) begin() {
	if s.summer == nil {
		s.summer = stconfig.NewTextSummer()
	}
	s.summer.Reset()
}

// end ends it with the last piece.
func (s *sifter) end(piece []byte) {
	s.summer.Write(piece)
	s.newest = s.summer.Sum()
	s.emptied++
}

// keeps takes the next byte of the list.
func (s *sifter) keeps(b byte) bool {
	if s.inText {
		s.readText(b)
		return !s.passing
	}
	switch b {
	case '"':
		s.inText, s.text.n = true, 0
	case '{', '[':
		return s.open()
	case '}', ']':
		s.depth--
		if s.depth == eventDepth {
			s.passing = false
		}
	case ':', ',':
		if s.depth == eventDepth {
			s.inValue = b == ':'
			s.name = s.text
		}
	}
	return !s.passing
}

func (s *sifter) readText(b byte) {
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

func (s *sifter) open() (kept bool) {
	kept = !s.passing
	switch s.depth {
	case listDepth:
		s.inValue, s.saved = false, false
	case eventDepth:
		s.passing = s.saved && s.inValue && s.name.is("data")
	}
	s.depth++
	return kept
}

// sumNewest notes at the last ConfigSaved of the events that were left which configuration was in it. Where the daemon
// said some of them in another order, that is not known.
func (s *sifter) sumNewest(events []fleet.DaemonEvent) {
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
