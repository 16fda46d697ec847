package plan

import (
	"fmt"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// resolve puts the texts of Muster's own secrets into a value. Texts of templates that are concealed stay so.
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

// inClear is a resolved value with the texts of templates in clear.
func inClear(v stconfig.Value) stconfig.Value {
	clear, _ := eachHandle(v, func(handle stconfig.Value) (stconfig.Value, error) {
		text, _ := stconfig.ConcealedLiteral(handle)
		return stconfig.Text(text), nil
	})
	return clear
}

// eachHandle replaces the handles in a value, and shares what has none.
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

// refuseLiterals refuses a secret in clear from a template that no admin saved last. It is never compared with what
// the daemon has: else its author could try whether a guess is right.
func (g guard) refuseLiterals(c *Change) {
	if !stconfig.HasConcealedLiteral(c.To) {
		return
	}
	who := "a template that no admin saved last has"
	switch authors := g.asked(c.Key).Authors; {
	case len(authors) == 1 && authors[0] != 0:
		who = fmt.Sprintf("template %d, which no admin saved last, has", authors[0])
	case len(authors) > 1:
		who = "templates that no admin saved last (" + listed(authors) + ") have"
	}
	c.Class, c.Access = Refused, false
	c.Reason = who + " a secret in clear here, which is not compared with the daemon's: an admin stores it with " +
		"muster secret put NAME, and the template names it, or an admin saves the template"
}
