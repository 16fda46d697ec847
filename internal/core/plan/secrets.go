package plan

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// resolve replaces the handles of Muster's own secrets in v by the secrets themselves. A handle that conceals a secret
// text of a template stays (see inClear). An unknown secret is an error.
func (in Input) resolve(v stconfig.Value) (stconfig.Value, error) {
	return eachHandle(v, func(handle stconfig.Value) (stconfig.Value, error) {
		if _, literal := stconfig.ConcealedLiteral(handle); literal {
			return handle, nil
		}
		name, own := strings.CutPrefix(handle.Str(), "secret:")
		if own && in.Secret != nil {
			if text, ok := in.Secret(name); ok {
				return stconfig.Text(text), nil
			}
		}
		return stconfig.Value{}, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("there is no secret %q", name),
			Hint: "Store a secret of that name, or correct the name in the template."}
	})
}

// inClear replaces the remaining handles in a resolved value by the texts of templates that they conceal.
func inClear(v stconfig.Value) stconfig.Value {
	clear, _ := eachHandle(v, func(handle stconfig.Value) (stconfig.Value, error) {
		text, _ := stconfig.ConcealedLiteral(handle)
		return stconfig.Text(text), nil
	})
	return clear
}

// eachHandle returns v with each handle replaced by the result of replace. Parts without handles are shared with v,
// not copied.
func eachHandle(v stconfig.Value, replace func(stconfig.Value) (stconfig.Value, error)) (stconfig.Value, error) {
	if v.Kind() == stconfig.Handle {
		return replace(v)
	}
	if !stconfig.HasHandle(v) {
		return v, nil
	}
	values := make([]stconfig.Value, v.Len())
	for i := range v.Len() {
		var err error
		if values[i], err = eachHandle(v.At(i), replace); err != nil {
			return stconfig.Value{}, err
		}
	}
	if v.Kind() == stconfig.Array {
		return stconfig.List(values...), nil
	}
	members := make([]stconfig.Member, v.Len())
	for i := range values {
		members[i] = stconfig.Member{Name: v.Name(i), Value: values[i]}
	}
	return stconfig.Obj(members...), nil
}

// refuseLiterals refuses a change that sets a secret which stands in clear in a template, unless an admin saved that
// template last. Muster never compares such a secret with the daemon's, because its author could test guesses in this
// way.
func (g guard) refuseLiterals(c *Change) {
	if !stconfig.HasConcealedLiteral(c.To) {
		return
	}
	who := "a template that no admin saved last has"
	switch authors := g.why(c.Key).Authors; {
	case len(authors) == 1 && authors[0] != 0:
		who = fmt.Sprintf("template %d, which no admin saved last, has", authors[0])
	case len(authors) > 1:
		who = "templates that no admin saved last (" + listed(authors) + ") have"
	}
	c.Class, c.Access = Refused, false
	c.Reason = who + " a secret in clear here, which is not compared with the daemon's: an admin stores it with " +
		"muster secret put NAME, and the template names it, or an admin saves the template with a " +
		"change in its text"
}

// samePassword reports whether the daemon already has a hash of the gui.password that change c would send.
func (in Input) samePassword(c Change) bool {
	return isKey(c.Key, "gui", "password") && !stconfig.HasConcealedLiteral(c.To) && in.SamePhrase != nil &&
		c.From.Exists() && c.send.Exists() &&
		in.SamePhrase(c.send.Str(), c.From.Str())
}

const passwordKey = "gui.password"

// PhraseDigest returns a digest of the gui.password that the change sends; nil if the change sends none. The daemon
// shows only its own hash of a password, so Muster keeps this digest to recognise the password later.
func (c Change) PhraseDigest(id fleet.DeviceID, key []byte) []byte {
	if c.Key.String() != passwordKey {
		return nil
	}
	return phraseDigest(id, c.Sending().Str(), key)
}

// SamePhrase makes the function for Input.SamePhrase. It reports whether text is the password that Muster sent when
// the daemon made this hash.
func SamePhrase(entries []fleet.BaseEntry, id fleet.DeviceID, key []byte) func(text, hash string) bool {
	return func(text, hash string) bool {
		for _, entry := range entries {
			isThere := entry.State == fleet.BaseOurs || entry.Run != ""
			if entry.Key == passwordKey && isThere && len(entry.Sent) > 0 {
				return string(entry.Written) == string(stconfig.Text(hash).JSON()) &&
					hmac.Equal(entry.Sent, phraseDigest(id, text, key))
			}
		}
		return false
	}
}

func phraseDigest(id fleet.DeviceID, text string, key []byte) []byte {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "gui.password %s %s", id, text)
	return h.Sum(nil)
}
