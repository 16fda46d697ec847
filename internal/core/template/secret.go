package template

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"muster/internal/core/stconfig"
)

const (
	secretMark   = "${secret:"
	secretHandle = "secret:" // prefix of a Handle for a secret that Muster stores; its name follows
	configHandle = "config:" // prefix of a Handle for a secret in the configuration; its key follows
	maxSecret    = 128       // longest name of a secret, in bytes
)

// secretName returns NAME when s is "${secret:NAME}".
func secretName(s string) (string, bool) {
	name, ok := strings.CutPrefix(s, secretMark)
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, "}")
	return name, ok && checkSecretName(name) == nil
}

func checkSecretName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name of a secret may not be empty")
	case len(name) > maxSecret:
		return fmt.Errorf("the name of a secret has at most %d bytes", maxSecret)
	case strings.ContainsAny(name, "{}") || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the name of a secret may not hold braces or control characters")
	}
	return nil
}

// Conceal replaces the secrets of a configuration by Handles "config:KEY": every encryptionPassword, gui.password,
// gui.apiKey, and fields of newer daemons with a name like that of a secret. It leaves empty strings, because it is
// not secret that a password is not set. The result shares unchanged parts with config. stconfig.ResolveConfig is the
// inverse.
func Conceal(config stconfig.Value) stconfig.Value {
	return conceal(config, nil)
}

// place is the path to a value. It is cheap to make; the key is computed only when a secret is found there.
type place struct {
	parent *place
	name   string
}

func (p *place) key() stconfig.Key {
	if p == nil {
		return stconfig.Key{}
	}
	return p.parent.key().Child(p.name)
}

func (p *place) root() *place {
	for p.parent != nil {
		p = p.parent
	}
	return p
}

// conceal addresses members by position rather than by name: a document with the same field twice has two secrets.
func conceal(v stconfig.Value, at *place) stconfig.Value {
	var changed []stconfig.Value
	for i := range v.Len() {
		member := v.At(i)
		concealed := member
		switch {
		case v.Kind() == stconfig.Object && isConcealed(member):
			concealed = handleFor(member, &place{at, v.Name(i)})
		case v.Kind() == stconfig.Object && (isSecret(at, v.Name(i)) || member.Kind() == stconfig.String &&
			looksSecret(at, v.Name(i))):
			concealed = handleFor(member, &place{at, v.Name(i)})
		case member.Len() > 0:
			concealed = conceal(member, &place{at, memberName(v, i)})
		}
		if concealed != member {
			if changed == nil {
				changed = membersOf(v)
			}
			changed[i] = concealed
		}
	}
	switch {
	case changed == nil:
		return v
	case v.Kind() == stconfig.Array:
		return stconfig.List(changed...)
	}
	members := make([]stconfig.Member, v.Len())
	for i := range members {
		members[i] = stconfig.Member{Name: v.Name(i), Value: changed[i]}
	}
	return stconfig.Obj(members...)
}

// isConcealed reports whether a string is a Handle that Conceal made.
func isConcealed(v stconfig.Value) bool {
	_, literal := stconfig.ConcealedLiteral(v)
	return literal
}

func isSecret(parent *place, name string) bool {
	if strings.EqualFold(name, "encryptionPassword") {
		return true
	}
	return parent != nil && parent.parent == nil && strings.EqualFold(parent.name, "gui") &&
		(strings.EqualFold(name, "password") || strings.EqualFold(name, "apiKey"))
}

// looksSecret judges string fields that only newer daemons have. stconfig decides by their name whether to mask them.
func looksSecret(parent *place, name string) bool {
	return mayBeSecret(name) && stconfig.SecretKey(parent.key().Child(name))
}

// mayBeSecret is a fast test that rules out most names.
func mayBeSecret(name string) bool {
	for i := range len(name) {
		var words []string
		switch name[i] | 0x20 { // the byte in lower case
		case 'p':
			words = []string{"password", "passphrase"}
		case 'a':
			words = []string{"apikey"}
		case 's':
			words = []string{"secret"}
		case 't':
			words = []string{"token"}
		}
		for _, word := range words {
			if len(name)-i >= len(word) && strings.EqualFold(name[i:i+len(word)], word) {
				return true
			}
		}
	}
	return false
}

func handleFor(v stconfig.Value, at *place) stconfig.Value {
	switch v.Kind() {
	case stconfig.Null:
		return v
	case stconfig.Handle:
		if !isConcealed(v) {
			return v
		}
	case stconfig.String:
		if v.Str() == "" {
			return v
		}
	}
	return stconfig.SecretHandle(configHandle + at.key().String())
}

// memberName returns how a key names member i: by its name in an object, by its identity in a list.
func memberName(v stconfig.Value, i int) string {
	if v.Kind() == stconfig.Object {
		return v.Name(i)
	}
	for _, identity := range []string{"id", "deviceID"} {
		if id := v.At(i).Get(identity); id.Kind() == stconfig.String {
			return id.Str()
		}
	}
	return strconv.Itoa(i)
}

func membersOf(v stconfig.Value) []stconfig.Value {
	members := make([]stconfig.Value, v.Len())
	for i := range members {
		members[i] = v.At(i)
	}
	return members
}

// secret is a Handle as programs see it. A program can return it but cannot read or compare it.
type secret struct{ handle stconfig.Value }

var _ starlark.Comparable = (*secret)(nil)

func (s *secret) String() string       { return "<secret " + s.handle.Str() + ">" }
func (s *secret) Type() string         { return "secret" }
func (s *secret) Freeze()              {}
func (s *secret) Truth() starlark.Bool { return true }
func (s *secret) Hash() (uint32, error) {
	return 0, errors.New("a secret cannot be read, so it cannot be a key")
}

// CompareSameType returns an error, because a comparison would reveal the secret.
func (s *secret) CompareSameType(syntax.Token, starlark.Value, int) (bool, error) {
	return false, errors.New("a secret cannot be read, so it cannot be compared")
}

// secretFunction makes the Starlark function secret(name).
func secretFunction(known []string) *starlark.Builtin {
	return starlark.NewBuiltin("secret", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
		kwargs []starlark.Tuple) (starlark.Value, error) {
		var name string
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "name", &name); err != nil {
			return nil, err
		}
		if err := checkSecretName(name); err != nil {
			return nil, err
		}
		if err := secretExists(name, known); err != nil {
			return nil, err
		}
		return &secret{stconfig.SecretHandle(secretHandle + name)}, nil
	})
}

func secretExists(name string, known []string) error {
	if known == nil || slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("there is no secret %q%s", name, didYouMean(name, known))
}
