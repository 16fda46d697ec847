package fleet

// Way says how Muster may connect to the daemon of a device.
type Way string

const (
	WayAuto   Way = ""       // through its agent while the agent is connected, else directly
	WayAgent  Way = "agent"  // through its agent, never directly
	WayDirect Way = "direct" // directly, at its address or where discovery finds it
)

const auto = "auto"

// ParseWay parses "auto", "agent" or "direct".
func ParseWay(s string) (Way, error) {
	switch s {
	case auto:
		return WayAuto, nil
	case string(WayAgent), string(WayDirect):
		return Way(s), nil
	}
	return "", Invalidf("way", "way %q is not known: use auto, agent or direct", s)
}

// String returns what ParseWay parses.
func (w Way) String() string {
	if w == WayAuto {
		return auto
	}
	return string(w)
}
