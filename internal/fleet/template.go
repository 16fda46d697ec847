package fleet

import (
	"slices"
	"strings"
	"time"
)

const (
	MaxTemplateBytes = 1 << 20                                // bytes of a template's text
	TemplateTooLarge = "a template has at most 1 MiB of text" // message for a longer text
	MaxKeyBytes      = 1 << 10
)

// Op is what a template does at its key.
type Op string

const (
	OpSet    Op = "set"    // the value at the key becomes this
	OpMerge  Op = "merge"  // merges objects deeply and identified lists by identity, replaces other lists
	OpAppend Op = "append" // adds list members
	OpRemove Op = "remove" // removes list members and entries of free maps
)

// ParseOp parses an op in upper or lower case.
func ParseOp(s string) (Op, error) {
	switch op := Op(strings.ToLower(s)); op {
	case OpSet, OpMerge, OpAppend, OpRemove:
		return op, nil
	}
	return "", Invalidf("op", "op %q is not known: use set, merge, append or remove", s)
}

// Template is a part of a configuration. It applies to a device when both have a common tag.
type Template struct {
	ID       int64
	Label    string
	Priority int64 // templates are applied by ascending priority, then by ID; the last one wins
	Op       Op
	Key      string // dotted key, "" for the whole object
	Text     string // HJSON or Starlark
	Reads    Inputs // inputs of Text; not part of the contract
	// SavedBy is the token that last saved op, key or text; "" when unknown. It is not part of the contract.
	SavedBy   string
	SavedRole Role // role of that token; "" when unknown; not part of the contract
	CreatedAt time.Time
	UpdatedAt time.Time
}

// SavedByAdmin reports whether an admin saved the template. A template with an unknown author counts as saved by an
// author.
func (t Template) SavedByAdmin() bool { return t.SavedRole == RoleAdmin }

// SaysTheSame reports whether two templates have the same op, key and text.
func (t Template) SaysTheSame(other Template) bool {
	return t.Op == other.Op && t.Key == other.Key && t.Text == other.Text
}

// SavedOver returns the template as it is stored when it replaces another. If op, key and text do not change, it keeps
// the record of who saved them. Who saves a template of an unknown author again, with nothing changed, answers for its
// text from then on; who changes its label or priority does not.
func (t Template) SavedOver(before Template) Template {
	asItIs := t.Label == before.Label && t.Priority == before.Priority
	answers := before.SavedRole == "" && t.SavedRole != "" && asItIs
	if t.SaysTheSame(before) && !answers {
		t.SavedBy, t.SavedRole = before.SavedBy, before.SavedRole
	}
	return t
}

// Validate checks lengths and op. stconfig checks the key, package template the text.
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
		return &Error{Code: CodeTooLarge, Message: TemplateTooLarge,
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

// Placed returns the templates of a device with t added or replaced, in the order in which they are applied, and how
// many are applied before t. A new template, without an ID, comes after all others of its priority.
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
