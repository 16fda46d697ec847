package fleet

import (
	"encoding/base32"
	"log/slog"
	"strings"
)

// DeviceID is a Syncthing device ID in canonical form: eight groups of seven characters. The last of every fourteen
// characters is a check character. Only ParseDeviceID and DeviceIDOf make one. Source: Syncthing's device ID
// documentation.
type DeviceID string

const (
	base32Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	groupLen       = 13 // characters covered by one check character
	plainLen       = 52 // base32 characters of a SHA-256 without padding
	checkedLen     = 56 // the same with four check characters
)

// ParseDeviceID reads a device ID as Syncthing does: any case, hyphens and spaces anywhere, 0, 1 and 8 for O, I and B,
// with check characters (verified) or, in the old 52-character form, without. The result is canonical.
func ParseDeviceID(s string) (DeviceID, error) {
	if isCanonical(s) { // This is nearly always true, and ten times as fast as decoding.
		return DeviceID(s), nil
	}
	plain := spelling.Replace(strings.ToUpper(strings.TrimSpace(s)))
	for _, r := range plain {
		if !strings.ContainsRune(base32Alphabet, r) {
			return "", invalidDeviceID("it holds a character that no device ID has")
		}
	}
	switch len(plain) {
	case plainLen:
		return canonicalDeviceID(plain), nil
	case checkedLen:
		var bare strings.Builder
		for i := 0; i < checkedLen; i += groupLen + 1 {
			group := plain[i : i+groupLen]
			if plain[i+groupLen] != checkCharacter(group) {
				return "", invalidDeviceID("a check character does not match: one character is mistyped or missing")
			}
			bare.WriteString(group)
		}
		return canonicalDeviceID(bare.String()), nil
	default:
		return "", invalidDeviceID("a device ID has 56 letters and digits in eight groups of seven")
	}
}

var spelling = strings.NewReplacer("-", "", " ", "", "0", "O", "1", "I", "8", "B")

// isCanonical checks form and check characters without allocating memory.
func isCanonical(s string) bool {
	if len(s) != checkedLen+7 {
		return false
	}
	var plain [checkedLen]byte
	for i, n := 0, 0; i < len(s); i++ {
		c := s[i]
		switch {
		case i%8 == 7 && c == '-':
			continue
		case i%8 == 7, (c < 'A' || c > 'Z') && (c < '2' || c > '7'):
			return false
		}
		plain[n] = c
		n++
	}
	for i := 0; i < checkedLen; i += groupLen + 1 {
		if plain[i+groupLen] != checkCharacter(plain[i:i+groupLen]) {
			return false
		}
	}
	return true
}

// DeviceIDOf returns the device ID for the SHA-256 of a device certificate.
func DeviceIDOf(certificateSHA256 [32]byte) DeviceID {
	return canonicalDeviceID(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(certificateSHA256[:]))
}

// Short returns the first group of the ID, which is enough to distinguish devices in a log line.
func (id DeviceID) Short() string {
	short, _, _ := strings.Cut(string(id), "-")
	return short
}

// LogValue keeps log lines short.
func (id DeviceID) LogValue() slog.Value { return slog.StringValue(id.Short()) }

func canonicalDeviceID(plain string) DeviceID {
	var checked strings.Builder
	for i := 0; i < plainLen; i += groupLen {
		group := plain[i : i+groupLen]
		checked.WriteString(group)
		checked.WriteByte(checkCharacter(group))
	}
	all := checked.String()
	groups := make([]string, 0, 8)
	for i := 0; i < checkedLen; i += 7 {
		groups = append(groups, all[i:i+7])
	}
	return DeviceID(strings.Join(groups, "-"))
}

// checkCharacter computes Syncthing's variant of Luhn mod 32 (lib/protocol/luhn.go): the factor runs from the left.
// All characters of the group must be in the alphabet.
func checkCharacter[T string | []byte](group T) byte {
	const n = len(base32Alphabet)
	factor, sum := 1, 0
	for i := range len(group) {
		addend := int(group[i]) - 'A'
		if group[i] < 'A' {
			addend = int(group[i]) - '2' + 26
		}
		addend *= factor
		factor = 3 - factor
		sum += addend/n + addend%n
	}
	return base32Alphabet[(n-sum%n)%n]
}

func invalidDeviceID(why string) error {
	return &Error{
		Code: CodeInvalid, Message: "this is not a device ID: " + why,
		Hint: "Copy the ID from the daemon: Actions > Show ID, or `syncthing device-id` (before 2.0: `syncthing " +
			"--device-id`).",
		Details: []Detail{{Field: "deviceID", Message: why}},
	}
}

const deviceIDLen = checkedLen + 7 // characters of the canonical form: seven hyphens separate the groups

// Name returns how texts name a device: "nas (P56IOI7)", or only the first group of its ID when the label is "".
func (id DeviceID) Name(label string) string {
	if label == "" {
		return id.Short()
	}
	return label + " (" + id.Short() + ")"
}

// WithNames replaces the device IDs in a text by names. label returns a device's label, or "" for an unknown device. A
// text without IDs is returned at almost no cost.
func WithNames(text string, label func(DeviceID) string) string {
	var out strings.Builder
	from, at := 0, 0
	for {
		hyphen := strings.IndexByte(text[at:], '-')
		if hyphen < 0 {
			break
		}
		start := at + hyphen - 7
		if start < from || start+deviceIDLen > len(text) || !isCanonical(text[start:start+deviceIDLen]) {
			at += hyphen + 1
			continue
		}
		id := DeviceID(text[start : start+deviceIDLen])
		out.WriteString(text[from:start])
		out.WriteString(id.Name(label(id)))
		from = start + deviceIDLen
		at = from
	}
	if from == 0 {
		return text
	}
	out.WriteString(text[from:])
	return out.String()
}
