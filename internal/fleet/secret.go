package fleet

import "log/slog"

// MaskedAPIKey is what stands in a device's apiKey for users that may not see it.
const MaskedAPIKey = "<API_KEY>"

const masked = "[secret]"

// Secret is a text that cannot be printed by accident: every form but Reveal says "[secret]".
type Secret struct{ text string }

// NewSecret wraps a text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal is the text itself. Call it where it goes on the wire or under the seal, nowhere else.
func (s Secret) Reveal() string { return s.text }

// IsZero tells whether there is no text.
func (s Secret) IsZero() bool { return s.text == "" }

func (s Secret) String() string               { return masked }
func (s Secret) GoString() string             { return masked }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(masked) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// StoredSecret is one of Muster's own secrets.
type StoredSecret struct {
	Name    string
	Value   Secret
	Scope   SecretScope
	Altered bool // what is kept of it was not written by Muster: it is not given out
}

// SecretScope says where a secret may go in every template. A secret without lists may go to every secret field,
// and only templates that an admin saved may use it.
type SecretScope struct {
	Keys []string // places, with `*` for every member; none: every secret field
	Tags []Tag    // the devices that carry one of them; none: every device
}

// IsZero tells whether the scope has no lists.
func (s SecretScope) IsZero() bool { return len(s.Keys)+len(s.Tags) == 0 }

// PutSecret creates a secret, or changes what it names of one that is there.
type PutSecret struct {
	Name  string
	Value Secret    // zero: the value stays
	Keys  *[]string // nil: the list stays
	Tags  *[]Tag    // likewise
}

// SealKeys is how the keys stand that seal the database.
type SealKeys struct {
	Key     string   // ID of the one that seals
	Older   []string // IDs of those that something may still be sealed with
	Trouble string   // why a rotation does not come to its end
}
