package fleet

import (
	"slices"
	"strings"
	"time"
)

const (
	MaxTemplateBytes = 1 << 20 // of a template's text
	MaxKeyBytes      = 1 << 10
)

// Op is what a template does at its key.
type Op string

const (
	OpSet    Op = "set"    // the value at the key becomes this
	OpMerge  Op = "merge"  // objects deeply, identified lists by identity, other lists replaced
	OpAppend Op = "append" // adds list members
	OpRemove Op = "remove" // removes list members and entries of free maps
)

// ParseOp takes an op in any case.
func ParseOp(s string) (Op, error) {
	switch op := Op(strings.ToLower(s)); op {
	case OpSet, OpMerge, OpAppend, OpRemove:
		return op, nil
	}
	return "", Invalidf("op", "op %q is not known: use set, merge, append or remove", s)
}

// Template is a fragment of configuration: it applies to a device when they share a tag.
type Template struct {
	ID       int64
	Label    string
	Priority int64 // ascending, then by ID: the larger number has the last word
	Op       Op
	Key      string // dotted key, "" for the whole object
	Text     string // HJSON or Starlark
	Reads    Inputs // of Text; not part of the contract
	// SavedBy is the name of the token that last saved op, key or text; "" when that is not known. It is not part of the
	// contract.
	SavedBy   string
	SavedRole Role // of that token; "" when that is not known; not part of the contract
	CreatedAt time.Time
	UpdatedAt time.Time
}

// SavedByAdmin tells whether an admin stands for what the template says. A template whose saver is not known
// counts as an author's.
func (t Template) SavedByAdmin() bool { return t.SavedRole == RoleAdmin }

// SaysTheSame tells whether two templates have the same op, key and text: who saved one then stands for the other.
func (t Template) SaysTheSame(other Template) bool {
	return t.Op == other.Op && t.Key == other.Key && t.Text == other.Text
}

// SavedOver is the template as it is kept when it replaces another: who saved what it says stays where that is the
// same.
func (t Template) SavedOver(before Template) Template {
	if t.SaysTheSame(before) {
		t.SavedBy, t.SavedRole = before.SavedBy, before.SavedRole
	}
	return t
}

// Validate checks lengths and op. The grammar of key and text is the business of stconfig and template.
func (t Template) Validate() error {
	if err := ValidateLabel(t.Label); err != nil {
		return err
	}
	if _, err := ParseOp(string(t.Op)); err != nil {
		return err
	}
	if len(t.Key) > MaxKeyBytes {
		return Invalidf("key", "a key has at most %d bytes, this one has %d", MaxKeyBytes, len(t.Key))
	}
	if len(t.Text) > MaxTemplateBytes {
		return &Error{Code: CodeTooLarge, Message: "a template has at most 1 MiB of text",
			Details: []Detail{{Field: "template", Message: "too long"}}}
	}
	if !plainText(t.Key) {
		return Invalidf("key", "a key is UTF-8 text without NUL characters")
	}
	if !plainText(t.Text) {
		return Invalidf("template", "a template is UTF-8 text without NUL characters")
	}
	return nil
}

// Placed gives the templates of a device with one of them as it is now, in the order of the fold, and how many are
// folded before that one. A new one, without an ID, comes after those of its priority.
func Placed(all []Template, t Template) (placed []Template, before int) {
	placed = slices.DeleteFunc(slices.Clone(all), func(u Template) bool { return u.ID == t.ID })
	before = slices.IndexFunc(placed, func(u Template) bool {
		if t.ID == 0 {
			return t.Priority < u.Priority
		}
		return CompareTemplates(t, u) < 0
	})
	if before < 0 {
		before = len(placed)
	}
	return slices.Insert(placed, before, t), before
}
