package stconfig

import "muster/internal/fleet"

// MaskedSecret is what stands for a secret wherever a document is shown.
const MaskedSecret = "[secret]"

// Normalise puts identified lists in the order of their identities and object members in that of their names.
func Normalise(doc Value) Value { panic("being written") }

// Digest is the SHA-256 of the normalised document, hex.
func Digest(doc Value) string { panic("being written") }

// Mask shows every secret that is not empty as MaskedSecret.
func Mask(doc Value) Value { panic("being written") }

// MaskAt is Mask for a value that stands, or would stand, at a key.
func MaskAt(key Key, v Value) Value { panic("being written") }

// SecretKey tells whether a key without `*` is a secret itself.
func SecretKey(key Key) bool { panic("being written") }

// Usable says whether an observed document may be planned from: it has version, the device's own entry and an API key.
func Usable(doc Value, own fleet.DeviceID) error { panic("being written") }

// Sample is a plausible document, for evaluating templates when no device was ever read.
func Sample() Value { panic("being written") }

// SampleID is the device that the sample belongs to.
const SampleID fleet.DeviceID = ""

// ResolveConfig replaces the handles "config:KEY" in a value by what the document has at KEY.
func ResolveConfig(value, doc Value) (Value, error) { panic("being written") }
