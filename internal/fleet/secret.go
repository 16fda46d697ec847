package fleet

import "log/slog"

// MaskedAPIKey replaces a device's apiKey for users who may not see it.
const MaskedAPIKey = "<API_KEY>"

const masked = "[secret]"

// Secret is a text that cannot be printed by accident: every form except Reveal is "[secret]".
type Secret struct{ text string }

// NewSecret wraps a text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text. Call it only to send the secret or to seal it.
func (s Secret) Reveal() string { return s.text }

// IsZero reports whether the text is empty.
func (s Secret) IsZero() bool { return s.text == "" }

func (s Secret) String() string               { return masked }
func (s Secret) GoString() string             { return masked }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(masked) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// StoredSecret is one of the secrets that Muster stores for templates.
type StoredSecret struct {
	Name    string
	Value   Secret
	Scope   SecretScope
	Altered bool // another program changed its row, so Muster does not use it
}

// SecretScope says where every template may put a secret. A secret with an empty scope may go into every secret field,
// but only templates that an admin saved may use it.
type SecretScope struct {
	Keys []string // allowed keys, with `*` for every member; empty: every secret field
	Tags []Tag    // allowed devices are those with one of these tags; empty: every device
}

// IsZero reports whether the scope has neither keys nor tags.
func (s SecretScope) IsZero() bool { return len(s.Keys)+len(s.Tags) == 0 }

// PutSecret creates a secret or changes parts of an existing one.
type PutSecret struct {
	Name  string
	Value Secret    // zero: the value does not change
	Keys  *[]string // nil: the list does not change
	Tags  *[]Tag    // nil: the list does not change
}

// SealKeys is the state of the keys that seal the database.
type SealKeys struct {
	Key     string   // ID of the key that seals
	Older   []string // IDs of keys with which some values may still be sealed
	Trouble string   // why a rotation cannot be finished; "" when there is no problem
}
