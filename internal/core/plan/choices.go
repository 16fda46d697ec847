package plan

import (
	"fmt"
	"strconv"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// choice is a value that Muster offers to a person by name. It is offered for a place that would return to its base
// value, because no template asks for it any more, in case the person does not want the base value there.
type choice struct {
	fleet.Choice
	key     string
	value   stconfig.Value
	offered func(Change) bool
}

// choices are all choices. A new one needs a row here and a case in testdata. A daemon (1.19.2 and 2.x) stores an
// empty password as a hash, too. So after "no password" the configuration has a hash, but everybody gets in, as
// without a password.
var choices = []choice{
	{
		Choice: fleet.Choice{Name: "no password", Does: "the password becomes empty: everybody who reaches the daemon's " +
			"web interface gets in, with its user name where it has one"},
		key: passwordKey, value: stconfig.Text(""),
		offered: func(c Change) bool { return c.From.Str() != "" },
	},
}

// Choices returns the values that a person may choose by name in an answer to the change.
func (c Change) Choices() []fleet.Choice {
	var all []fleet.Choice
	for _, one := range choices {
		if one.isOfferedBy(c) {
			all = append(all, one.Choice)
		}
	}
	return all
}

// Answers returns the names of the answers that a person may give to the change, other than the values of Choices.
// Nobody consents a second time.
func (c Change) Answers() []string {
	var all []string
	if c.Class == Held && !c.OnlyKeep && !c.Consented {
		all = append(all, "consent")
		if c.TakesAway() {
			all = append(all, "remove")
		}
	}
	if c.Returns && c.Class != Skipped {
		all = append(all, "keep")
	}
	return all
}

// isOfferedBy reports whether a person may choose this value in an answer to change c.
func (o choice) isOfferedBy(c Change) bool {
	waits := c.Class == Held && c.Returns && !c.Stopped && c.chosen == ""
	return waits && c.Key.String() == o.key && o.offered(c)
}

// Choosing returns the change as it is once a person chose the value with this name. ok is false if the change does
// not offer the value; the change is then returned as it is.
func (c Change) Choosing(name string) (chosen Change, ok bool) {
	for _, one := range choices {
		if one.Name == name && one.isOfferedBy(c) {
			instead := c
			c.To, c.send, c.OnlyKeep, c.chosen, c.instead = one.value, one.value, false, name, &instead
			c.Reason = "a person chose " + name
			return c, true
		}
	}
	return c, false
}

// IsChosen reports whether the change sends a value that a person chose. That value becomes the base.
func (c Change) IsChosen() bool { return c.chosen != "" }

// WithoutChoice returns the change as it is without the value that a person chose.
func (c Change) WithoutChoice() Change {
	if c.instead == nil {
		return c
	}
	return *c.instead
}

// Answered returns the change that an answer is about: c itself or, if the answer names a value of Choices, c with
// that value. ok is false if c does not offer the value.
func (c Change) Answered(answer fleet.Answer) (change Change, ok bool) {
	name := answer.Choice()
	if name == c.chosen {
		return c, true
	}
	return c.Choosing(name)
}

// IsAnsweredBy reports whether an answer is to this change: if its key, its values and its device are those that the
// person saw, and if the change offers the value that the person chose.
func (c Change) IsAnsweredBy(given fleet.Consent, id fleet.DeviceID, digestKey []byte) bool {
	if given.Key != c.Key.String() {
		return false
	}
	change, ok := c.Answered(given.Answer)
	return ok && given.Change == change.ConsentDigest(id, digestKey)
}

// NotOffered is the error for a choice that the change of a key does not offer.
func NotOffered(key, name string, offered []fleet.Choice) error {
	if len(offered) == 0 {
		return fleet.Invalidf("values", "the change of %s offers no value to choose", key)
	}
	names := make([]string, len(offered))
	for i, o := range offered {
		names[i] = strconv.Quote(o.Name)
	}
	return fleet.Invalidf("values", "the change of %s does not offer %q: it offers %s", key, name,
		strings.Join(names, ", "))
}

// CannotKeep is the error for a wish to keep what is at a key. c is the plan's change of the key, or the zero Change
// if the plan does not change it. The error names the templates that ask for another value, and how to make templates
// ask for the present one.
func CannotKeep(key string, c Change) error {
	if len(c.Templates) == 0 {
		return fleet.Invalidf("keep", "nothing at %q is to return to what it was", key)
	}
	err := fleet.Invalidf("keep", "what is at %q cannot be kept against %s", key, thatAsk(c.Templates))
	err.Hint = fmt.Sprintf(
		"To keep it on this device alone, save a template of a higher priority with the key %s, the op "+
			"set and the value that is there, and a tag that only this device carries (`muster template put FILE`). To keep it "+
			"on every device, write the value into the template: `muster template edit %d`.",
		c.Key,
		c.Templates[len(c.Templates)-1],
	)
	return err
}

// thatAsk names templates that ask for something.
func thatAsk(templates []int64) string {
	if len(templates) == 1 {
		return fmt.Sprintf("template %d, which asks for another value", templates[0])
	}
	return "templates " + listed(templates) + ", which ask for another value"
}
