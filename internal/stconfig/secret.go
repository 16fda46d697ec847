package stconfig

import (
	"slices"
	"strings"

	"muster/internal/fleet"
)

// MaskedSecret is what stands for a secret wherever a document is shown.
const MaskedSecret = "[secret]"

// handleOfConfig begins the name of a handle that stands for a secret of the document itself: "config:KEY".
const handleOfConfig = "config:"

// Mask shows every secret that is not empty as MaskedSecret. Handles show their name, which is no secret.
func Mask(doc Value) Value { return MaskAt(Key{}, doc) }

// MaskAt is Mask for a value that stands, or would stand, at a key.
func MaskAt(key Key, v Value) Value {
	r := replacer{path: slices.Clone(key.parts), secret: func(Key, Value) Value { return Text(MaskedSecret) }}
	return r.value(v, shapeAt(key))
}

// handleOfLiteral begins the name of a handle that stands for a text of a template: "literal:TEXT".
const handleOfLiteral = "literal:"

// ConcealLiterals is a value that is to stand at a key with the secrets that stand in it in clear as handles. Such a
// handle equals no text: whether a guess is right does not show.
func ConcealLiterals(key Key, v Value) Value {
	r := replacer{path: slices.Clone(key.parts), secret: func(_ Key, text Value) Value {
		return SecretHandle(handleOfLiteral + text.text)
	}}
	return r.value(v, shapeAt(key))
}

// ConcealedLiteral is the text that ConcealLiterals concealed.
func ConcealedLiteral(v Value) (text string, ok bool) {
	if v.kind != Handle {
		return "", false
	}
	return strings.CutPrefix(v.text, handleOfLiteral)
}

// HasConcealedLiteral tells whether there is such a text in a value.
func HasConcealedLiteral(v Value) bool {
	_, is := ConcealedLiteral(v)
	return is || slices.ContainsFunc(v.childValues(), HasConcealedLiteral)
}

// SecretsIn are the keys of the first secrets that stand in clear in a value that is to stand at a key.
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

// SecretKey tells whether what stands at a key is a secret itself.
func SecretKey(key Key) bool {
	return !key.IsRoot() && isSecret(shapeAt(key), key.At(key.Len()-1).Name)
}

// SecretField tells whether a key names secret fields that every daemon has: an encryptionPassword, gui.password,
// gui.apiKey.
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

// looksSecret is for fields that only newer daemons know.
func looksSecret(name string) bool {
	name = fold(name)
	return slices.ContainsFunc([]string{"password", "passphrase", "apikey", "secret", "token"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}

// replacer replaces the secrets in a document that stand there in clear, concealed or not.
type replacer struct {
	path   []Part
	secret func(at Key, text Value) Value // what comes in place of a secret
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
		default: // the members of a plain list have no names of their own
			values[i] = r.value(values[i], s.member())
		}
	}
	return v.withValues(values)
}

// ResolveConfig replaces the handles "config:KEY" in a value by what the document has at KEY.
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
