package stconfig

import (
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaskTo copies a document with every secret masked, as Mask does, and holds one text of it at a time. The document is
// one that Parse takes.
func MaskTo(w io.Writer, document io.Reader) error {
	return newMasker(w, document, func(string) string { return MaskedSecret }).value(configuration, "")
}

// HideTo copies any JSON, such as the events of a daemon, with another text in place of each that stands at a name like
// that of a secret. It holds one text at a time.
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

// value copies a value of this shape, which is the member of that name in an object, or a member of its list.
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

// fitKind is the shape of a value of that kind; nil where another kind is expected.
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

// array copies a list. The members of an identified list have names of their own, those of others the list's.
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
