package fleet

// Way says how the daemon of a device may be reached.
type Way string

const (
	WayAuto   Way = ""       // by its agent while that is connected, else directly
	WayAgent  Way = "agent"  // by its agent only
	WayDirect Way = "direct" // at its address, or where discovery finds it
)

const auto = "auto"

// ParseWay takes "auto", "agent" or "direct".
func ParseWay(s string) (Way, error) {
	switch s {
	case auto:
		return WayAuto, nil
	case string(WayAgent), string(WayDirect):
		return Way(s), nil
	}
	return "", Invalidf("way", "way %q is not known: use auto, agent or direct", s)
}

// String is what ParseWay takes.
func (w Way) String() string {
	if w == WayAuto {
		return auto
	}
	return string(w)
}
