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

// pass gives how many bytes of p belong to the configuration at hand, with its closing bracket. Most of what is read is
// passed over here.
func (s *sifter) pass(p []byte) int {
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

// read takes the next byte of the list, outside of configurations.
func (s *sifter) read(b byte) {
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

// open takes an opening bracket, with which a configuration may begin.
func (s *sifter) open(bracket byte) {
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
