package form_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"muster/internal/core/form"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
)

func fill(t *testing.T, kind string, values form.Values) form.Filled {
	t.Helper()
	filled, err := form.Fill(kind, values)
	if err == nil {
		err = filled.Validate()
	}
	if err != nil {
		t.Fatalf("%s, %v: %v", kind, values, err)
	}
	return filled
}

func evaluated(t *testing.T, text string, device template.Facts) stconfig.Value {
	t.Helper()
	program, err := template.Compile(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	result, err := program.Evaluate(template.Input{Device: device, Fleet: template.NewFleet([]template.Facts{device}),
		Config: stconfig.Sample()}, template.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return result.Value
}

// randomFilled fills in a form by its description alone.
func randomFilled(t *testing.T, kind *form.Kind, r *rand.Rand) form.Filled {
	t.Helper()
	for range 1000 {
		values := form.Values{}
		for _, field := range kind.Fields {
			if applies(field, values) && (field.Required || r.IntN(2) == 0) {
				values[field.Name] = randomValue(field, values, r)
			}
		}
		filled, err := form.Fill(kind.Name, values)
		if err != nil {
			t.Fatal(err)
		}
		if filled.Validate() == nil { // No limit, or no switch, may have been chosen.
			return filled
		}
	}
	t.Fatalf("%s: no values fit", kind.Name)
	return form.Filled{}
}

func applies(field form.Field, values form.Values) bool {
	return field.OnlyIf == nil || slices.ContainsFunc(values[field.OnlyIf.Field], func(value string) bool {
		return slices.Contains(field.OnlyIf.Is, value)
	})
}

func randomValue(field form.Field, values form.Values, r *rand.Rand) []string {
	switch field.Type {
	case form.ChoiceField:
		return []string{one(r, field.Choices).Value}
	case form.NumberField:
		return []string{strconv.FormatInt(field.Least+r.Int64N(field.Most-field.Least+1), 10)}
	case form.RateField:
		return []string{one(r, []string{"no limit", "2 MB/s", "16 Mbit/s", "0.5 GiB/s", "300KiB/s", "1000 B/s"})}
	case form.TagsField:
		chosen := []string{string(one(r, tags))}
		for _, tag := range some(r, tags) {
			chosen = append(chosen, string(tag))
		}
		return chosen
	case form.LinesField:
		return []string{one(r, texts), one(r, texts), " " + one(r, texts) + " "}
	case form.SecretField:
		return []string{one(r, []string{"gui", "gui password", `a "b"`})}
	case form.KeyField:
		return []string{one(r, stconfig.Settings()).Key}
	case form.ValueField:
		return randomSettingValue(values["key"][0], r)
	default:
		return []string{one(r, texts)}
	}
}

func randomSettingValue(key string, r *rand.Rand) []string {
	s, _, err := stconfig.SettingAt(key)
	switch {
	case err != nil:
		panic(err) // The key is one of Settings.
	case s.Type == stconfig.FlagSetting:
		return []string{one(r, []string{"true", "false"})}
	case s.Type == stconfig.NumberSetting:
		return []string{strconv.Itoa(r.IntN(1000))}
	case s.Type == stconfig.TextsSetting:
		return []string{one(r, texts), one(r, texts)}
	case len(s.Choices) > 0:
		return []string{s.Choices[len(s.Choices)-1]}
	}
	return []string{one(r, texts)}
}
