package httpapi

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

// bodyTime is how long a client may take to send a body.
const bodyTime = time.Minute

// limitBody refuses a body whose header says that it is too large or not JSON, before it reads any of it. It stops
// reading a body that turns out to be too large. net/http then closes the connection only after the answer, so that
// the client can read it.
func limitBody(w http.ResponseWriter, r *http.Request, most int64) error {
	if r.ContentLength > most {
		return tooLarge(most)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return unsupportedMedia("a body in Content-Encoding "+encoding, "Send the JSON as it is.")
	}
	if sent := r.Header.Get("Content-Type"); sent != "" {
		media, _, err := mime.ParseMediaType(sent)
		if err != nil || media != "application/json" {
			return unsupportedMedia("a body of type "+sent,
				"Send JSON and say so; with curl: -H 'Content-Type: application/json'.")
		}
	}
	// An error means that this ResponseWriter has no deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	r.Body = http.MaxBytesReader(innermost(w), r.Body, most)
	return nil
}

// innermost returns net/http's own ResponseWriter. Only with that one does a MaxBytesReader make the server wait,
// after the answer, until the client had time to read it.
func innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = wrapper.Unwrap()
	}
}

func tooLarge(most int64) error {
	return &fleet.Error{Code: fleet.CodeTooLarge, Message: "what was sent is larger than " +
		strconv.FormatInt(most>>20, 10) + " MiB"}
}

func unsupportedMedia(what, hint string) error {
	return &statusError{status: http.StatusUnsupportedMediaType,
		says: fleet.Error{Message: what + " is not understood here", Hint: hint, See: notOfAPI}}
}

// decode parses a JSON body strictly. An unknown field is CodeInvalid. A wrong type, a repeated name, invalid UTF-8
// and text after the document are CodeMalformed. A null counts as an absent field. Where one of the required fields is
// absent the error names each of them.
func decode[T any](r *request, required ...string) (T, error) {
	data, err := readBody(r)
	if err != nil {
		var none T
		return none, err
	}
	return decodeData[T](data, required...)
}

// decodeOptional is decode for a body that may be missing. An empty one is the same, also where no Content-Length says
// so.
func decodeOptional[T any](r *request) (T, error) {
	var none T
	data, err := readBody(r)
	if err != nil || len(data) == 0 {
		return none, err
	}
	return decodeData[T](data)
}

func readBody(r *request) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, tooLarge(over.Limit)
	}
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeMalformed, Message: "what was sent broke off before its end",
			Hint: "Send the request again.", Err: err}
	}
	return data, nil
}

func decodeData[T any](data []byte, required ...string) (T, error) {
	var into T
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' &&
		json.Unmarshal(data, new(jsontext.Value)) == nil {
		message := "the body is no JSON object"
		if len(trimmed) == 0 {
			message = "the body is empty"
		}
		return into, malformedBody(fleet.Detail{Message: message},
			"Send one JSON object with the fields "+strings.Join(fieldNames(reflect.TypeFor[T]()), ", ")+".", nil)
	}
	if err := json.Unmarshal(data, &into, json.RejectUnknownMembers(true)); err != nil {
		return into, bodyError(data, reflect.TypeFor[T](), err)
	}
	return into, missing(absentOf(reflect.ValueOf(into), required))
}

// absentOf tells of each of some fields, by their names in JSON, whether it is nil.
func absentOf(body reflect.Value, names []string) map[string]bool {
	absent := map[string]bool{}
	for _, name := range names {
		absent[name] = true // A name that is no field would always lack.
	}
	for _, field := range reflect.VisibleFields(body.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if slices.Contains(names, name) {
			absent[name] = body.FieldByIndex(field.Index).IsNil()
		}
	}
	return absent
}

// bodyError describes what is wrong with a body, in words for the person who wrote it.
func bodyError(data []byte, into reflect.Type, err error) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return syntaxError(data, err)
	}
	field := strings.ReplaceAll(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/", ".")
	line, column := position(data, semantic.ByteOffset)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return unknownField(semantic.JSONPointer.LastToken(), parentOf(semantic.JSONPointer, into),
			fleet.Detail{Field: field, Line: line, Column: column})
	case errors.Is(err, strconv.ErrRange):
		detail := fleet.Detail{Field: field, Line: line, Column: column, Message: field +
			" is a whole number from -9223372036854775808 to 9223372036854775807"}
		return &fleet.Error{Code: fleet.CodeInvalid, Message: detail.Message, Details: []fleet.Detail{detail}}
	}
	detail := fleet.Detail{
		Field: field, Line: line, Column: column,
		Message: strings.TrimSpace(field + " is " + wanted(semantic.GoType) + ", not " + sent(semantic.JSONKind)),
	}
	return malformedBody(detail, "", err)
}

// parentOf returns the type that contains the value at a JSON pointer.
func parentOf(pointer jsontext.Pointer, into reflect.Type) reflect.Type {
	for name := range pointer.Parent().Tokens() {
		switch into = pointee(into); into.Kind() {
		case reflect.Slice:
			into = into.Elem()
		case reflect.Struct:
			for field := range into.Fields() {
				if named, _, _ := strings.Cut(field.Tag.Get("json"), ","); named == name {
					into = field.Type
					break
				}
			}
		}
	}
	return pointee(into)
}

func pointee(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func unknownField(name string, in reflect.Type, detail fleet.Detail) error {
	names := fieldNames(in)
	detail.Message = strconv.Quote(name) + " is no field of this object"
	hint := "The fields are: " + strings.Join(names, ", ") + "."
	if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
		hint = "It is written " + names[i] + "."
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: detail.Message, Hint: hint, Details: []fleet.Detail{detail},
		See: notOfAPI}
}

func syntaxError(data []byte, err error) error {
	detail := fleet.Detail{Message: "the body is no valid JSON"}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		detail.Line, detail.Column = position(data, syntactic.ByteOffset)
		detail.Message += ": " + syntactic.Err.Error()
		if errors.Is(err, jsontext.ErrDuplicateName) {
			detail.Field = strings.TrimPrefix(string(syntactic.JSONPointer), "/")
			detail.Message = "the body names " + detail.Field + " twice"
		}
		detail.Message += " (line " + strconv.Itoa(detail.Line) + ", column " + strconv.Itoa(detail.Column) + ")"
	}
	return malformedBody(detail, "", err)
}

func malformedBody(detail fleet.Detail, hint string, cause error) error {
	return &fleet.Error{Code: fleet.CodeMalformed, Message: detail.Message, Hint: hint, Details: []fleet.Detail{detail},
		Err: cause, See: notOfAPI}
}

// position returns the line and column of a byte, both counted from 1. Columns count characters.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset, 0), int64(len(data)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(before[start:])
}

// wanted names the JSON type of a field.
func wanted(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	switch pointee(t).Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int64, reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

func sent(kind jsontext.Kind) string {
	switch kind {
	case '"':
		return "a string"
	case '0':
		return "this number"
	case 't', 'f':
		return "true or false"
	case '[':
		return "a list"
	case '{':
		return "an object"
	default:
		return "this"
	}
}

// fieldNames returns the JSON names of a struct's fields, without those that only answers contain.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && field.Tag.Get("readOnly") == "" {
			names = append(names, name)
		}
	}
	return names
}

// missing returns an error that names every required field that is absent.
func missing(absent map[string]bool) error {
	var details []fleet.Detail
	for _, name := range slices.Sorted(maps.Keys(absent)) {
		if absent[name] {
			details = append(details, fleet.Detail{Field: name, Message: name + " is needed"})
		}
	}
	if len(details) == 0 {
		return nil
	}
	names := make([]string, len(details))
	for i, d := range details {
		names[i] = d.Field
	}
	return &fleet.Error{
		Code: fleet.CodeInvalid, Message: "this is missing: " + strings.Join(names, ", "),
		Hint: "Add what is missing; it may be blank only where that means something.", Details: details,
	}
}
