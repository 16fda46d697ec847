package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// processorTime is how many seconds of processor time a worker may use in its life, by the kernel's limit.
const processorTime = 600

// memoryVariable is the environment variable that tells a worker the bytes of memory that it may use beyond what it
// uses when it is ready. It limits itself before it reads its first request, as it cannot afterwards.
const memoryVariable = "WORKER_MEMORY"

// hello is the first message to a worker.
type hello struct {
	Memory      int64 // bytes for programs, before the kernel ends it
	WallMs      int64 // time limit of an evaluation
	Steps       uint64
	OutputBytes int
	ValueBytes  int
	Values      int
}

// greeting is the answer to hello.
type greeting struct {
	Confinement Confinement
	Ready       usage
}

// usage is bytes of memory of a process.
type usage struct {
	AddressSpace int64 // everything that is mapped
	Data         int64 // the private and writable part, which RLIMIT_DATA limits
	Resident     int64
}

// program describes what kind of program a text is.
type program struct {
	Language template.Language `json:"language"`
	Reads    fleet.Inputs      `json:"reads"`
	Refusal  json.RawMessage   `json:"refusal,omitempty"` // wireError: why the text may not be saved; none: it may
}

// wireError is a *fleet.Error without its cause, which stays where it arose.
type wireError struct {
	Code      fleet.Code     `json:"code"`
	Message   string         `json:"message"`
	Hint      string         `json:"hint"`
	Details   []fleet.Detail `json:"details"`
	Traceback string         `json:"traceback"`
	Late      bool           `json:"late"` // The program was stopped by the clock: at another time it may end in time.
}

func encodeError(err error, late bool) []byte {
	w := wireError{Code: fleet.CodeInternal, Message: err.Error(), Late: late}
	var e *fleet.Error
	if errors.As(err, &e) {
		w = wireError{e.Code, e.Message, e.Hint, e.Details, e.Traceback, late}
	}
	body, err := json.Marshal(w)
	if err != nil {
		return []byte(`{"code":"internal","message":"an error that cannot be told"}`)
	}
	return body
}

func decodeError(body string) (*fleet.Error, bool, error) {
	var w wireError
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		return nil, false, err
	}
	return &fleet.Error{Code: w.Code, Message: w.Message, Hint: w.Hint, Details: w.Details, Traceback: w.Traceback},
		w.Late, nil
}

// encodeSubject encodes what a program reads of its device. config is the part of it that is the configuration,
// without its secrets.
func encodeSubject(reads fleet.Inputs, device template.Facts, observed stconfig.Value) (subject, config []byte) {
	if reads.Config {
		config = appendValue(nil, template.Conceal(observed))
	}
	if reads.Device.Any() {
		if !reads.ReadsVars() {
			device.Vars = ""
		}
		facts, err := json.Marshal(device)
		if err != nil {
			panic(err) // texts and a number
		}
		subject = appendText(subject, string(facts))
	}
	return append(subject, config...), config
}

// subject reads what encodeSubject wrote.
func (r *reader) subject(reads fleet.Inputs) (in template.Input, err error) {
	if reads.Device.Any() {
		facts, err := r.text()
		if err != nil {
			return in, err
		}
		if err := json.Unmarshal([]byte(facts), &in.Device); err != nil {
			return in, err
		}
	}
	if reads.Config {
		in.Config, err = r.value(0)
	}
	if err == nil && r.left != "" {
		err = errCodec
	}
	return in, err
}

func appendResult(b []byte, result template.Result) []byte {
	b = binary.AppendUvarint(b, result.Steps)
	b = binary.AppendUvarint(b, uint64(countValues(result.Value)))
	b = binary.AppendUvarint(b, uint64(len(result.Output)))
	for _, line := range result.Output {
		b = appendText(b, line)
	}
	return appendValue(b, result.Value)
}

// countValues counts the values in a value, itself included.
func countValues(v stconfig.Value) int {
	n := 1
	for i := range v.Len() {
		n += countValues(v.At(i))
	}
	return n
}

// decodeResult makes a result whose texts are parts of the body. take is asked for the memory that its values need.
func decodeResult(body string, made program, limits template.Limits, take func(bytes int64) error) (template.Result,
	error) {
	r := &reader{left: body, values: limits.Values + limits.OutputBytes}
	result := template.Result{Language: made.Language, ReadsConfig: made.Reads.Config}
	var err error
	if result.Steps, err = r.uvarint(); err != nil {
		return result, err
	}
	values, err := r.uvarint()
	if err != nil {
		return result, err
	}
	values = min(values, uint64(limits.Values))
	if err := take(int64(values) * perValue); err != nil {
		return result, &refusal{err}
	}
	lines, err := r.count()
	if err != nil {
		return result, err
	}
	for range lines {
		line, err := r.text()
		if err != nil {
			return result, err
		}
		result.Output = append(result.Output, line)
	}
	r.values = int(values) // no more than it said
	if result.Value, err = r.value(0); err == nil && r.left != "" {
		err = errCodec
	}
	return result, err
}

// perValue is the memory of a value and its name.
const perValue = 48

// footprint is about how many bytes of memory a value takes.
func footprint(v stconfig.Value) int64 {
	const perContainer = 64 // what holds the members together
	n := int64(perValue + len(v.Str()))
	if v.Kind() == stconfig.Array || v.Kind() == stconfig.Object {
		n += perContainer
	}
	for i := range v.Len() {
		if v.Kind() == stconfig.Object {
			n += int64(len(v.Name(i)))
		}
		n += footprint(v.At(i))
	}
	return n
}
