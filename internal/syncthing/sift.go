package syncthing

// sifter empties the configurations in a list of events while the list is being read. A daemon puts its whole
// configuration into every ConfigSaved, so an answer to a poll may be hundreds of times as large as what is wanted of
// it. The sifter keeps a configuration's outer brackets only, and everything else as it is. It relies on the type
// coming before the data: of events in another order it keeps all.
type sifter struct {
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
	for _, b := range p {
		if s.keeps(b) {
			p[kept] = b
			kept++
		}
	}
	return kept
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
