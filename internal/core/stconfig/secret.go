package stconfig

import (
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

// MaskedSecret is shown in place of a secret.
const MaskedSecret = "[secret]"

// handleOfConfig is the prefix of a handle that names a secret of the document itself: "config:KEY".
const handleOfConfig = "config:"

// Mask replaces every secret that is not empty by MaskedSecret. Handles keep their name, which is no secret.
func Mask(doc Value) Value { return MaskAt(Key{}, doc) }

// MaskAt is Mask for a value at a key.
func MaskAt(key Key, v Value) Value {
	r := replacer{path: slices.Clone(key.parts), secret: func(Key, Value) Value { return Text(MaskedSecret) }}
	return r.value(v, shapeAt(key))
}

// handleOfLiteral is the prefix of a handle for a secret that a template contains in plain text: "literal:TEXT".
const handleOfLiteral = "literal:"

// ConcealLiterals replaces the plain-text secrets in a value by handles. No string equals such a handle, so nobody can
// test a guess by comparing.
func ConcealLiterals(key Key, v Value) Value {
	r := replacer{path: slices.Clone(key.parts), secret: func(_ Key, text Value) Value {
		return SecretHandle(handleOfLiteral + text.text)
	}}
	return r.value(v, shapeAt(key))
}

// ConcealedLiteral returns the text that ConcealLiterals replaced.
func ConcealedLiteral(v Value) (text string, ok bool) {
	if v.kind != Handle {
		return "", false
	}
	return strings.CutPrefix(v.text, handleOfLiteral)
}

// HasConcealedLiteral reports whether a value contains such a handle.
func HasConcealedLiteral(v Value) bool {
	_, is := ConcealedLiteral(v)
	return is || slices.ContainsFunc(v.childValues(), HasConcealedLiteral)
}

// SecretsIn returns the keys of plain-text secrets in a value, at most 20.
func SecretsIn(key Key, v Value) []Key {
	const enough = 20
	var found []Key
	r := replacer{path: slices.Clone(key.parts), secret: func(at Key, _ Value) Value {
		if len(found) < enough {
			found = append(found, at)
		}
		return Text(MaskedSecret)
	}}
	r.value(v, shapeAt(key))
	return found
}

// SecretKey reports whether the value at a key is itself a secret.
func SecretKey(key Key) bool {
	return !key.IsRoot() && isSecret(shapeAt(key), key.At(key.Len()-1).Name)
}

// SecretField reports whether a key selects a secret field that every daemon has: an encryptionPassword, gui.password
// or gui.apiKey.
func SecretField(key Key) bool {
	s := shapeAt(key)
	return s != nil && s.secret
}

func isSecret(s *shape, name string) bool {
	if s != nil {
		return s.secret
	}
	return looksSecret(name)
}

// looksSecret judges a field that only newer daemons have by its name.
func looksSecret(name string) bool {
	name = fold(name)
	return slices.ContainsFunc([]string{"password", "passphrase", "apikey", "secret", "token"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}

// replacer replaces the plain-text secrets in a document, and those that ConcealLiterals concealed.
type replacer struct {
	path   []Part
	secret func(at Key, text Value) Value // gives the replacement of a secret
}

func (r *replacer) value(v Value, s *shape) Value {
	s = fit(s, v)
	switch v.kind {
	case String:
		if v.text != "" && len(r.path) > 0 && isSecret(s, r.path[len(r.path)-1].Name) {
			return r.secret(Key{slices.Clone(r.path)}, v)
		}
	case Handle:
		if text, ok := ConcealedLiteral(v); ok {
			return r.secret(Key{slices.Clone(r.path)}, Text(text))
		}
	case Array, Object:
		return r.members(v, s)
	}
	return v
}

func (r *replacer) members(v Value, s *shape) Value {
	values := slices.Clone(v.kids.values)
	for i := range values {
		switch {
		case v.kind == Object:
			name := v.kids.names[i]
			if f, known := s.field(name); known {
				name = f.name
			}
			r.path = append(r.path, Part{Name: name})
			values[i] = r.value(values[i], s.below(name))
			r.path = r.path[:len(r.path)-1]
		case s.identified():
			r.path = append(r.path, Part{Name: s.identityOf(values[i])})
			values[i] = r.value(values[i], s.entry)
			r.path = r.path[:len(r.path)-1]
		default: // Members of a list without identity have no names.
			values[i] = r.value(values[i], s.member())
		}
	}
	return v.withValues(values)
}

// ResolveConfig replaces the handles "config:KEY" in a value by the document's values at KEY.
func ResolveConfig(value, doc Value) (Value, error) {
	switch value.kind {
	case Handle:
		text, ofConfig := strings.CutPrefix(value.text, handleOfConfig)
		if !ofConfig {
			return value, nil
		}
		key, err := ParseKey(text)
		if err != nil {
			return Value{}, err
		}
		found := Lookup(doc, key)
		if _, concealed := ConcealedLiteral(found); concealed || found.kind == String {
			return found, nil
		}
		return Value{}, &fleet.Error{Code: fleet.CodeInvalid, During: "resolve secrets",
			Message: "the configuration has no secret at " + key.String()}
	case Array, Object:
		values := slices.Clone(value.kids.values)
		for i := range values {
			var err error
			if values[i], err = ResolveConfig(values[i], doc); err != nil {
				return Value{}, err
			}
		}
		return value.withValues(values), nil
	}
	return value, nil
}

// MaskTo copies a document with every secret masked, as Mask does. It holds one text in memory at a time. Parse must
// accept the document.
func MaskTo(w io.Writer, document io.Reader) error {
	return newMasker(w, document, func(string) string { return MaskedSecret }).value(configuration, "")
}

// HideTo copies any JSON, such as a daemon's events, and replaces the texts whose name looks like that of a secret. It
// holds one text in memory at a time.
func HideTo(w io.Writer, from io.Reader, hide func(secret string) string) error {
	return newMasker(w, from, hide).value(nil, "")
}

// masker copies a document token by token.
type masker struct {
	from *jsontext.Decoder
	to   *jsontext.Encoder
	mask func(secret string) string
}

func newMasker(w io.Writer, document io.Reader, mask func(secret string) string) *masker {
	options := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	return &masker{from: jsontext.NewDecoder(document, options...), to: jsontext.NewEncoder(w, options...), mask: mask}
}

// value copies a value of this shape. name is its name in the object, or the name of the list that it is a member of.
func (m *masker) value(s *shape, name string) error {
	token, err := m.from.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{':
		return m.object(fitKind(s, Object), token)
	case '[':
		return m.array(fitKind(s, Array), name, token)
	case '"':
		if isSecret(fitKind(s, String), name) && token.String() != "" {
			token = jsontext.String(m.mask(token.String()))
		}
	}
	return m.to.WriteToken(token)
}

// fitKind returns the shape of a value of that kind; nil when the shape is of another kind.
func fitKind(s *shape, kind Kind) *shape { return fit(s, Value{kind: kind}) }

func (m *masker) object(s *shape, opening jsontext.Token) error {
	if err := m.to.WriteToken(opening); err != nil {
		return err
	}
	for m.from.PeekKind() == '"' {
		token, err := m.from.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if err := m.to.WriteToken(token); err != nil {
			return err
		}
		if err := m.value(s.below(name), spelled(s, name)); err != nil {
			return err
		}
	}
	return m.close()
}

// array copies a list. In an identified list each member is named by its identity; in another list each member takes
// the name of the list.
func (m *masker) array(s *shape, name string, opening jsontext.Token) error {
	if err := m.to.WriteToken(opening); err != nil {
		return err
	}
	member := s.member()
	if s.identified() {
		member, name = s.entry, ""
	}
	for kind := m.from.PeekKind(); kind != ']' && kind != jsontext.KindInvalid; kind = m.from.PeekKind() {
		if err := m.value(member, name); err != nil {
			return err
		}
	}
	return m.close()
}

func (m *masker) close() error {
	token, err := m.from.ReadToken()
	if err != nil {
		return err
	}
	return m.to.WriteToken(token)
}
