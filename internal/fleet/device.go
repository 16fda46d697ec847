package fleet

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	DefaultAPIPort = 8384    // Syncthing's default GUI port
	MaxLabelBytes  = 4 << 10 // longest label of a device or template
	MaxAPIKeyBytes = 1 << 10
)

// Device is one registered Syncthing daemon.
type Device struct {
	ID         DeviceID
	Label      string
	APIKey     Secret
	APIAddress string // host name or IP; "" means discovery
	APIPort    int    // 1 to 65535
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Validate checks every field except the times. It requires an API key.
func (d Device) Validate() error {
	var details []Detail
	wrong := func(err error) {
		if e := (*Error)(nil); errors.As(err, &e) {
			details = append(details, e.Details...)
		}
	}
	wrong(ValidateLabel(d.Label))
	wrong(validateAPIKey(d.APIKey.Reveal()))
	wrong(ValidateAddress(d.APIAddress))
	if d.APIPort < 1 || d.APIPort > 65535 {
		wrong(Invalidf("apiPort", "apiPort is a port number from 1 to 65535, not %d", d.APIPort))
	}
	if len(details) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: details[0].Message, Details: details}
}

// ValidateKeyless does what Validate does, but permits a device without an API key, whose agent knows the key.
func (d Device) ValidateKeyless() error {
	if d.APIKey.IsZero() {
		d.APIKey = NewSecret("the agent's")
	}
	return d.Validate()
}

// ValidateLabel checks the length and the characters of a label.
func ValidateLabel(label string) error {
	if len(label) > MaxLabelBytes {
		return Invalidf("label", "a label has at most %d bytes, this one has %d", MaxLabelBytes, len(label))
	}
	if !plainText(label) {
		return Invalidf("label", "a label is UTF-8 text without NUL characters")
	}
	return nil
}

// plainText reports whether every supported database can store s as text.
func plainText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func validateAPIKey(key string) error {
	switch {
	case key == "" || key == MaskedAPIKey:
		return Invalidf("apiKey", "apiKey is needed: the API key in the daemon's settings (Actions > Settings > GUI)")
	case len(key) > MaxAPIKeyBytes:
		return Invalidf("apiKey", "an API key has at most %d bytes, this one has %d", MaxAPIKeyBytes, len(key))
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return Invalidf("apiKey", "an API key is printable ASCII")
		}
	}
	return nil
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

var hostName = regexp.MustCompile(
	`^([a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?)(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?)*\.?$`,
)

// ValidateAddress checks that an address is blank, a host name or an IP, without scheme, port or path. A host name
// whose last part has only digits is refused, because it is a mistyped IP.
func ValidateAddress(address string) error {
	if address == "" {
		return nil
	}
	if ip, err := netip.ParseAddr(address); err == nil {
		if ip = ip.Unmap(); ip.IsUnspecified() || ip.IsMulticast() || ip == broadcast {
			return Invalidf("apiAddress", "apiAddress %q is no address of a daemon", address)
		}
		return nil
	}
	if len(address) > 253 || !hostName.MatchString(address) {
		hint := ""
		if strings.ContainsAny(address, ":/") {
			hint = ", without scheme, port (that is apiPort) or path"
		}
		return Invalidf("apiAddress", "apiAddress is a host name or an IP address%s", hint)
	}
	labels := strings.Split(strings.TrimSuffix(address, "."), ".")
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return Invalidf("apiAddress", "apiAddress %q looks like an IP address and is none", address)
	}
	return nil
}

// Access is the API key and port of a daemon, without its host.
type Access struct {
	Key  Secret
	Port int
}

// Access returns the API key and port in the device's record.
func (d Device) Access() Access { return Access{Key: d.APIKey, Port: d.APIPort} }

// FreeLabel returns the label, or the label with the first number that makes it unique when it is already taken:
// "vm-2". A blank label stays blank.
func FreeLabel(label string, taken []string) string {
	free := label
	for n := 2; label != "" && slices.Contains(taken, free); n++ {
		free = fmt.Sprintf("%s-%d", label, n)
	}
	return free
}
