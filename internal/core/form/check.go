package form

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const maxSecret = 128 // bytes of a secret's name

// Validate reports the first field that was filled in wrong.
func (f Filled) Validate() error {
	for _, field := range f.Kind.Fields {
		if err := f.check(field); err != nil {
			return err
		}
	}
	_, err := f.Kind.write(f.Values)
	return err
}

func (f Filled) check(field Field) error {
	all := f.Values[field.Name]
	switch applies := field.OnlyIf.holds(f.Values); {
	case !applies && len(all) > 0:
		return fleet.Invalidf(field.Name, "%s is for %s %s only", field.Label, field.OnlyIf.Field,
			strings.Join(field.OnlyIf.Is, " or "))
	case applies && field.Required && len(all) == 0:
		return fleet.Invalidf(field.Name, "%s: fill it in%s", field.Label, example(field))
	case len(all) > 1 && !field.Type.hasSeveral():
		return fleet.Invalidf(field.Name, "%s takes one value, not %d", field.Label, len(all))
	case field.Type == TagsField && len(all) > maxTags:
		return fleet.Invalidf(field.Name, "a form takes at most %d tags", maxTags)
	case len(all) > maxIgnores:
		return fleet.Invalidf(field.Name, "%s takes at most %d lines", field.Label, maxIgnores)
	}
	for _, value := range all {
		if err := field.check(value); err != nil {
			return err
		}
	}
	return nil
}

func example(field Field) string {
	if field.Example == "" {
		return ""
	}
	return ", for example " + field.Example
}

// check judges one value by the type of its field.
func (f Field) check(value string) error {
	if err := text(f.Name, value); err != nil {
		return err
	}
	// A template would put a secret there, or refuse a placeholder that nothing fills in.
	for _, mark := range []string{"${secret:", "{{", "{%"} {
		if strings.Contains(value, mark) {
			return fleet.Invalidf(f.Name, "%s means something else in a template: write the template as text", mark)
		}
	}
	switch f.Type {
	case ChoiceField:
		return f.checkChoice(value)
	case NumberField:
		if n, err := strconv.ParseInt(value, 10, 64); err != nil || strconv.FormatInt(n, 10) != value || n < f.Least ||
			n > f.Most {
			return fleet.Invalidf(f.Name, "%s is a whole number between %d and %d, not %q", f.Label, f.Least, f.Most, value)
		}
	case RateField:
		_, err := kibPerSecond(f.Name, value)
		return err
	case TagsField:
		if _, err := fleet.ParseTag(value); err != nil {
			return fleet.Invalidf(f.Name, "%s", err)
		}
	case SecretField:
		if strings.ContainsAny(value, "{}") || len(value) > maxSecret {
			return fleet.Invalidf(f.Name, "the name of a secret has no braces, and at most %d bytes: %q", maxSecret, value)
		}
	case KeyField:
		_, _, err := stconfig.SettingAt(value)
		return at(f.Name, err)
	}
	return nil
}

func (f Field) checkChoice(value string) error {
	values := make([]string, len(f.Choices))
	for i, choice := range f.Choices {
		values[i] = choice.Value
	}
	if !slices.Contains(values, value) {
		return fleet.Invalidf(f.Name, "%s is one of %s, not %q", f.Label, strings.Join(values, ", "), value)
	}
	return nil
}

// at returns an error as one of this field.
func at(field string, err error) error {
	if err == nil {
		return nil
	}
	return fleet.Invalidf(field, "%s", err)
}

// Warnings name tags that no device has.
func (f Filled) Warnings(r *fleet.Registry, _ int64) (warnings []string) {
	for _, field := range f.Kind.Fields {
		tags := f.Values.tags(field.Name)
		switch {
		case field.Type != TagsField || len(tags) == 0:
		case field.Name == tagsField.Name && len(having(r, tags)) == 0:
			warnings = append(warnings, "no device has "+quotedTags(tags)+": the template applies to no device")
		default:
			warnings = append(warnings, unknownTags(r, tags)...)
		}
	}
	return warnings
}

func unknownTags(r *fleet.Registry, tags []fleet.Tag) (warnings []string) {
	for _, tag := range tags {
		if len(having(r, []fleet.Tag{tag})) == 0 {
			warnings = append(warnings, fmt.Sprintf("no device has the tag %q", tag))
		}
	}
	return warnings
}
