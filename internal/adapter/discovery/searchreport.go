package discovery

import (
	"strings"
	"time"

	"muster/internal/fleet"
)

// searchReport collects what the sources answered, for the person who wonders why a device is not found.
type searchReport struct {
	said  []string
	again time.Time // time at which a server is asked again; zero: no server is
}

func (t *searchReport) server(name string, f finding) {
	if f.why == "" {
		return
	}
	t.said = append(t.said, name+" "+f.why)
	if t.again.IsZero() || f.until.Before(t.again) {
		t.again = f.until
	}
}

func (t *searchReport) local(listening bool) {
	if listening {
		t.said = append(t.said, "nobody announces it on the local network")
	}
}

func (t *searchReport) fleet(why string) {
	if why != "" {
		t.said = append(t.said, why)
	}
}

func (t *searchReport) notFound(now time.Time) error {
	message := "the device has no address, and there is nobody to ask for one"
	if len(t.said) > 0 {
		message = "the device has no address, and nobody knows where it is: " + strings.Join(t.said, "; ")
	}
	hint := "Check that Syncthing runs there and announces itself, or give the device an apiAddress."
	if t.again.After(now) {
		hint += " The servers are asked again at " + t.again.UTC().Truncate(time.Second).Format("15:04:05 UTC") +
			", or at once when the device is saved again."
	}
	return &fleet.Error{Code: fleet.CodeNotFound, During: "find the daemon", Message: message, Hint: hint}
}

func switchedOff() error {
	return &fleet.Error{Code: fleet.CodeNotFound, During: "find the daemon",
		Message: "the device has no address, and discovery is off",
		Hint:    "Give the device an apiAddress, or start Muster without --discovery-server none."}
}
