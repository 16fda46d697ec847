package stconfig

import (
	"fmt"

	"muster/internal/fleet"
)

// MaxName bounds the bytes of a member's ID and of a free map's entry name, because they become parts of keys.
const MaxName = fleet.MaxKeyBytes

// Budget bounds what values add to a document. A small value may go to many places, and each place counts. Each Apply
// spends from the budget before it makes anything, and fails when the budget is used up.
type Budget struct {
	Values int // new values
	Text   int // bytes of text in the new values
	Skips  int // skipped places

	// SecretText returns the length of the secret that a handle names. Nil: the length of the name counts.
	SecretText func(handle string) int

	// Take is called before memory is used, for a few kilobytes at a time. Its error ends the Apply. Nil: no bound.
	Take  func(bytes int64) error
	asked int64
}

const (
	valueBytes = 48      // memory of a value with its name and its slot in the parent
	takeAtOnce = 8 << 10 // bytes for one call of Take
)

// take asks for the memory of new values.
func (b *Budget) take(values, text int) error {
	if b.asked += int64(values*valueBytes + text); b.Take == nil || b.asked < takeAtOnce {
		return nil
	}
	asked := b.asked
	b.asked = 0
	return b.Take(asked)
}

// spend takes values and bytes of text from the budget.
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

// spendAll spends for a value and everything in it.
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

// spendBase spends for what a new member starts from. Its objects and lists are shared in memory, but its texts are
// sent with each member.
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

// checkName refuses names that would make keys too long to read.
func (a *applier) checkName(name string) error {
	if len(name) > MaxName {
		return a.fail("an ID or name in %s has at most %d bytes, this one has %d", a.here(), MaxName, len(name))
	}
	return nil
}

// checkSkips ends an Apply that skips more places than a person would read.
func (a *applier) checkSkips() error {
	if a.budget == nil || len(a.skips) <= a.budget.Skips {
		return nil
	}
	return a.fail("it names more than %d places that the device does not have", a.budget.Skips)
}
