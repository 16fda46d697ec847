package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"muster/internal/fleet"
)

// param is a parameter of the query or the header, declared once: what the OpenAPI document says of it, and how the
// text of a request becomes a value.
type param[T any] struct {
	in, name    string
	description string
	schema      *huma.Schema
	required    bool
	parse       func(text string) (T, error)
}

// parameter is a param whose type of value does not matter.
type parameter interface{ document() *huma.Param }

func (p param[T]) document() *huma.Param {
	return &huma.Param{Name: p.name, In: p.in, Description: p.description, Required: p.required, Schema: p.schema}
}

// of reads the value of a request. Without the parameter it is the zero value; a required one is parsed as "" then.
func (p param[T]) of(r *request) (value T, err error) {
	texts, err := p.texts(r)
	if err != nil || len(texts) == 0 && !p.required {
		return value, err
	}
	value, err = p.parse(append(texts, "")[0])
	return value, at(p.in+"."+p.name, err)
}

// read stores the value of a request in value.
func (p param[T]) read(r *request, value *T) (err error) {
	*value, err = p.of(r)
	return err
}

func (p param[T]) texts(r *request) ([]string, error) {
	if p.in == inHeader {
		return r.Header.Values(p.name), nil
	}
	values, err := r.queryValues()
	return values[p.name], err
}

// several is a param that may be given several times.
type several[T any] struct{ param[T] }

func (p several[T]) document() *huma.Param {
	all := p.param.document()
	all.Schema = &huma.Schema{Type: huma.TypeArray, Items: p.schema}
	return all
}

// of reads the values of a request; nil without any.
func (p several[T]) of(r *request) ([]T, error) {
	texts, err := p.texts(r)
	if err != nil {
		return nil, err
	}
	return each(texts, p.in+"."+p.name, p.parse)
}

// read stores the values of a request in values.
func (p several[T]) read(r *request, values *[]T) (err error) {
	*values, err = p.of(r)
	return err
}

// each reads the texts of a parameter.
func each[T any](texts []string, place string, parse func(string) (T, error)) ([]T, error) {
	var all []T
	for _, text := range texts {
		one, err := parse(text)
		if err != nil {
			return nil, at(place, err)
		}
		all = append(all, one)
	}
	return all, nil
}

const (
	inQuery  = "query"
	inHeader = "header"
)

// queryValues are those of the request's query, taken apart once.
func (r *request) queryValues() (url.Values, error) {
	if r.values == nil && r.URL.RawQuery != "" {
		values, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return nil, requestf("query", "the query is not percent-encoded properly: %s", err)
		}
		r.values = values
	}
	return r.values, nil
}

func queryParam[T any](name, description string, schema *huma.Schema, parse func(string) (T, error)) param[T] {
	return param[T]{in: inQuery, name: name, description: description, schema: schema, parse: parse}
}

func textParam(name, description string) param[string] {
	return queryParam(name, description, textSchema(), func(text string) (string, error) {
		if !utf8.ValidString(text) {
			return "", fleet.Invalidf(name, "%s is UTF-8 text", name)
		}
		return text, nil
	})
}

func deviceParam(description string) param[fleet.DeviceID] {
	return queryParam("device", description, textSchema(), fleet.ParseDeviceID)
}

func tagNamed(description string) param[fleet.Tag] {
	return queryParam("tag", description, textSchema(), fleet.ParseTag)
}

// numberParam is a whole number of at least least, and of at most most unless that is 0.
func numberParam(name, description string, least, most int) param[int] {
	schema := &huma.Schema{Type: huma.TypeInteger, Minimum: new(float64(least))}
	bounds := fmt.Sprintf("%d or larger", least)
	if most > 0 {
		schema.Maximum, bounds = new(float64(most)), fmt.Sprintf("from %d to %d", least, most)
	}
	return queryParam(name, description, schema, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || most > 0 && n > most {
			if most > 0 {
				return 0, fleet.Invalidf(name, "%s is a whole number %s", name, bounds)
			}
			return 0, fleet.Invalidf(name, "%s is a whole number, %s", name, bounds)
		}
		return n, nil
	})
}

func boolParam(name, description string) param[bool] {
	return queryParam(name, description, &huma.Schema{Type: huma.TypeBoolean}, func(text string) (bool, error) {
		yes, err := strconv.ParseBool(text)
		if err != nil && text != "" {
			return false, fleet.Invalidf(name, "%s is true or false", name)
		}
		return yes, nil
	})
}

func timeParam(name, description string) param[time.Time] {
	schema := &huma.Schema{Type: huma.TypeString, Format: "date-time"}
	return queryParam(name, description, schema, func(text string) (time.Time, error) {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return t, fleet.Invalidf(name, "%s is a time such as 2026-01-31T08:00:00Z", name)
		}
		return t, nil
	})
}

// durationParam is a time of hours and minutes, or of whole days: 36h, 7d.
func durationParam(name, description string) param[time.Duration] {
	return queryParam(name, description, textSchema(), func(text string) (time.Duration, error) {
		duration, err := fleet.ParseDays(text)
		if err != nil || duration <= 0 {
			return 0, fleet.Invalidf(name, "%s is a time such as 36h or 7d", name)
		}
		return duration, nil
	})
}

// choiceParam is one of some values, or "".
func choiceParam[K ~string](name, description string, known ...K) param[K] {
	return queryParam(name, description, enumSchema(known), func(text string) (K, error) {
		if text != "" && !slices.Contains(known, K(text)) {
			return "", fleet.Invalidf(name, "%s is %s", name, orList(known))
		}
		return K(text), nil
	})
}

// statesParam picks by states: each of the values will do.
func statesParam[K ~string](name, description string, known []K) several[K] {
	return several[K]{queryParam(name, description, enumSchema(known), func(text string) (K, error) {
		if !slices.Contains(known, K(text)) {
			return "", fleet.InvalidWord(name, text, name+" is one of "+orList(known), textsOf(known))
		}
		return K(text), nil
	})}
}

func textSchema() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

func enumSchema[K ~string](known []K) *huma.Schema {
	schema := textSchema()
	for _, value := range known {
		schema.Enum = append(schema.Enum, string(value))
	}
	return schema
}

// orList is "a, b or c".
func orList[K ~string](all []K) string {
	var text strings.Builder
	for i, one := range all {
		switch {
		case i > 0 && i == len(all)-1:
			text.WriteString(" or ")
		case i > 0:
			text.WriteString(", ")
		}
		text.WriteString(string(one))
	}
	return text.String()
}
