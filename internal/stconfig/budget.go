package stconfig

import (
	"fmt"

	"muster/internal/fleet"
)

// MaxName is how many bytes the ID of a member and the name of an entry may have: they are parts of keys.
const MaxName = fleet.MaxKeyBytes

// Budget bounds what values bring to a document, every place counted: a small value may go to many places. Each Apply
// spends of it before it makes anything, and fails when it is used up.
type Budget struct {
	Values int // values that are new
	Text   int // bytes of their texts
	Skips  int // places that are left out

	// SecretText is how many bytes a handle stands for; nil: as many as its name has.
	SecretText func(handle string) int

	// Take is asked before memory is used, a few kilobytes at a time; nil: unbounded. The Apply ends with its error.
	Take  func(bytes int64) error
	asked int64
}

const (
	valueBytes = 48      // of memory for a value, with its name and what holds it
	takeAtOnce = 8 << 10 // bytes
)

// take asks for the memory of values.
func (b *Budget) take(values, text int) error {
	if b.asked += int64(values*valueBytes + text); b.Take == nil || b.asked < takeAtOnce {
		return nil
	}
	asked := b.asked
	b.asked = 0
	return b.Take(asked)
}

// spend takes values and the bytes of their texts from the budget.
func (a *applier) spend(values, text int) error {
	if a.budget == nil {
		return nil
	}
	if a.budget.Values -= values; a.budget.Values < 0 {
		return a.tooMuch("values")
	}
	if a.budget.Text -= text; a.budget.Text < 0 {
		return a.tooMuch("text")
	}
	return a.budget.take(values, text)
}

// spendAll takes a value with all that is in it.
func (a *applier) spendAll(v Value) error {
	if a.budget == nil {
		return nil
	}
	for i, member := range v.childValues() {
		if v.kind == Object {
			if err := a.spend(0, len(v.kids.names[i])); err != nil {
				return err
			}
		}
		if err := a.spendAll(member); err != nil {
			return err
		}
	}
	return a.spend(1, a.textOf(v))
}

// spendBase takes what a new member starts from. Its objects and lists are shared, its texts are sent with each.
func (a *applier) spendBase(v Value) error {
	if a.budget == nil {
		return nil
	}
	return a.spend(v.Len(), textIn(v))
}

func textIn(v Value) int {
	n := len(v.text)
	for _, member := range v.childValues() {
		n += textIn(member)
	}
	return n
}

func (a *applier) textOf(v Value) int {
	if v.kind == Handle && a.budget.SecretText != nil {
		return a.budget.SecretText(v.text)
	}
	return len(v.text)
}

func (a *applier) tooMuch(what string) error {
	a.budget.Values, a.budget.Text = 0, 0
	message := fmt.Sprintf("it would bring too many %s to the device: every place that its key names, and every "+
		"template counts", what)
	if what == "text" {
		message = "it would bring too much text to the device: every place that its key names, and every template counts"
	}
	return &fleet.Error{Code: fleet.CodeInvalid, During: DuringApply, Message: message,
		Hint:    "Make the value smaller, or its key name fewer places.",
		Details: []fleet.Detail{{Field: "template", Message: message}}}
}

// checkName refuses what would make keys too long to read.
func (a *applier) checkName(name string) error {
	if len(name) > MaxName {
		return a.fail("an ID or name in %s has at most %d bytes, this one has %d", a.here(), MaxName, len(name))
	}
	return nil
}

// checkSkips ends an Apply that leaves out more than a person reads.
func (a *applier) checkSkips() error {
	if a.budget == nil || len(a.skips) <= a.budget.Skips {
		return nil
	}
	return a.fail("it names more than %d places that the device does not have", a.budget.Skips)
}
